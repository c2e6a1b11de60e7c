"""`command/exec*` and `process/*`: programs of a client, their output, and their end."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode

import pytest

from ferrule_testkit.processes import is_running


def shell(script: str, **params) -> dict:
    return {"command": ["sh", "-c", script], **params}


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def test_the_reply_tells_both_streams_and_the_exit_code(client):
    reply = client.call("command/exec", **shell("echo out; echo err >&2; exit 3"))
    assert reply == {"exitCode": 3, "stdout": "out\n", "stderr": "err\n"}


def test_variables_are_added_and_taken_away(client):
    script = 'echo "$FOO" "${HOME-none}"; pwd'
    params = shell(script, cwd="/usr", env={"FOO": "bar", "HOME": None})
    assert client.call("command/exec", **params)["stdout"] == "bar none\n/usr\n"


def test_secrets_of_the_server_are_not_handed_on(client):
    assert client.call("command/exec", **shell('echo "$SCRIPTED_KEY"'))["stdout"] == "\n"


def test_a_command_runs_in_the_sandbox_it_asks_for(client, tmp_path):
    script = f"echo x > {tmp_path}/outside; echo rc=$?"
    confined = client.call(
        "command/exec",
        **shell(script, sandboxPolicy={"type": "workspaceWrite", "excludeSlashTmp": True}),
    )
    assert confined["stdout"] != "rc=0\n"
    free = client.call("command/exec", **shell(script, sandboxPolicy={"type": "dangerFullAccess"}))
    assert free["stdout"] == "rc=0\n"
    profile = client.call(
        "command/exec", **shell("touch new; echo rc=$?"), permissionProfile=":read-only"
    )
    assert profile["stdout"] != "rc=0\n"


def test_a_command_whose_time_is_up_ends_with_124(client):
    reply = client.call("command/exec", **shell("echo first; sleep 600", timeoutMs=500))
    assert reply == {"exitCode": 124, "stdout": "first\n", "stderr": ""}


def test_output_beyond_the_cap_is_left_out(client):
    reply = client.call("command/exec", **shell("yes | head -c 5000; true", outputBytesCap=10))
    assert reply["stdout"] == "y\n" * 5
    assert reply["exitCode"] == 0
    script = "head -c 3000000 /dev/zero | tr '\\0' x"
    assert len(client.call("command/exec", **shell(script))["stdout"]) == 1024 * 1024
    reply = client.call("command/exec", **shell(script, disableOutputCap=True))
    assert len(reply["stdout"]) == 3_000_000


def test_a_conversation_with_a_program(client, refused):
    number = client.send(
        "command/exec",
        command=["cat"],
        processId="cat",
        streamStdin=True,
        streamStdoutStderr=True,
    )
    client.call("command/exec/write", processId="cat", deltaBase64=encoded("hello\n"))
    told = client.told("command/exec/outputDelta", processId="cat")
    assert told["stream"] == "stdout"
    assert b64decode(told["deltaBase64"]) == b"hello\n"
    with refused('duplicate active command/exec process id: "cat"'):
        client.call("command/exec", command=["true"], processId="cat")
    client.call("command/exec/write", processId="cat", closeStdin=True)
    assert client.reply(number) == {"exitCode": 0, "stdout": "", "stderr": ""}
    assert client.call("command/exec", command=["true"], processId="cat")["exitCode"] == 0


def test_streamed_output_stops_at_the_cap_and_says_so(client):
    reply = client.call(
        "command/exec",
        **shell("yes | head -c 5000", processId="y", streamStdoutStderr=True, outputBytesCap=6),
    )
    assert reply["stdout"] == ""
    told = client.told("command/exec/outputDelta", processId="y")
    assert b64decode(told["deltaBase64"]) == b"y\ny\ny\n"
    assert told["capReached"] is True


def test_a_terminal_has_a_size_that_can_be_changed(client):
    number = client.send(
        "command/exec",
        **shell("stty size; read x; stty size; sleep 600", processId="t", tty=True),
        size={"rows": 30, "cols": 90},
    )
    assert b64decode(client.told("command/exec/outputDelta")["deltaBase64"]) == b"30 90\r\n"
    client.call("command/exec/resize", processId="t", size={"rows": 10, "cols": 20})
    client.call("command/exec/write", processId="t", deltaBase64=encoded("\n"))
    seen = b""
    while b"10 20" not in seen:
        seen += b64decode(client.told("command/exec/outputDelta")["deltaBase64"])
    client.call("command/exec/terminate", processId="t")
    assert client.reply(number)["exitCode"] == 1


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"command": []}, "command must not be empty"),
        ({"command": ["true"], "env": {"A=B": "x"}}, "env holds 'A=B'"),
        ({"command": ["true"], "env": {"A": "x\0"}}, "env holds 'A'"),
        (
            {"command": ["true"], "tty": True},
            "command/exec tty or streaming requires a client-supplied processId",
        ),
        ({"command": ["true"], "size": {"rows": 1, "cols": 1}}, "`size` requires `tty: true`"),
        ({"command": ["true"], "disableTimeout": True, "timeoutMs": 5}, "cannot be combined"),
        ({"command": ["true"], "outputBytesCap": -1}, "Invalid request"),
        ({"command": ["true"], "sandboxPolicy": {"type": "some"}}, "unknown variant `some`"),
        ({"command": ["true"], "permissionProfile": ":some"}, "unknown permission profile"),
    ],
    ids=["empty", "variable", "nul", "unnamed", "size", "timeout", "cap", "policy", "profile"],
)
def test_what_makes_no_sense_is_refused(client, refused, params, words):
    with refused(words):
        client.call("command/exec", **params)


@pytest.mark.parametrize("method", ["write", "resize", "terminate"])
def test_a_program_that_does_not_run_is_named(client, refused, method):
    extra = {"write": {"closeStdin": True}, "resize": {"size": {"rows": 1, "cols": 1}}}
    with refused('no active command/exec for process id "nope"'):
        client.call(f"command/exec/{method}", processId="nope", **extra.get(method, {}))


def test_programs_end_with_their_client(connect):
    client = connect()
    script = "echo $$; (sleep 300 & echo $!); exec sleep 300"
    unconfined = {"type": "dangerFullAccess"}
    client.send(
        "command/exec",
        **shell(script, processId="s", streamStdoutStderr=True, sandboxPolicy=unconfined),
    )
    seen = b""
    while len(seen.split()) < 2:
        seen += b64decode(client.told("command/exec/outputDelta")["deltaBase64"])
    client.call("process/spawn", **shell(script, cwd="/", processHandle="p", tty=True))
    also = b""
    while len(also.split()) < 2:
        also += b64decode(client.told("process/outputDelta")["deltaBase64"])
    pids = [int(word) for word in (*seen.split(), *also.split())]
    assert all(map(is_running, pids))
    client.close()
    assert not any(map(is_running, pids))


def test_a_process_is_told_of_when_it_has_ended(client, refused):
    script = "read x; echo got $x; echo err >&2; exit 4"
    spawn = shell(script, cwd="/", processHandle="p", streamStdin=True)
    assert client.call("process/spawn", **spawn) == {}
    with refused("duplicate active process process handle"):
        client.call("process/spawn", **spawn)
    client.call("process/writeStdin", processHandle="p", deltaBase64=encoded("it\n"))
    told = client.told("process/exited", processHandle="p")
    assert (told["exitCode"], told["stdout"], told["stderr"]) == (4, "got it\n", "err\n")
    with refused("no active process"):
        client.call("process/kill", processHandle="p")


def test_a_process_can_be_killed(client):
    client.call("process/spawn", **shell("sleep 600", cwd="/", processHandle="p", timeoutMs=None))
    client.call("process/kill", processHandle="p")
    assert client.told("process/exited", processHandle="p")["exitCode"] == 137


def test_a_missing_program_is_named(client):
    reply = client.call("command/exec", command=["/no/such"])
    assert (reply["exitCode"], "/no/such" in reply["stderr"]) == (127, True)
    client.call("process/spawn", command=["/no/such"], cwd="/", processHandle="p")
    told = client.told("process/exited", processHandle="p")
    assert (told["exitCode"], "/no/such" in told["stderr"]) == (127, True)


def test_a_reader_that_is_slow_slows_the_command(client):
    script = f"head -c 20000000 /dev/zero; echo done > {os.devnull}"
    number = client.send(
        "command/exec",
        **shell(script, processId="z", streamStdoutStderr=True, disableOutputCap=True),
    )
    assert client.reply(number)["exitCode"] == 0
    sizes = [len(b64decode(message["params"]["deltaBase64"])) for message in client.notifications]
    assert sum(sizes) == 20_000_000
