"""Words that plugins add to commands: found without being imported, and never in the way."""

import json

import pytest

PYPROJECT = """\
[project]
name = "acme-words"
version = "1.0"
[project.entry-points."ferrule.sandbox_commands"]
true = "acme_words:command"
[project.entry-points."ferrule.plugin_commands"]
admire = "acme_words:command"
list = "acme_words:command"
"""
WORD = """\
import json, sys
class Word:
    help = "Say what arrived"
    options = ("--loud",)
    def main(self, argv, host):
        sys.stdout.write(json.dumps(list(argv)) + "\\n")
        return 7
command = Word()
"""


@pytest.fixture
def checkout(tmp_path):
    """A third party's checkout with the word `true` for `sandbox` and two for `plugins`."""
    checkout = tmp_path / "acme"
    checkout.mkdir()
    (checkout / "pyproject.toml").write_text(PYPROJECT)
    (checkout / "acme_words.py").write_text(WORD)
    return checkout


@pytest.fixture
def plugins(ferrule, checkout):
    """Runs `ferrule plugins` with them."""

    def plugins(*argv, before=()):
        return ferrule("--dev-plugin", str(checkout), *before, "plugins", *argv)

    return plugins


@pytest.fixture
def sandbox(ferrule, checkout):
    """Runs `ferrule sandbox` with them."""

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


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["sandbox", ""], "true"),
        (["sandbox", "true", "-"], "--loud"),
        (["plugins", ""], "admire"),
        (["plugins", ""], "show"),
        (["plugins", "admire", "-"], "--loud"),
    ],
)
def test_completion_offers_the_words_and_their_options(ferrule, checkout, typed, offered):
    run = ferrule("__complete", "bash", "--dev-plugin", str(checkout), *typed)
    assert offered in run.stdout.split()


def test_a_word_of_plugins_gets_what_follows_it(plugins):
    run = plugins("admire", "--loud", "x", before=["-c", "a=1"])
    words = ["-c", "a=1", "--loud", "x"]
    assert (run.returncode, json.loads(run.stdout)) == (7, words), run.stderr


def test_no_word_takes_the_place_of_a_command_of_the_kernel(plugins):
    run = plugins("list", "--json")
    assert (run.returncode, "plugins" in json.loads(run.stdout)) == (0, True), run.stderr


def test_the_help_of_plugins_lists_words_among_its_own(plugins):
    run = plugins("--help")
    assert run.returncode == 0
    assert "Say what arrived" in run.stdout
    assert "  show " in run.stdout


def test_a_misspelt_word_is_guessed(plugins):
    run = plugins("admir")
    assert run.returncode == 2
    assert "admire" in run.stderr


def test_safe_mode_leaves_words_of_others_out(plugins):
    run = plugins("admire", before=["--safe-mode"])
    assert run.returncode == 1
    assert "safe mode" in run.stderr
