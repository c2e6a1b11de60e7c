"""A session of `ferrule exec` in this sandbox, with a scripted model."""

import importlib.util

import pytest

from ferrule_testkit.model_items import function_call, message

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ferrule_shell") is None, reason="needs the shell tool"
)
ACCEPT = 'sandbox_accept_gaps = ["protected_paths", "missing_names"]'


@pytest.fixture
def configure(ferrule_home, backend):
    def configure(*lines):
        ferrule_home.configure(top="\n".join(['sandbox_backend = "landlock"', *lines]))

    return configure


def test_a_command_runs_and_the_session_opens_with_what_is_not_confined(
    configure, ferrule_home, model_server, run_ferrule, tmp_path
):
    configure(ACCEPT)
    script = f"echo in > in.txt; echo out > {ferrule_home.path}/out.txt; exit 3"
    model_server.play([[function_call("exec_command", {"cmd": script})], [message("done")]])

    ended = run_ferrule("exec", "--json", "-s", "workspace-write", "--skip-git-repo-check", "go")

    assert ended.returncode == 0
    warnings = [each for each in ended.events if "does not confine" in str(each)]
    assert len(warnings) == 1
    assert "protected places in writable folders" in str(warnings[0])
    assert ended.events.index(warnings[0]) < 3
    assert (ferrule_home.workspace / "in.txt").read_text() == "in\n"
    assert ended.items("command_execution")[-1]["exit_code"] == 3


def test_without_the_accepted_gaps_nothing_is_run_and_the_model_hears_why(
    configure, ferrule_home, model_server, run_ferrule
):
    configure()
    model_server.play(
        [[function_call("exec_command", {"cmd": "echo in > in.txt"})], [message("done")]]
    )

    run_ferrule("exec", "--json", "-s", "workspace-write", "--skip-git-repo-check", "go")

    assert not (ferrule_home.workspace / "in.txt").exists()
    assert "cannot enforce protected_paths" in str(model_server.requests[-1].body)


def test_a_terminal_is_the_commands_own(configure, ferrule_home, model_server, run_ferrule):
    configure()
    script = "test -t 0 && stty size && echo hello > /dev/tty"
    model_server.play(
        [[function_call("exec_command", {"cmd": script, "tty": True})], [message("done")]]
    )

    ended = run_ferrule("exec", "--json", "-s", "read-only", "--skip-git-repo-check", "go")

    output = ended.items("command_execution")[-1]["aggregated_output"]
    assert "24 80" in output
    assert "hello" in output
