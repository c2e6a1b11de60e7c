"""`ferrule plugins doctor`, and the times of hooks that it tells of."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import anyio
import pytest
from typer.testing import CliRunner

from ferrule import health
from ferrule.commands import plugin_doctor, plugins
from ferrule.entry import Entry, Probe
from ferrule.health import health_of
from ferrule.hook_times import MEASURED, HookTimes, hook_times, read_times, times_file
from ferrule.trust import Standing

JUDGE = "@hookimpl\ndef ferrule_tool_before(call):\n    return Verdict.allow()\n"
BOX = "class Box:\n    def __init__(self, context): ...\n"

GOLDEN = """\
disabled      ferrule.plugins:blocked  (acme-blocked 1.0)
    why: blocked: listed in plugins.block
    mend: ferrule plugins remove acme-blocked
broken        ferrule.plugins:broken  (acme-broken 1.0)  import 0.0 ms
    why: ValueError: no licence (SITE/acme_hooks_broken.py:2)
    mend: update or uninstall acme-broken, or go on without it: --no-plugin broken
active        ferrule.plugins:fine  (acme-fine 1.0)  import N ms; ferrule_tool_before p95 N ms of 1
incompatible  ferrule.plugins:future  (acme-future 1.0)
    why: acme-future 1.0 needs ferrule-hookspecs>=9, installed is 1.0; \
upgrade ferrule-core and ferrule-hookspecs
    mend: update or uninstall acme-future, or go on without it: --no-plugin future
disabled      ferrule.plugins:off  (acme-off 1.0)
    why: listed in plugins.disabled
    mend: ferrule plugins enable off
untrusted     ferrule.plugins:stranger  (acme-stranger 1.0)
    why: acme-stranger is not listed in plugins.allow
    mend: ask whoever keeps plugins.allow, or list it there
active        ferrule.sandboxes:box  (acme-box 1.0)  import N ms
    clashes with: beta-box
disabled      ferrule.sandboxes:box  (beta-box 1.0)
    why: the name ferrule.sandboxes:box belongs to acme-box; to use beta-box instead, set \
plugins.overrides = {"ferrule.sandboxes:box" = "beta-box"}
    clashes with: acme-box
    mend: give it the name as said, or go without it: ferrule plugins disable beta-box
8 plugins: 3 disabled, 1 broken, 2 active, 1 incompatible, 1 untrusted
"""


@pytest.fixture
def examine(site, monkeypatch):
    """Run `ferrule plugins doctor`; returns its exit code and what it said."""
    monkeypatch.setattr(health, "IMPORT_BUDGET_MS", 1e9)  # whatever else this machine does

    def examine(*options: str, config: dict[str, object]) -> tuple[int, str]:
        monkeypatch.setattr(plugin_doctor, "load_index", lambda environ: site.index())
        host = SimpleNamespace(
            environ=site.environ,
            home=site.root / "home",
            config=lambda request: SimpleNamespace(values=config),
        )
        result = CliRunner().invoke(plugins.app, ["doctor", *options], obj=host)
        return result.exit_code, result.output

    return examine


def fill(site) -> dict[str, object]:
    """Install a plugin in every state; returns the configuration for it."""
    site.add_contract("1.0")
    for name in ("fine", "off", "blocked", "stranger"):
        site.add_hooks(name, JUDGE)
    site.add_hooks("broken", "raise ValueError('no licence')")
    site.add_hooks("future", JUDGE, requires=">=9")
    site.add("acme-box", {"ferrule.sandboxes:box": "acme_box:Box"}, {"acme_box.py": BOX})
    site.index()
    site.add("beta-box", {"ferrule.sandboxes:box": "beta_box:Box"}, {"beta_box.py": BOX})
    listed = ["acme-fine", "acme-off", "acme-blocked", "acme-broken", "acme-future"]
    rules = {"allow": [*listed, "acme-box", "beta-box"], "disabled": ["off"]}
    return {"plugins": {**rules, "block": ["acme-blocked"]}}


def test_r22_the_doctor_tells_state_why_times_clashes_and_the_mend(site, examine):
    config = fill(site)
    hooks = site.manager(config).hooks
    anyio.run(lambda: hooks.assess("ferrule_tool_before", call=None, turn=None))
    MEASURED.save(site.root / "home")

    code, told = examine(config=config)

    told = told.replace(str(site.folder), "SITE")
    told = re.sub(r"(active .*)", lambda line: re.sub(r"\d+\.\d ms", "N ms", line[0]), told)
    assert told == GOLDEN
    assert code == 1
    code, told = examine("--json", config=config)
    rows = {row["distribution"]: row for row in json.loads(told)["plugins"]}
    assert rows["beta-box"]["clashes"] == ["acme-box"]
    (time,) = rows["acme-fine"]["hooks"]
    assert (time["hook"], time["calls"], time["deadlineMs"]) == ("ferrule_tool_before", 1, 5000)


def entry(**probe) -> Entry:
    found = Probe(ok=True, hooks=("ferrule_tool_before",), **probe)
    return Entry("ferrule.plugins", "p", "p", "acme-p", "1.0", "", probe=found)


def test_r22_what_takes_long_is_slow_and_the_doctor_says_of_what(tmp_path):
    times = HookTimes()
    for seconds in (0.6, 0.7, 0.6, 0.7, 0.8):
        times.add(entry(), "ferrule_tool_before", seconds, 5.0)
    times.save(tmp_path)
    rows = read_times(tmp_path)

    (by_hook,) = health_of([Standing(entry(import_ms=3))], rows)
    (by_import,) = health_of([Standing(entry(import_ms=51.2))], {})
    (quick,) = health_of([Standing(entry(import_ms=50))], {})

    assert by_hook.state == "slow"
    assert by_hook.why == "ferrule_tool_before takes 800 ms in 95 of 100 calls, more than 500"
    assert by_import.why == "its import takes 51 ms, more than 50"
    assert by_import.mend.endswith("ferrule plugins disable acme-p")
    assert quick.state == "active"


def test_times_are_bounded_added_to_and_forgotten_with_the_version(tmp_path):
    for _ in range(3):
        times = HookTimes()
        for _ in range(50):
            times.add(entry(), "ferrule_tool_before", 0.001, 5.0)
        times.save(tmp_path)
    (found,) = hook_times(entry(), read_times(tmp_path))
    assert (len(found.times_ms), found.p95_ms, found.limit_ms) == (64, 1.0, 5000)
    assert hook_times(entry()._replace(version="1.1"), read_times(tmp_path)) == ()


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1, "rows": {"a": {}}}'])
def test_times_that_cannot_be_read_count_as_never_measured(tmp_path, text):
    times_file(tmp_path).parent.mkdir()
    times_file(tmp_path).write_text(text)
    assert read_times(tmp_path) == {}
    times = HookTimes()
    times.add(entry(), "ferrule_tool_before", 0.001, 5.0)
    times.save(tmp_path)
    assert len(read_times(tmp_path)) == 1
