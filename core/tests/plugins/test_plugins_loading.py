"""Which plugins are loaded, from where, and what happens to those that cannot be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import anyio
import pytest

from ferrule.entry import Entry
from ferrule.probe import probe_entries
from ferrule.words import in_words
from ferrule_hookspecs.errors import PluginError

HOSTILE = {
    "raises": "raise ValueError('no licence')",
    "exits": "import sys; sys.exit(3)",
    "ends_process": "import os; os._exit(0)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "prints": "print('hello from acme')",
    "interrupts": "raise KeyboardInterrupt",
}
WRITES = "from pathlib import Path\nPath({path!r}).touch()\n"


def run_child(site, code: str, *, python: str = sys.executable, **options) -> str:
    environ = {**os.environ, **site.environ, **options.pop("environ", {})}
    finished = subprocess.run(
        [python, "-c", code], env=environ, capture_output=True, text=True, check=False, **options
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_r01_reading_the_index_runs_no_plugin_code(site, tmp_path):
    site.add_hooks("any", WRITES.format(path=str(tmp_path / "ran")))
    assert [entry.ok for entry in site.index().entries("ferrule.plugins")] == [None]
    assert not (tmp_path / "ran").exists()


def test_r01_listing_plugins_imports_none_and_probes_each_once_elsewhere(site, tmp_path):
    for number in range(30):
        site.add_hooks(f"p{number}", WRITES.format(path=str(tmp_path / "ran")))
    code = f"""
import json, sys
from types import SimpleNamespace
from typer.testing import CliRunner
from ferrule.commands import plugins
from ferrule import index
environ = {site.environ!r}
plugins.load_index = lambda environ: index.build_index([{str(site.folder)!r}], environ)
host = SimpleNamespace(environ=environ, config=lambda request: SimpleNamespace(values={{}}))
result = CliRunner().invoke(plugins.app, ["list", "--json"], obj=host)
rows = json.loads(result.stdout)["plugins"]
print(len(rows), [name for name in sys.modules if name.startswith("acme_")])
"""
    assert run_child(site, code) == "30 []\n"
    (tmp_path / "ran").unlink()
    assert run_child(site, code) == "30 []\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "plugins",
    [
        {"disabled": ["bad"]},
        {"disabled": ["acme-bad"]},
        {"disabled": ["ferrule.plugins:bad"]},
        {"block": ["acme-bad"]},
        {"block": [{"name": "acme_bad", "version": "<2"}]},
        {"allow": []},
        {"allow": ["acme-bad>=2"]},
    ],
    ids=str,
)
def test_r02_a_plugin_that_is_not_allowed_is_never_imported(site, tmp_path, plugins):
    site.add_hooks("bad", WRITES.format(path=str(tmp_path / "ran")))
    manager = site.manager({"plugins": plugins})
    assert manager.names("ferrule.plugins") == []
    assert not (tmp_path / "ran").exists()


def test_r03_plugins_that_fail_at_import_do_not_stop_the_host(site, tool_source):
    for name, source in HOSTILE.items():
        site.add_hooks(name, source)
    site.add(
        "acme-good",
        {"ferrule.tools:ticket": "acme_good:Ticket"},
        {"acme_good.py": tool_source("ticket")},
    )
    manager = site.manager()
    assert [tool.name for tool in manager.tools(site.context)] == ["ticket"]
    assert manager.names("ferrule.plugins") == []
    for name in HOSTILE:
        (report,) = [text for text in site.reports if f"plugin '{name}'" in text]
        assert f"acme-{name.replace('_', '-')} 1.0" in report
        assert f"--no-plugin {name}" in report
        assert "\n" not in report
    assert any(
        "ValueError: no licence" in text and "acme_hooks_raises.py:2" in text
        for text in site.reports
    )
    assert any("SIGSEGV" in text for text in site.reports)


def test_r03_a_fault_is_known_from_then_on_without_another_probe(site):
    site.add_hooks("raises", HOSTILE["raises"])
    site.manager()
    (entry,) = site.index().all_entries()
    assert entry.ok is False
    assert "no licence" in entry.fault


def test_r03_an_import_that_hangs_is_given_up_and_the_others_are_probed(site):
    site.add_hooks("a_good", "")
    site.add_hooks("hangs", "import threading; threading.Event().wait()")
    site.add_hooks("z_good", "")
    probes = probe_entries(site.index().entries("ferrule.plugins"), limit_s=4)
    assert [probe.ok for probe in probes] == [True, False, True]
    assert probes[1].fault.startswith("its import did not end within 4 s")


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_an_import_that_hangs_does_not_outlive_a_host_that_is_killed(site, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    site.add_hooks(
        "hangs",
        f"import threading\nalive = open({str(pipe)!r}, 'w')\nprint('up', file=alive, flush=True)\n"
        "threading.Event().wait()\n",
    )
    code = f"""
from ferrule.index import build_index
from ferrule.manager import PluginManager
PluginManager(build_index([{str(site.folder)!r}], {site.environ!r}), {{}}, report=print)
"""
    host = subprocess.Popen([sys.executable, "-c", code])
    with pipe.open() as alive:
        assert alive.readline() == "up\n"
        host.kill()
        host.wait()
        assert alive.read() == ""  # reached only when nobody holds the pipe open any more


def test_r03_a_thread_left_running_by_an_import_does_not_hold_the_probe(site):
    site.add_hooks(
        "thread", "import threading; threading.Thread(target=threading.Event().wait).start()"
    )
    assert site.manager().names("ferrule.plugins") == ["thread"]


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("def ferrule_tool_before(call): ...", "lacks the @hookimpl marker"),
        ("@hookimpl\ndef ferrule_future(call): ...", "is no hook of this version"),
        ("@hookimpl\ndef ferrule_tool_before(command): ...", "command"),
        ("@hookimpl(wrapper=True)\ndef ferrule_tool_before(call):\n    yield", "is a wrapper"),
    ],
    ids=["unmarked", "unknown hook", "unknown argument", "wrapper"],
)
def test_a_hook_that_could_never_be_called_is_a_fault_not_a_silence(site, source, fault):
    site.add_hooks("guard", source)
    assert site.manager().names("ferrule.plugins") == []
    assert fault in site.reports[0]


def test_a_tool_that_calls_itself_otherwise_than_its_entry_is_refused(site, tool_source):
    site.add(
        "acme",
        {"ferrule.tools:ticket": "acme_t:Ticket"},
        {"acme_t.py": tool_source("exec_command")},
    )
    assert site.manager().tools(site.context) == []
    assert "the tool calls itself 'exec_command'" in site.reports[0]


def test_a_tool_whose_constructor_raises_is_reported_and_the_others_are_made(site, tool_source):
    source = (
        tool_source("bad") + "    def __init__(self, context):\n        raise OSError('no disk')\n"
    )
    source += tool_source("good", "Good")
    site.add(
        "acme",
        {"ferrule.tools:bad": "acme_c:Ticket", "ferrule.tools:good": "acme_c:Good"},
        {"acme_c.py": source},
    )
    manager = site.manager()
    assert [tool.name for tool in manager.tools(site.context)] == ["good"]
    assert "OSError: no disk" in site.reports[0]


def test_tools_are_switched_off_by_configuration_and_listed_in_a_fixed_order(site, tool_source):
    names = ["zeta", "alpha", "middle"]
    modules = {f"acme_{name}.py": tool_source(name) for name in names}
    site.add("acme", {f"ferrule.tools:{name}": f"acme_{name}:Ticket" for name in names}, modules)
    manager = site.manager({"tools": {"middle": {"enabled": False}}})
    assert [tool.name for tool in manager.tools(site.context)] == ["alpha", "zeta"]


def test_a_tool_that_is_not_enabled_in_its_own_opinion_is_left_out(site, tool_source):
    source = tool_source("ticket") + "    def is_enabled(self):\n"
    source += "        return self.context.settings.get('desk') == 'open'\n"
    site.add("acme", {"ferrule.tools:ticket": "acme_desk4:Ticket"}, {"acme_desk4.py": source})
    assert site.manager().tools(site.context) == []
    manager = site.manager({"tools": {"ticket": {"desk": "open"}}})
    assert [tool.name for tool in manager.tools(site.context)] == ["ticket"]


OFFERS = """
from ferrule_hookspecs import Tool
class Offered(Tool):
    name = ""
    def __init__(self, name):
        self.name = name
    async def run(self, call, context): ...
@hookimpl
def ferrule_tools(context):
    return [Offered("zulu"), Offered("ticket"), Offered("exec_command"), Offered("off"), 7]
"""


def test_hook_ferrule_tools_adds_tools_whose_names_are_free(site, tool_source):
    modules = {"acme_ticket.py": tool_source("ticket")}
    site.add("acme", {"ferrule.tools:ticket": "acme_ticket:Ticket"}, modules)
    site.add_hooks("offers", OFFERS)
    manager = site.manager({"tools": {"off": {"enabled": False}}})
    tools = anyio.run(manager.session_tools, site.context)
    assert [(tool.name, type(tool).__name__) for tool in tools] == [
        ("ticket", "Ticket"),
        ("zulu", "Offered"),
    ]
    taken, reserved, no_tool = site.reports
    assert "the tool 'ticket' is left out" in taken
    assert "the tool 'exec_command' is left out" in reserved
    assert "offered int" in no_tool


def test_r04_safe_mode_and_no_plugin_act_before_any_import(site, tmp_path):
    for group in ("plugins", "tools", "commands", "sandboxes", "reviewers", "providers", "stores"):
        module = f"acme_every_{group}"
        source = WRITES.format(path=str(tmp_path / "ran"))
        site.add(f"acme-{group}", {f"ferrule.{group}:mine": module}, {f"{module}.py": source})
    for environ in ({"FERRULE_SAFE_MODE": "1"}, {"FERRULE_NO_PLUGIN": "other,mine"}):
        manager = site.manager(**environ)
        assert all(standing.state == "disabled" for standing in manager.standings)
        assert len(manager.standings) == 7
        assert site.index(**environ).entries("ferrule.commands") == []
    assert not (tmp_path / "ran").exists()


def test_r07_only_vetted_site_directories_count(site, tmp_path):
    """Neither the working directory nor `PYTHONPATH` adds plugins, nor replaces the code of one."""
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    purelib = Path(
        run_child(
            site, "import sysconfig; print(sysconfig.get_path('purelib'))", python=python
        ).strip()
    )
    own = [sysconfig.get_path("purelib"), *(path for path in sys.path if path.endswith("/src"))]
    (purelib / "dependencies.pth").write_text("\n".join(own))
    site.add_hooks("vetted", "", folder=purelib)
    for place in ("workspace", "addition"):
        site.add_hooks(
            f"stranger_{place}", WRITES.format(path=str(tmp_path / "ran")), folder=tmp_path / place
        )
        (tmp_path / place / "acme_hooks_vetted.py").write_text(
            WRITES.format(path=str(tmp_path / "ran"))
        )
    code = """
import os
from ferrule.index import load_index
from ferrule.manager import PluginManager
index = load_index(os.environ)
print([e.name for e in index.all_entries()])
print(PluginManager(index, {}, report=print).names("ferrule.plugins"))
"""
    environ = {"PYTHONPATH": str(tmp_path / "addition")}
    names, report, active = run_child(
        site, code, python=python, cwd=tmp_path / "workspace", environ=environ
    ).splitlines()
    assert names == "['vetted']"
    assert "would be imported from" in report
    assert active == "[]"
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(os.name != "posix", reason="permission bits")
def test_r07_a_directory_everybody_may_write_to_does_not_count(site):
    site.add_hooks("vetted", "")
    assert len(site.index().all_entries()) == 1
    site.folder.chmod(0o777)
    index = site.index()
    assert index.all_entries() == []
    assert "everybody may write to it" in index.problems[0]


def test_r07_a_checkout_counts_when_it_is_named_for_the_run(site, tmp_path, tool_source):
    checkout = tmp_path / "checkout"
    (checkout / "src").mkdir(parents=True)
    (checkout / "src" / "acme_dev.py").write_text(tool_source("ticket"))
    (checkout / "pyproject.toml").write_text(
        '[project]\nname = "acme-dev"\nversion = "0.1"\n'
        '[project.entry-points."ferrule.tools"]\nticket = "acme_dev:Ticket"\n'
    )
    assert site.manager().names("ferrule.tools") == []
    manager = site.manager(dev_plugins=(str(checkout),))
    assert [tool.name for tool in manager.tools(site.context)] == ["ticket"]
    assert manager.standings[0].entry.is_dev
    assert site.manager(FERRULE_DEV_PLUGIN=str(checkout)).names("ferrule.tools") == ["ticket"]


def test_a_checkout_that_cannot_be_used_says_so(site, tmp_path):
    with pytest.raises(PluginError, match=r"--dev-plugin .*pyproject\.toml"):
        site.index(dev_plugins=(str(tmp_path / "nowhere"),))
    odd = tmp_path / "pyproject.toml"
    for text in ('[project]\nname = "acme"\nentry-points = 1\n', "project = 1\n"):
        odd.write_text(text)
        with pytest.raises(PluginError, match=r"--dev-plugin .* cannot be used"):
            site.index(dev_plugins=(str(tmp_path),))


def test_r08_a_file_edited_after_installation_and_a_new_version_are_shown_as_changes(site):
    from ferrule.scan import changed_files

    site.add_hooks("mine", "")
    (entry,) = site.index().all_entries()
    assert (entry.changed, changed_files(entry)) == ("", [])
    assert entry.first_seen
    (site.folder / "acme_hooks_mine.py").write_text("x = 1\n")
    assert changed_files(entry) == ["acme_hooks_mine.py"]
    site.add_hooks("mine", "y = 1", version="1.1")
    (upgraded,) = site.index().all_entries()
    assert upgraded.changed == "version was 1.0"
    assert upgraded.first_seen == entry.first_seen
    site.add_hooks("mine", "z = 1", version="1.0")
    assert site.index().all_entries()[0].changed == "contents differ"


def test_r09_a_plugin_is_described_in_words(site):
    site.add_hooks(
        "guard",
        "@hookimpl\ndef ferrule_tool_before(call):\n    return Verdict.deny('no')\n",
        requires=">=0.1",
    )
    manager = site.manager()
    assert in_words([standing.entry for standing in manager.standings], {}) == (
        "acme-guard 1.0 by Acme Corp, installed in "
        f"{site.folder}/acme_guard-1.0.dist-info,\n"
        "runs in the process of Ferrule, with all of your rights and unconfined, and\n"
        "  - may judge a tool call before it runs, and refuse (ferrule_tool_before)"
    )


def test_r17_compatibility_is_decided_before_import_and_says_which_side_to_upgrade(site, tmp_path):
    site.add_contract("1.4.2")
    source = WRITES.format(path=str(tmp_path / "ran"))
    site.add_hooks("newer", source, requires=">=2,<3")
    site.add_hooks("older", source, requires="~=0.9.0")
    site.add_hooks("fitting", "", requires=">=1.2,<2")
    assert site.manager().names("ferrule.plugins") == ["fitting"]
    assert not (tmp_path / "ran").exists()
    newer, older = site.reports
    assert (
        "acme-newer 1.0 needs ferrule-hookspecs>=2,<3, installed is 1.4.2; upgrade ferrule-core"
        in newer
    )
    assert "installed is 1.4.2; upgrade acme-older" in older


def test_r18_a_plugin_that_knows_the_contract_only_becomes_a_driver(site):
    source = "class Desk:\n    def __init__(self, context):\n        self.home = context.home\n"
    site.add("acme-desk", {"ferrule.reviewers:desk": "acme_desk:Desk"}, {"acme_desk.py": source})
    driver = site.manager().driver("ferrule.reviewers", "desk", site.context)
    assert driver.home == site.context.home


def test_a_missing_driver_says_what_is_installed_and_what_to_install(site):
    source = "class Desk:\n    def __init__(self, context): ...\n"
    site.add("acme-desk", {"ferrule.reviewers:desk": "acme_desk2:Desk"}, {"acme_desk2.py": source})
    manager = site.manager()
    with pytest.raises(PluginError, match=r"did you mean 'desk'\?.*installed: desk"):
        manager.driver("ferrule.reviewers", "deks", site.context)
    with pytest.raises(PluginError, match="pip install ferrule-sandbox-bubblewrap"):
        manager.driver("ferrule.sandboxes", "bubblewrap", site.context)


def test_a_driver_that_is_not_allowed_says_why(site):
    site.add("acme-desk", {"ferrule.reviewers:desk": "acme_desk3:Desk"}, {"acme_desk3.py": ""})
    manager = site.manager({"plugins": {"block": [{"name": "acme-desk", "reason": "CVE-1"}]}})
    with pytest.raises(PluginError, match="it is blocked: CVE-1"):
        manager.driver("ferrule.reviewers", "desk", site.context)


def test_metadata_that_cannot_be_read_hides_no_other_plugin(site):
    site.add_hooks("good", "")
    broken = site.add_hooks("broken", "")
    (broken / "METADATA").write_bytes(b"\xff\xfe\xff")
    index = site.index()
    assert [entry.name for entry in index.all_entries()] == ["good"]
    assert "acme_broken" in index.problems[0]


def test_a_stranger_that_says_it_is_a_part_of_ferrule_is_left_out(site):
    metadata = site.add_hooks("evil", "") / "METADATA"
    metadata.write_text(metadata.read_text().replace("acme-evil", "ferrule-shell"))
    index = site.index()
    assert index.all_entries() == []
    assert (
        "acme_evil-1.0.dist-info cannot be read: it says that it is ferrule-shell"
        in (index.problems[0])
    )


@pytest.mark.parametrize("text", ["[]", '{"dir_info": {"editable": true}}'])
def test_a_damaged_record_of_where_a_plugin_came_from_hides_no_other_plugin(site, text):
    site.add_hooks("good", "")
    (site.add_hooks("broken", "") / "direct_url.json").write_text(text)
    index = site.index()
    assert [entry.name for entry in index.all_entries()] == ["good"]
    assert "acme_broken" in index.problems[0]


def test_a_plugin_that_is_being_installed_at_the_first_look_is_seen_at_the_next(site):
    info = site.add_hooks("late", "")
    contents = {name: (info / name).read_text() for name in ("entry_points.txt", "RECORD")}
    for name in contents:
        (info / name).unlink()
    assert site.index().all_entries() == []
    for name, text in contents.items():
        (info / name).write_text(text)
    assert [entry.name for entry in site.index().all_entries()] == ["late"]


def test_the_cache_notices_a_plugin_that_comes_changes_or_goes(site):
    site.add_hooks("first", "")
    assert [e.name for e in site.index().all_entries()] == ["first"]
    info = site.add_hooks("second", "")
    assert [e.name for e in site.index().all_entries()] == ["first", "second"]
    (info / "entry_points.txt").write_text("[ferrule.plugins]\nrenamed = acme_hooks_second\n")
    assert [e.name for e in site.index().all_entries()] == ["first", "renamed"]


def test_a_cache_that_is_damaged_is_made_anew(site):
    site.add_hooks("first", "")
    path = site.index().path
    path.write_text("{ not json")
    assert [e.name for e in site.index().all_entries()] == ["first"]
    assert json.loads(path.read_text())["entries"]


def test_a_warm_index_imports_no_metadata_machinery(site):
    site.add_hooks("first", "")
    code = f"""
import sys
from ferrule.index import build_index
build_index([{str(site.folder)!r}], {site.environ!r})
print(sorted({{"importlib.metadata", "stevedore", "pluggy", "hashlib", "sysconfig", "subprocess",
              "ferrule.scan", "ferrule.probe"}} & set(sys.modules)))
"""
    run_child(site, code)
    assert run_child(site, code) == "[]\n"


def test_the_probe_tells_the_help_and_options_of_a_command(site):
    raw = "class Run:\n    help = 'Run it'\n    options = ('--fast',)\n"
    raw += "    def main(self, argv, host):\n        return 0\n"
    typed = "import typer\napp = typer.Typer(help='Count it.')\n"
    site.add("acme-raw", {"ferrule.commands:run": "acme_raw:Run"}, {"acme_raw.py": raw})
    site.add("acme-typed", {"ferrule.commands:count": "acme_typed:app"}, {"acme_typed.py": typed})
    site.manager()
    count, run = site.index().entries("ferrule.commands")
    assert (count.help, run.help, run.options) == ("Count it.", "Run it", ("--fast",))


def test_an_entry_is_labelled_with_name_distribution_version_and_file():
    entry = Entry("ferrule.plugins", "guard", "acme", "acme-dist", "1.2", "/site/acme.dist-info")
    assert entry.label == "plugin 'guard' (acme-dist 1.2, /site/acme.dist-info)"


def test_a_checkout_that_this_process_cannot_find_yet_is_tried_by_the_next_one(site):
    source = site.root / "checkout" / "src"
    source.mkdir(parents=True)
    (source / "acme_late.py").write_text("")
    info = site.add("acme-late", {"ferrule.plugins:late": "acme_late"}, {})
    url = (site.root / "checkout").as_uri()
    (info / "direct_url.json").write_text(f'{{"url": "{url}", "dir_info": {{"editable": true}}}}')

    (before,) = site.manager().standings
    sys.path.append(str(source))  # as an interpreter does that starts now
    (after,) = site.manager().standings

    assert before.state == "broken"
    assert "cannot be found" in before.reason
    assert after.state == "active"
