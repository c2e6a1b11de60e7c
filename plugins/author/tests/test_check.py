"""`ferrule plugins check`: every rule is kept by a new plugin, and found broken where it is."""

import json
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest

from ferrule_author.finding import RULES
from ferrule_author.import_child import Problem, look_at_hooks
from ferrule_author.kinds import KINDS
from ferrule_author.rules.code import look_at_code
from ferrule_author.rules.imports import look_at_imports
from ferrule_author.rules.metadata import look_at_contract, look_at_metadata
from ferrule_author.rules.names import look_at_names
from ferrule_author.rules.texts import look_at_texts
from ferrule_author.rules.wheel import look_at_wheel
from ferrule_author.subject import read_checkout, read_subject
from ferrule_hookspecs import hookimpl, hooks
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.markers import HOOK_CONTRACTS

PROJECT, CODE, MANIFEST = "pyproject.toml", "src/{module}/{part}.py", "src/{module}/ferrule.toml"
UV_BUILD = 'build-backend = "uv_build"'
SETTINGS = """
[project.entry-points."ferrule.settings"]
acme_tool = "ferrule_acme_tool.tool:Arguments"

[build-system]"""
TWO_TABLES = SETTINGS.replace("\n\n", '\nother = "ferrule_acme_tool.tool:Arguments"\n\n')
TOOL_NAME = 'name = "acme_tool"'
IMPORT = "from pathlib import PurePath"
ENTRY = 'acme_tool = "ferrule_acme_tool.tool:AcmeTool"'
OTHER_TOOL = 'acme_tool = "ferrule_acme_tool.tool:Arguments"'

BUSY = """
from pathlib import Path
import time
end = time.process_time() + 0.2
while time.process_time() < end: pass
"""

# The rule, the kind of plugin, the file, what is replaced in it (all where nothing is said), by
# what, and what is told.
BROKEN = [
    (
        "metadata.name",
        "tool",
        PROJECT,
        'name = "ferrule-acme-tool"',
        'name = "-"',
        "'-' is no name",
    ),
    ("metadata.version", "tool", PROJECT, 'version = "0.1.0"\n', "", "there is no version"),
    ("metadata.description", "tool", PROJECT, "The tool acme_tool for Ferrule.", "", "what it is"),
    ("metadata.license", "tool", PROJECT, "", None, "no licence is chosen"),
    ("metadata.author", "tool", PROJECT, 'authors = [{ name = "Ann" }]\n', "", "nobody is named"),
    ("metadata.python", "tool", PROJECT, 'requires-python = ">=3.11"\n', "", "which Python"),
    ("metadata.readme", "tool", PROJECT, 'readme = "README.md"', 'readme = "X"', "no README"),
    ("names.group", "tool", PROJECT, '"ferrule.tools"', '"ferrule.tool"', "ferrule.tool is no"),
    ("names.form", "tool", PROJECT, "\nacme_tool =", '\n"Acme.Tool" =', "hard to write"),
    ("names.taken", "tool", PROJECT, "\nacme_tool =", "\nread_file =", "belongs to ferrule-files"),
    ("names.module", "tool", PROJECT, ".tool:", ".tol:", "ferrule_acme_tool.tol is not there"),
    ("contract.range", "tool", PROJECT, ">=0.1,<1", ">=0.1", "has no upper bound"),
    ("contract.range", "tool", PROJECT, ">=0.1,<1", "<1", "has no lower bound"),
    ("contract.range", "tool", PROJECT, '"ferrule-hookspecs>=0.1,<1", ', "", "does not depend"),
    ("contract.fits", "tool", PROJECT, ">=0.1,<1", ">=7.1,<8", "0.1.0 is installed"),
    ("docs.readme", "tool", "README.md", "acme_tool", "it", "never names 'acme_tool'"),
    ("docs.docstrings", "hooks", CODE, '    """Write a line for', '    f"""Write', "no docstring"),
    ("manifest.form", "tool", MANIFEST, "[capabilities]", "[capability]", "'capability' is not"),
    ("manifest.environment", "tool", CODE, IMPORT, "import os\nX = os.environ['A_B']", "A_B"),
    ("manifest.environment", "tool", CODE, IMPORT, "import os\nX = os.getenv('A_B')", "A_B"),
    (
        "manifest.hosts",
        "tool",
        CODE,
        IMPORT,
        "X = 'https://tickets.acme.com/x'",
        "tickets.acme.com",
    ),
    ("code.syntax", "tool", CODE, IMPORT, "from import x", "cannot be parsed"),
    ("code.kernel", "tool", CODE, IMPORT, "from ferrule.session import X", "ferrule.session"),
    ("code.plugins", "tool", CODE, IMPORT, "import ferrule_shell.tool", "another plugin"),
    ("code.private", "tool", CODE, IMPORT, "from ferrule_hookspecs import _homes", "private"),
    ("import.works", "tool", CODE, IMPORT, "raise ValueError('not so')", "ValueError: not so"),
    ("import.works", "tool", CODE, IMPORT, "import os; os._exit(3)", "exit code 3"),
    ("import.works", "tool", CODE, IMPORT, "import os; os.abort()", "signal 6"),
    ("import.works", "tool", CODE, IMPORT, "raise SystemExit", "SystemExit"),
    ("import.object", "tool", PROJECT, ENTRY, OTHER_TOOL, "no subclass"),
    ("import.object", "tool", CODE, TOOL_NAME, 'name = "other"', "calls itself 'other'"),
    ("import.object", "command", CODE, "def main", "def mein", "neither a Typer app nor"),
    ("import.quiet", "tool", CODE, IMPORT, f"{IMPORT}\nprint('hi')", "writes to standard output"),
    ("import.effects", "tool", CODE, IMPORT, "open('x', 'w').close()", "writes to x"),
    ("import.effects", "tool", CODE, IMPORT, "import os; os.system('true')", "starts a process"),
    ("import.effects", "tool", CODE, IMPORT, "import os; os.fork()", "starts a process"),
    (
        *("import.effects", "tool", CODE, IMPORT),
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "uses the network",
    ),
    (
        *("import.time", "hooks", CODE, "from pathlib import Path"),
        BUSY,
        "ms of processor time",
    ),
    ("hooks.valid", "hooks", CODE, "@hookimpl\ndef ferrule_notify", "def ferrule_notify", "lacks"),
    ("hooks.valid", "hooks", CODE, "ferrule_notify", "ferrule_notice", "is no hook"),
    ("hooks.valid", "hooks", CODE, "call: ToolCall", "cal: ToolCall", "cal"),
    ("settings.defaults", "tool", PROJECT, "\n[build-system]", SETTINGS, "path Field required"),
    ("settings.single", "tool", PROJECT, "\n[build-system]", TWO_TABLES, "acme_tool and other"),
    ("typing.marker", "tool", "src/{module}/py.typed", "", None, "without py.typed"),
    (
        "wheel.builds",
        "tool",
        PROJECT,
        UV_BUILD,
        'build-backend = "nobody"',
        "no wheel can be built",
    ),
    (
        *("wheel.contents", "tool", PROJECT, UV_BUILD),
        f'{UV_BUILD}\n[tool.uv.build-backend]\nwheel-exclude = ["ferrule.toml"]',
        "ferrule.toml is not in it",
    ),
    ("tests.present", "tool", "tests/test_{part}.py", "", None, "there is no tests"),
    ("tests.conformance", "tool", "tests/test_{part}.py", "Conformance", "X", "no conformance"),
]
OF_THE_CONTRACT = {"hooks.deprecated"}  # tried below, with a contract that deprecates something


class Names:
    """A host that knows one name."""

    def taken_names(self, group):
        return MappingProxyType({"read_file": "ferrule-files"} if group == "ferrule.tools" else {})


LOOKS = {
    "metadata": look_at_metadata,
    "contract": lambda subject: look_at_contract(subject, "0.1.0"),
    "names": lambda subject: look_at_names(subject, Names()),
    "docs": look_at_texts,
    "typing": look_at_texts,
    "tests": look_at_texts,
    "manifest": look_at_code,
    "code": look_at_code,
    "import": look_at_imports,
    "hooks": look_at_imports,
    "settings": look_at_imports,
    "settings.single": lambda subject: look_at_names(subject, Names()),
    "wheel": look_at_wheel,
}


def cases():
    """The cases; of those that start an interpreter, more than one a rule only among the slow."""
    seen = set()
    for case in BROKEN:
        is_repeated = case[0] in seen and case[0].startswith(("import", "hooks"))
        seen.add(case[0])
        marks = [pytest.mark.slow] if is_repeated else []
        yield pytest.param(*case, id=f"{case[0]}-{case[-1]}", marks=marks)


@pytest.mark.parametrize(("rule", "kind", "file", "old", "new", "told"), list(cases()))
def test_a_broken_rule_is_found(new_package, rule, kind, file, old, new, told):
    wishes = {} if rule == "metadata.license" else {"license": "MIT"}
    folder = new_package(kind, author="Ann", **wishes)
    path = folder / file.format(module=f"ferrule_acme_{kind}", part=KINDS[kind].part)
    if new is not None:
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    elif path.name != PROJECT:
        path.unlink()

    look = LOOKS.get(rule) or LOOKS[rule.partition(".")[0]]
    findings = list(look(read_checkout(folder)))

    assert [each for each in findings if each.rule == rule and told in each.message], findings
    assert all(each.mend and each.place for each in findings)


def test_every_rule_is_tried():
    assert {case[0] for case in BROKEN} | OF_THE_CONTRACT == set(RULES)


def test_an_import_that_does_not_end_is_ended(new_package):
    folder = new_package("hooks")
    path = folder / "src" / "ferrule_acme_hooks" / "hooks.py"
    path.write_text(f"{path.read_text()}\nwhile True:\n    pass\n")

    (finding,) = look_at_imports(read_checkout(folder), limit_s=2)

    assert finding[:2] == ("import.works", "error")
    assert finding.message == "its import did not end within 2 s"


BACKEND = """
import os
def build_wheel(folder, settings=None, metadata=None):
    with open({path!r}, "w") as file:
        file.write(" ".join(os.environ))
    raise SystemExit("nothing is built")
"""


def test_a_build_is_given_no_secrets_but_those_of_installers(new_package, tmp_path, monkeypatch):
    given = tmp_path / "given"
    folder = new_package("tool")
    (folder / "own_backend.py").write_text(BACKEND.format(path=str(given)))
    project = folder / PROJECT
    head, _, _ = project.read_text().partition("[build-system]")
    own = '[build-system]\nrequires = []\nbuild-backend = "own_backend"\nbackend-path = ["."]\n'
    project.write_text(head + own)
    for name in ("ACME_API_KEY", "UV_INDEX_ACME_PASSWORD"):
        monkeypatch.setenv(name, "secret")

    (finding,) = look_at_wheel(read_checkout(folder))

    assert finding.rule == "wheel.builds"
    names = given.read_text().split()
    assert "ACME_API_KEY" not in names
    assert {"PATH", "UV_INDEX_ACME_PASSWORD"} <= set(names)


def test_every_rule_is_documented():
    page = (Path(__file__).parents[3] / "docs" / "plugin-new.md").read_text("utf-8")
    assert [rule for rule, asks in RULES.items() if f"| `{rule}` | {asks} |" not in page] == []


@pytest.mark.parametrize(
    ("deprecated", "told"),
    [
        ("since 0.1", "ferrule_turn_start is deprecated since 0.1"),
        (
            {"turn": "since 0.1"},
            "the argument 'turn' of ferrule_turn_start is deprecated since 0.1",
        ),
        ({"other": "since 0.1"}, ""),
    ],
)
def test_what_the_contract_will_drop_is_told(monkeypatch, deprecated, told):
    @hookimpl
    def ferrule_turn_start(turn):
        return None

    contract = HOOK_CONTRACTS[hooks.ferrule_turn_start.__name__]._replace(deprecated=deprecated)
    monkeypatch.setitem(HOOK_CONTRACTS, "ferrule_turn_start", contract)
    module = SimpleNamespace(ferrule_turn_start=ferrule_turn_start)

    problems = list(look_at_hooks("acme", module))

    assert problems == ([Problem("hooks.deprecated", told, is_error=False)] if told else [])


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_breaks_no_rule(new_package, kind):
    subject = read_checkout(new_package(kind, author="Ann", license="MIT"))
    looks = set(LOOKS.values()) - {look_at_wheel}
    assert [each for look in looks for each in look(subject)] == []


def test_the_program_passes_a_new_plugin_and_tells_what_is_left_to_choose(run_ferrule, new_package):
    run = run_ferrule("plugins", "check", str(new_package("tool", author="Ann")))

    assert run.returncode == 0, run.stdout
    assert "warning: no licence is chosen  [metadata.license]" in run.stdout
    assert run.stdout.splitlines()[-1] == f"passed: {len(RULES)} rules, errors: 0, warnings: 1"


def test_the_program_fails_a_broken_plugin_and_tells_programs_why(run_ferrule, new_package):
    folder = new_package("hooks", author="Ann")
    path = folder / "src" / "ferrule_acme_hooks" / "hooks.py"
    path.write_text(
        path.read_text().replace("import hookimpl", "import hokimpl").replace("hookimpl", "hokimpl")
    )

    run = run_ferrule("plugins", "check", "--json", str(folder))

    told = json.loads(run.stdout)
    assert (run.returncode, told["passed"]) == (1, False)
    assert [each["rule"] for each in told["findings"] if each["level"] == "error"] == [
        "import.works"
    ]


def test_what_is_installed_is_checked_as_well(run_ferrule):
    run = run_ferrule("plugins", "check", "ferrule-plan", "--json")
    assert (run.returncode, json.loads(run.stdout)["name"]) == (0, "ferrule-plan"), run.stdout


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (".", "no pyproject.toml is there"),
        ("nobody-s", "no distribution of this name is installed"),
    ],
)
def test_what_is_nothing_to_check_is_said(tmp_path, monkeypatch, what, told):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FerruleError, match=told):
        read_subject(what)


def test_a_project_file_that_cannot_be_read_is_said(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project\n")
    with pytest.raises(FerruleError, match="cannot be read"):
        read_subject(str(tmp_path))
