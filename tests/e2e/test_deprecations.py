"""A plugin that takes a deprecated argument: its users are told, and it goes on working.

No real hook is deprecated for this: `ferrule` runs with a copy of the contract that marks one.
"""

import shutil
from pathlib import Path

import pytest

import ferrule_hookspecs
from ferrule_testkit.model_items import message

HOOK = ")\ndef ferrule_turn_start("
MARK = "deprecated={'turn': 'since 0.1, use session; gone in 0.3'}"
TOLD = (
    "the argument 'turn' of the hook ferrule_turn_start is deprecated since 0.1, use session;"
    " gone in 0.3"
)
SOURCE = """
from pathlib import Path

from ferrule_hookspecs import hookimpl

@hookimpl
def ferrule_turn_start(turn):
    Path(turn.cwd, "told.txt").write_text("told")
"""


@pytest.fixture
def old(ferrule_home, tmp_path):
    """Run `ferrule` with the marked contract and a plugin that is too old for it."""
    package = Path(ferrule_hookspecs.__file__).parent
    copy = tmp_path / "contract" / package.name
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = (copy / "hooks.py").read_text()
    assert text.count(HOOK) == 1
    (copy / "hooks.py").write_text(text.replace(HOOK, f", {MARK}{HOOK}"))
    checkout = tmp_path / "acme-old"
    checkout.mkdir()
    (checkout / "acme_old.py").write_text(SOURCE)
    (checkout / "pyproject.toml").write_text(
        '[project]\nname = "acme-old"\nversion = "1.0"\n'
        '[project.entry-points."ferrule.plugins"]\nold = "acme_old"\n'
    )
    environ = {"PYTHONPATH": str(copy.parent), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*arguments):
        return ferrule_home.run("--dev-plugin", str(checkout), *arguments, environ=environ)

    return run


@pytest.mark.slow
def test_users_of_a_plugin_that_is_too_old_are_told_and_it_goes_on(old, ferrule_home, model_server):
    model_server.play([[message("done")]])

    finished = old("exec", "--json", "go")

    assert finished.returncode == 0, finished.stderr
    assert (finished.stdout + finished.stderr).count(f"{TOLD}; update acme-old") == 1
    assert (ferrule_home.workspace / "told.txt").read_text() == "told"
    assert f"    warning: {TOLD}" in old("plugins", "list").stdout
    assert f"    warning: {TOLD}" in old("plugins", "doctor").stdout
