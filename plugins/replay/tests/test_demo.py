"""The demonstration, with the real command, tools and sandbox."""

import re
from pathlib import Path

import pytest


@pytest.fixture
def demo(run_ferrule, tmp_path):
    """Run `ferrule demo` with its own temporary folder, and return the run."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    def run(*arguments):
        return run_ferrule("demo", *arguments, environ={"TMPDIR": str(temporary)})

    run.folder = temporary
    return run


def test_a_failing_check_is_repaired_and_nothing_is_left(demo):
    done = demo()
    assert done.returncode == 0, done.stderr
    assert "FAILED (failures=1)" in done.stderr
    assert re.search(r"Ran 3 tests in [^\n]*\n\nOK", done.stderr)
    assert "+    owed = subtotal(lines) * (100 - discount_percent) / 100" in done.stdout
    assert done.stdout.endswith("The folder is removed.\n")
    assert [
        path.name for path in demo.folder.iterdir() if path.name.startswith("ferrule-demo")
    ] == []
    assert done.survivors == {}


def test_the_folder_can_be_kept(demo):
    done = demo("--keep")
    workspace = Path(re.search(r"The folder is kept: (.+)\n", done.stdout)[1])
    assert "* (100 - discount_percent)" in (workspace / "receipt.py").read_text()
    assert sorted(path.name for path in workspace.glob("*.*")) == [
        ".git",
        "README.md",
        "check_receipt.py",
        "receipt.py",
    ]


def test_in_a_read_only_sandbox_nothing_changes_and_that_is_said(demo):
    done = demo("--sandbox", "read-only")
    assert "What changed:\n\nNothing." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sandbox", "wide"], "--sandbox takes one of read-only, workspace-write"),
        (["--sandbox"], "--sandbox takes one of read-only, workspace-write"),
        (["now"], "unexpected argument 'now'"),
    ],
    ids=["mode", "no-mode", "word"],
)
def test_a_wrong_argument_is_a_usage_error(demo, arguments, message):
    done = demo(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_help_is_shown(demo):
    done = demo("--help")
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "Usage: ferrule demo [--keep] [--sandbox MODE]",
    )
