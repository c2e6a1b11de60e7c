"""`ferrule plugins`, as a user sees it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from ferrule.catalog import CATALOG
from ferrule.cli import find_command, listed_commands
from ferrule.commands import plugin_packages, plugins
from ferrule.host import LocalHost
from ferrule_hookspecs.errors import ConfigError, FerruleError, PluginError
from ferrule_hookspecs.slots import ALL_GROUPS

GUARD = "@hookimpl\ndef ferrule_tool_before(call):\n    return None\n"


@pytest.fixture
def run(site, monkeypatch):
    """Run a sub-command on the test's site folder."""

    def run(*argv: str, config: dict[str, object] | None = None) -> str:
        monkeypatch.setattr(plugins, "load_index", lambda environ: site.index())
        host = SimpleNamespace(
            environ=site.environ, config=lambda request: SimpleNamespace(values=config or {})
        )
        result = CliRunner().invoke(plugins.app, argv, obj=host, catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    return run


def test_list_shows_origin_hooks_load_time_and_faults(site, run):
    site.add_hooks("guard", GUARD, requires=">=0.1")
    site.add_hooks("broken", "raise ValueError('no licence')")
    site.manager()
    (site.folder / "acme_hooks_guard.py").write_text("x = 1")
    rows = {row["name"]: row for row in json.loads(run("list", "--json"))["plugins"]}
    guard, broken = rows["guard"], rows["broken"]
    assert (guard["distribution"], guard["version"], guard["state"]) == (
        "acme-guard",
        "1.0",
        "active",
    )
    assert guard["hooks"] == ["ferrule_tool_before"]
    assert guard["importMs"] >= 0
    assert guard["requiresHookspecs"] == ">=0.1"
    assert guard["origin"]["kind"] == "installed"
    assert (
        guard["origin"]["changedSinceFirstSeen"] == "edited after installation: acme_hooks_guard.py"
    )
    assert broken["state"] == "broken"
    assert "no licence" in broken["fault"]


def test_list_in_plain_text_names_everything_once(site, run):
    site.add_hooks("guard", GUARD)
    site.manager()
    lines = run("list", config={"plugins": {"required": ["absent"]}}).splitlines()
    place = f"{site.folder}/acme_guard-1.0.dist-info"
    assert lines[0] == f"acme-guard 1.0  [installed] {place}  (not reviewed)"
    assert lines[1].startswith("  ferrule.plugins:guard  active  ")
    assert lines[1].endswith("  hooks: ferrule_tool_before")
    assert lines[2] == (
        "warning: the required plugin 'absent' is not installed; "
        "install it or change plugins.required"
    )
    assert "unconfined, with all of your rights" in lines[3]


def test_plugins_are_listed_even_where_the_configuration_cannot_be_read(site, monkeypatch):
    site.add_hooks("guard", GUARD)

    def fail(request):
        raise ConfigError("config.toml:3: not TOML")

    monkeypatch.setattr(plugins, "load_index", lambda environ: site.index())
    host = SimpleNamespace(environ=site.environ, config=fail)
    result = CliRunner().invoke(plugins.app, ["list"], obj=host)
    assert "ferrule.plugins:guard  not probed  not loaded yet" in result.output
    assert "config.toml:3: not TOML" in result.output


def test_r02_no_command_of_others_is_imported_while_nobody_knows_what_may_be(site, tmp_path):
    site.add("acme-run", {"ferrule.commands:run": "acme_run:Run"}, {"acme_run.py": ""})
    site.add("ferrule-login", {"ferrule.commands:login": "acme_login:Run"}, {"acme_login.py": ""})

    class SiteHost(LocalHost):
        admin = tmp_path / "admin"

        def read_index(self):
            return site.index()

    home = site.root / "home"
    home.mkdir()
    host = SiteHost(home, site.environ)
    assert find_command(host, "run").distribution == "acme-run"
    (home / "config.toml").write_text("[plugins]\nrequire_trust = true\n[")
    with pytest.raises(PluginError, match=r"is not used:.*config\.toml"):
        find_command(host, "run")
    assert find_command(host, "login").distribution == "ferrule-login"
    assert [entry.name for entry in listed_commands(host)] == ["login"]
    assert {entry.name: entry.probe is None for entry in site.index().all_entries()}["run"]


def test_show_says_in_words_what_a_plugin_does(site, run):
    site.add_hooks("guard", GUARD)
    site.manager()
    assert "may judge a tool call before it runs, and refuse" in run("show", "acme-guard")
    with pytest.raises(FerruleError, match="no plugin 'absent' is installed"):
        run("show", "absent")


def test_r12_order_shows_who_is_called_first(site, run):
    site.add_hooks("a", GUARD + "FERRULE_ORDER = {'after': 'b'}\n")
    site.add_hooks("b", GUARD)
    site.manager()
    assert run("order", "ferrule_tool_before") == "b  (acme-b 1.0)\na  (acme-a 1.0)  after b\n"
    with pytest.raises(FerruleError, match="'nonsense' is not a hook"):
        run("order", "nonsense")


def test_removing_a_part_of_ferrule_says_what_stops_working_and_asks(site, monkeypatch):
    points = {"ferrule.tools:update_plan": "acme_plan:Plan"}
    site.add("ferrule-plan", points, {"acme_plan.py": ""})
    monkeypatch.setattr(plugin_packages, "load_index", lambda environ: site.index())
    host = SimpleNamespace(environ=site.environ, home=site.root / "home")
    result = CliRunner().invoke(plugins.app, ["remove", "ferrule-plan"], obj=host)
    assert "without ferrule-plan there is no tool 'update_plan'" in result.output
    assert "ferrule plugins disable ferrule-plan" in result.output
    assert "say it with --yes" in str(result.exception)
    with pytest.raises(FerruleError, match="no plugin 'absent' is installed"):
        CliRunner().invoke(plugins.app, ["remove", "absent"], obj=host, catch_exceptions=False)


def test_the_catalog_of_reserved_names_equals_the_workspace():
    root = Path(__file__).parents[3]
    files = [root / "core" / "pyproject.toml"]
    for folder in ("plugins", "sandboxes", "reviewers"):
        files += sorted((root / folder).glob("*/pyproject.toml"))
    if len(files) == 1:
        pytest.skip("not in the workspace")
    found: dict[str, dict[str, str]] = {}
    for file in files:
        project = tomllib.loads(file.read_text())["project"]
        for group, points in project.get("entry-points", {}).items():
            if group in ALL_GROUPS:
                found.setdefault(group, {}).update(dict.fromkeys(points, project["name"]))
    assert found == CATALOG
