"""The `ferrule` program: which command runs, with what, and how it ends."""

import json
import subprocess
import sys

import pytest

from ferrule import __version__
from ferrule.cli import take_apart

PYPROJECT = """\
[project]
name = "acme-commands"
version = "1.0"
[project.entry-points."ferrule.commands"]
acme = "acme_commands:command"
acme_broken = "acme_broken:command"
"""
COMMAND = """\
import json, sys
open(__file__ + ".imported", "a").close()
class Command:
    help = "Say what arrived"
    options = ("--loud", "sing")
    def main(self, argv, host):
        if argv == ["interrupt"]:
            raise KeyboardInterrupt
        if argv == ["bug"]:
            raise ValueError("not good")
        if argv == ["flood"]:
            sys.stdout.write("x" * 1_000_000)
        keys = ("FERRULE_SAFE_MODE", "FERRULE_NO_PLUGIN")
        facts = {key: host.environ[key] for key in keys if key in host.environ}
        sys.stdout.write(json.dumps([list(argv), str(host.home), facts]) + "\\n")
        return 7
command = Command()
"""


@pytest.fixture
def acme(tmp_path):
    """A third party's checkout with a command that works and one that does not."""
    checkout = tmp_path / "acme"
    checkout.mkdir()
    (checkout / "pyproject.toml").write_text(PYPROJECT)
    (checkout / "acme_commands.py").write_text(COMMAND)
    (checkout / "acme_broken.py").write_text("raise RuntimeError('no good')\n")
    return checkout


@pytest.mark.parametrize(
    "argv",
    [["--version"], ["-V"], ["exec", "--version"], ["--safe-mode", "config", "--version"]],
    ids=" ".join,
)
def test_version(ferrule, argv):
    run = ferrule(*argv)
    assert (run.returncode, run.stdout, run.stderr) == (0, f"ferrule {__version__}\n", "")


def modules_after(ferrule, *argv):
    code = (
        "import sys; from ferrule.__main__ import main\n"
        f"sys.argv = ['ferrule', *{list(argv)!r}]\n"
        "main(); sys.stderr.write(' '.join(sys.modules))"
    )
    return set(ferrule.python("-c", code).stderr.split())


def test_version_imports_next_to_nothing(ferrule):
    loaded = modules_after(ferrule, "--version")
    heavy = {"typer", "pydantic", "httpx", "anyio", "importlib.metadata", "pluggy", "re", "pathlib"}
    assert "ferrule" in loaded
    assert loaded & heavy == set()


def test_help_imports_no_plugin_and_little_else(ferrule):
    ferrule("--help")  # the first one fills the index
    loaded = modules_after(ferrule, "--help")
    heavy = {"typer", "pydantic", "httpx", "anyio", "rich", "stevedore", "importlib.metadata"}
    plugins = {name for name in loaded if name.startswith("ferrule_")} - {"ferrule_hookspecs"}
    assert loaded & heavy == set()
    assert {name for name in plugins if not name.startswith("ferrule_hookspecs.")} == set()


def test_a_raw_command_runs_without_typer(ferrule):
    assert "typer" not in modules_after(ferrule, "exec", "--help")


def test_help_lists_the_commands_with_their_help(ferrule, acme):
    run = ferrule("--dev-plugin", str(acme), "--help")
    assert run.returncode == 0
    assert "exec " in run.stdout
    assert "Say what arrived" in run.stdout


def test_without_a_command_the_help_is_shown_and_it_counts_as_wrong_usage(ferrule):
    run = ferrule()
    assert run.returncode == 2
    assert "Commands:" in run.stdout + run.stderr


def test_a_part_of_ours_that_is_not_installed_is_named(ferrule):
    run = ferrule("--no-plugin", "ferrule-replay", "demo")
    assert run.returncode == 1
    assert run.stderr.startswith("error: ")
    assert "ferrule-replay" in run.stderr


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["exce"], "Did you mean 'exec'?"),
        (["--safe-mod"], "No such option: --safe-mod. Did you mean '--safe-mode'?"),
        (["zzz"], "No such command 'zzz'. See: ferrule --help"),
    ],
    ids=["near", "option", "far"],
)
def test_what_is_not_known_is_wrong_usage(ferrule, argv, text):
    run = ferrule(*argv)
    assert run.returncode == 2
    assert text in run.stderr


@pytest.mark.parametrize(
    ("line", "guess"),
    [
        ("sandbox --bakend x -- true", "'--backend'"),
        ("sandbox -s read-olny -- true", "'read-only'"),
        ("completion zhs", "'zsh'"),
        ("doctor --repiar", "'--repair'"),
        ("threads lst", "'list'"),
        ("threads list --serch x", "--search"),
        ("exec --jsn hi", "'--json'"),
        ("--no-plugin ferrule-shel exec hi", "'ferrule-shell'"),
        ("plugins show ferrule-shel", "'ferrule-shell'"),
        ("plugins order ferrule_tool_befor", "'ferrule_tool_before'"),
        ("config get modle", "`model`"),
        ("config explain sandbox_workspace_write.network_acess", "network_access`"),
        ("exec -p wrok hi", "work"),
        ("sandbox -s read-only --backend bubblewarp -- true", "'bubblewrap'"),
    ],
)
def test_a_name_that_is_nearly_right_gets_a_suggestion(ferrule, line, guess):
    ferrule.home.mkdir()
    (ferrule.home / "work.config.toml").write_text("")

    run = ferrule(*line.split())

    assert run.returncode in (1, 2)
    assert guess in run.stderr


def test_everything_after_the_name_reaches_the_command(ferrule, acme):
    before = ["--dev-plugin", str(acme), "-c", "a=1", "--profile=p"]
    run = ferrule(*before, "acme", "--loud", "-c", "b=2", "--", "-x")
    argv, home, _ = json.loads(run.stdout)
    assert argv == ["-c", "a=1", "--profile", "p", "--loud", "-c", "b=2", "--", "-x"]
    assert home == str(ferrule.home)
    assert run.returncode == 7


def test_plugin_options_become_variables_for_every_child():
    line = take_apart(
        ["--safe-mode", "--no-plugin", "a", "--no-plugin=b", "--dev-plugin", "/x", "exec", "go"]
    )
    assert line.environ == {
        "FERRULE_SAFE_MODE": "1",
        "FERRULE_NO_PLUGIN": "a,b",
        "FERRULE_DEV_PLUGIN": "/x",
    }
    assert (line.command, line.rest) == ("exec", ["go"])


def test_a_home_that_is_not_named_is_in_the_users_folder(ferrule):
    del ferrule.environ["FERRULE_HOME"]
    run = ferrule("config", "path")
    assert run.stdout == f"{ferrule.cwd}/.ferrule/config.toml\n"


def test_an_error_is_one_sentence_and_no_traceback(ferrule):
    run = ferrule("config", "get", "modle")
    assert run.returncode == 1
    assert run.stderr == "error: unknown configuration key `modle`; did you mean `model`?\n"
    assert "Traceback" in ferrule("config", "get", "modle", FERRULE_DEBUG="1").stderr


def test_even_a_bug_in_a_command_is_one_sentence(ferrule, acme):
    run = ferrule("--dev-plugin", str(acme), "acme", "bug")
    assert run.returncode == 1
    assert "ValueError: not good (FERRULE_DEBUG=1 shows where)" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_command_that_cannot_be_imported_names_its_plugin(ferrule, acme):
    run = ferrule("--dev-plugin", str(acme), "acme_broken")
    assert run.returncode == 1
    assert "acme-commands 1.0" in run.stderr
    assert "RuntimeError: no good" in run.stderr


def test_an_interrupt_ends_with_130(ferrule, acme):
    run = ferrule("--dev-plugin", str(acme), "acme", "interrupt")
    assert (run.returncode, run.stderr) == (130, "")


@pytest.mark.parametrize("argv", ["acme flood", "config schema"])
def test_a_reader_that_goes_away_is_no_error(ferrule, acme, argv):
    command = f"{sys.executable} -m ferrule --dev-plugin {acme} {argv}"
    script = f"{command} | true; echo ${{PIPESTATUS[0]}}"
    run = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=ferrule.environ, timeout=120
    )
    assert (run.stdout, run.stderr) == ("141\n", "")


@pytest.mark.parametrize("rule", ["disabled = ['acme']", "block = ['acme-commands']"])
def test_a_command_of_a_plugin_that_is_switched_off_is_not_imported(ferrule, acme, rule):
    ferrule.home.mkdir()
    (ferrule.home / "config.toml").write_text(f"[plugins]\n{rule}\n")
    run = ferrule("--dev-plugin", str(acme), "acme")
    assert run.returncode == 1
    assert "not used" in run.stderr
    assert "  acme " not in ferrule("--dev-plugin", str(acme), "--help").stdout
    assert list(acme.glob("*.imported")) == []


def test_the_kernels_own_commands_work_with_a_broken_configuration(ferrule):
    ferrule.home.mkdir()
    (ferrule.home / "config.toml").write_text("not = = TOML")
    assert ferrule("config", "path").returncode == 0
    assert ferrule("--help").returncode == 0
    assert "config.toml:1:7" in ferrule("config", "get", "model").stderr
