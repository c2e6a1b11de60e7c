"""`ferrule plugins new`: what is written, and what is refused."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ferrule_author.kinds import KINDS
from ferrule_author.naming import names_of
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.manifest import parse_manifest

RULES = "E,F,W,I,UP,B,C4,C90,ASYNC,BLE,DTZ,PERF,PT,RET,SIM,TRY,ANN,D"
IGNORED = "D105,D107,D203,D205,D212,D213,TRY003"
BIN = Path(sys.executable).parent


@pytest.fixture
def packages(new_package):
    """A new package of every kind, in one folder."""
    folders = [new_package(kind, author="Ann <ann@example.com>") for kind in KINDS]
    return folders[0].parent


def own_lines(path):
    """Lines of code: without imports, docstrings, comments and blank lines."""
    tree = ast.parse(path.read_text())
    text = path.read_text().splitlines()
    left_out = set()
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, node.end_lineno + 1))
    kept = [line for number, line in enumerate(text, 1) if number not in left_out]
    return [line for line in kept if line.strip() and not line.strip().startswith("#")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_is_a_few_files_that_declare_one_plugin(new_package, kind):
    folder = new_package(kind)

    files = [path for path in folder.rglob("*") if path.is_file()]
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    ((group, points),) = project["entry-points"].items()
    manifest = next(folder.glob("src/*/ferrule.toml"))

    assert len(files) == 7
    assert group == KINDS[kind].group
    assert len(points) == 1
    assert project["dependencies"][0] == "ferrule-hookspecs>=0.1,<1"
    assert not parse_manifest(manifest.read_text(), str(manifest)).guards
    assert not any("{{" in path.read_text() for path in files)


def test_templates_are_as_tidy_as_our_own_code(packages):
    ruff = [BIN / "ruff", "--isolated"]
    options = ["--select", RULES, "--ignore", IGNORED, "--per-file-ignores", "tests/*:ANN"]
    for folder in packages.iterdir():
        checked = [*ruff, "check", "-q", "--no-cache", "--line-length", "100", *options, "."]
        formatted = [*ruff, "format", "-q", "--no-cache", "--line-length", "100", "--diff", "."]
        for argv in (checked, formatted):
            run = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
            assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
def test_templates_are_typed_strictly(packages):
    settings = {"include": ["*/src"], "strict": ["*/src"], "pythonVersion": "3.11"}
    settings |= {"venvPath": str(Path(sys.prefix).parent), "venv": Path(sys.prefix).name}
    (packages / "pyrightconfig.json").write_text(json.dumps(settings))

    run = subprocess.run([BIN / "pyright", "-p", packages], capture_output=True, text=True)

    # It tells of newer versions of itself first.
    assert re.search(r"^0 errors", run.stdout, re.MULTILINE), run.stdout


def test_a_tool_takes_fifteen_lines_of_the_author_s_own(new_package):
    (path,) = new_package("tool").glob("src/*/tool.py")
    code = own_lines(path)
    assert len(code) <= 15, code


@pytest.mark.parametrize("chosen", ["acme-ticket", "ferrule-acme-ticket", "acme_ticket"])
def test_all_names_are_made_of_one(chosen):
    names = names_of(chosen, KINDS["tool"])
    assert names == (
        *("acme-ticket", "ferrule-acme-ticket", "ferrule_acme_ticket"),
        *("acme_ticket", "acme_ticket", "AcmeTicket"),
    )


@pytest.mark.parametrize("kind", ["command", "transport"])
def test_what_is_typed_has_dashes(kind):
    assert names_of("acme-ticket", KINDS[kind]).entry == "acme-ticket"


@pytest.mark.parametrize(
    "chosen", ["", "Acme", "1st", "a--b", "-a", "a-", "../a", "a b", "é", "ferrule-", "x" * 41]
)
def test_what_cannot_be_a_name_is_refused(chosen):
    with pytest.raises(FerruleError, match="cannot be the name of a plugin"):
        names_of(chosen, KINDS["tool"])


def test_the_program_writes_a_package_and_says_what_comes_next(run_ferrule, tmp_path):
    run = run_ferrule("plugins", "new", "acme-ticket", "--kind", "tool", "--path", str(tmp_path))

    assert run.returncode == 0, run.stderr
    assert (tmp_path / "ferrule-acme-ticket" / "src" / "ferrule_acme_ticket" / "tool.py").is_file()
    assert "ferrule plugins check ." in run.stdout
    assert "No licence is chosen" in run.stdout


def test_what_was_written_is_told_to_programs(run_ferrule, tmp_path):
    words = ("--kind", "hooks", "--license", "MIT", "--author", "Ann", "--json", "--path")

    run = run_ferrule("plugins", "new", "acme-ticket", *words, str(tmp_path))

    told = json.loads(run.stdout)
    project = tomllib.loads((tmp_path / "ferrule-acme-ticket" / "pyproject.toml").read_text())
    assert (told["distribution"], told["name"]) == ("ferrule-acme-ticket", "acme_ticket")
    assert len(told["files"]) == 7
    assert project["project"]["license"] == "MIT"
    assert project["project"]["authors"] == [{"name": "Ann"}]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["shell", "--kind", "tool"], "the name ferrule-shell is taken"),
        (["core", "--kind", "tool"], "the name ferrule-core is taken"),
        (
            ["read-file", "--kind", "tool"],
            "'read_file' is taken in ferrule.tools",
        ),
        (["threads", "--kind", "command"], "'threads' is taken in ferrule.commands"),
        (["used", "--kind", "tool"], "is not empty, and nothing is overwritten"),
        (["link", "--kind", "tool"], "is there already and is no folder"),
        (["acme", "--kind", "tool", "--description", 'say "hi"'], "one line of plain text"),
        (["acme", "--kind", "tool", "--license", "MIT\nx = 1"], "one line of plain text"),
    ],
)
def test_what_is_taken_or_would_be_overwritten_is_refused(run_ferrule, tmp_path, words, told):
    (tmp_path / "ferrule-used").mkdir()
    (tmp_path / "ferrule-used" / "work").write_text("mine")
    (tmp_path / "ferrule-link").symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.iterdir())

    run = run_ferrule("plugins", "new", *words, "--path", str(tmp_path))

    assert run.returncode == 1
    assert told in run.stderr
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "ferrule-used" / "work").read_text() == "mine"
