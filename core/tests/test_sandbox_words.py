"""The words of `ferrule sandbox`: found without being imported, and never in a program's way."""

import json

import pytest

PYPROJECT = """\
[project]
name = "acme-words"
version = "1.0"
[project.entry-points."ferrule.sandbox_commands"]
true = "acme_words:command"
"""
WORD = """\
import json, sys
class Word:
    help = "Say what arrived"
    options = ()
    def main(self, argv, host):
        sys.stdout.write(json.dumps(list(argv)) + "\\n")
        return 7
command = Word()
"""


@pytest.fixture
def sandbox(ferrule, tmp_path):
    """Runs `ferrule sandbox` with a third party's word `true`."""
    checkout = tmp_path / "acme"
    checkout.mkdir()
    (checkout / "pyproject.toml").write_text(PYPROJECT)
    (checkout / "acme_words.py").write_text(WORD)

    def sandbox(*argv, before=()):
        return ferrule("--dev-plugin", str(checkout), *before, "sandbox", *argv)

    return sandbox


def test_a_word_gets_what_follows_it(sandbox):
    run = sandbox("true", "--loud", "--", "x")
    assert (run.returncode, json.loads(run.stdout)) == (7, ["--loud", "--", "x"]), run.stderr


def test_options_of_the_program_may_stand_before_a_word(sandbox):
    run = sandbox("true", "x", before=["-c", "a=1"])
    assert (run.returncode, json.loads(run.stdout)) == (7, ["-c", "a=1", "x"]), run.stderr


@pytest.mark.parametrize(
    "argv", [["--", "true"], ["-s", "danger-full-access", "true"]], ids=["dashes", "option"]
)
def test_a_program_of_that_name_runs_all_the_same(sandbox, argv):
    run = sandbox("-s", "danger-full-access", *argv)
    assert (run.returncode, run.stdout) == (0, ""), run.stderr


def test_the_help_lists_the_words(sandbox):
    run = sandbox("--help")
    assert run.returncode == 0
    assert "  true" in run.stdout
    assert "Say what arrived" in run.stdout


def test_completion_offers_the_words(sandbox, ferrule, tmp_path):
    run = ferrule("__complete", "bash", "--dev-plugin", str(tmp_path / "acme"), "sandbox", "")
    assert "true" in run.stdout.split()
