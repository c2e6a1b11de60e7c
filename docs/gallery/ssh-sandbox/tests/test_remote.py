"""The contract of sandbox backends, and commands that run by way of a real sshd."""

import os
from pathlib import Path

import pytest

from ferrule_hookspecs import Command, PluginContext, ResolvedPolicy
from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_testkit import SandboxConformance
from ferrule_testkit.model_items import function_call, message
from gallery_remote.backend import RemoteBackend

CHECKOUT = str(Path(__file__).parents[1])


@pytest.mark.slow
class TestRemoteBackend(SandboxConformance):
    """Every rule of the contract, tried on this backend."""

    @pytest.fixture(autouse=True)
    def _with_a_machine(self, machine):
        self.machine = machine

    def make(self, context):
        """Return the backend."""
        return RemoteBackend(context._replace(settings=self.machine.settings))


@pytest.fixture
def session(ferrule_home, model_server, run_ferrule, machine, tmp_path):
    """Run a command in a session, on a machine where the workspace is elsewhere."""
    there = tmp_path / "there"
    there.mkdir()

    def run(mode, *calls):
        table = {**machine.settings, "workspace": str(there)}
        lines = [f"{key} = {value!r}" for key, value in table.items()]
        ferrule_home.configure(
            top='sandbox_backend = "remote"',
            tables="[plugins.settings.remote]\n" + "\n".join(lines),
        )
        model_server.play([list(calls), [message("done")]])
        finished = run_ferrule("--dev-plugin", CHECKOUT, "exec", "--json", "-s", mode, "go")
        return finished, there

    return run


def outputs(model_server):
    sent = model_server.requests[-1].body["input"]
    return [item["output"] for item in sent if item["type"].endswith("_output")]


def test_a_command_of_a_session_runs_over_there(session, model_server, ferrule_home, machine):
    finished, there = session(
        "danger-full-access",
        function_call("exec_command", {"cmd": "echo $SSH_CONNECTION; pwd; echo hi > made"}),
    )

    assert finished.returncode == 0, finished.stderr
    assert str(there) in outputs(model_server)[0]
    assert (there / "made").read_text() == "hi\n"
    assert not (ferrule_home.workspace / "made").exists()
    assert os.listdir(machine.home) == []


@pytest.mark.slow
def test_tools_do_not_take_files_of_this_machine_for_those_over_there(
    session, model_server, ferrule_home
):
    patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n"
    call = {"cmd": f"apply_patch <<'EOF'\n{patch}EOF\n"}
    session("danger-full-access", function_call("exec_command", call))

    assert "reached by commands only" in outputs(model_server)[0]
    assert not (ferrule_home.workspace / "new.txt").exists()


@pytest.mark.slow
def test_a_session_that_wants_something_confined_runs_nothing(session):
    call = function_call("exec_command", {"cmd": "echo hi > made"})
    finished, there = session("workspace-write", call)

    assert list(there.iterdir()) == []
    assert "remote" in finished.stdout + finished.stderr


def backend(**settings):
    return RemoteBackend(PluginContext(Path("/nowhere"), {}, "/work", settings=settings))


def test_what_would_have_to_be_confined_is_refused():
    policy = ResolvedPolicy("read-only", "/work")

    with pytest.raises(PolicyUnenforceableError, match="cannot be enforced"):
        backend(host="there").prepare(policy, Command(("true",), "/work", {}))


def test_without_a_machine_it_says_what_to_set():
    policy = ResolvedPolicy("danger-full-access", "/work", network=True, unconfined=True)

    with pytest.raises(SandboxUnavailableError, match=r"plugins\.settings\.remote\.host"):
        backend().prepare(policy, Command(("true",), "/work", {}))


def test_words_of_a_command_are_words_over_there():
    policy = ResolvedPolicy("danger-full-access", "/work", network=True, unconfined=True)
    command = Command(("echo", "a b; $(rm)", "'"), "/work/it's", {"A": "$B"})

    *_, dashes, host, script = backend(host="there", workspace="/far").prepare(policy, command).argv

    assert (dashes, host) == ("--", "there")
    assert """cd '/far/it'"'"'s' && exec env -i 'A=$B' echo 'a b; $(rm)' ''"'"''""" in script
