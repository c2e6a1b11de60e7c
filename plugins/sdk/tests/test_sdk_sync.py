"""The face without `async`: the same names, over every channel."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest
from pydantic import BaseModel

from ferrule_sdk import ConnectionLostError
from ferrule_sdk.sync import Ferrule
from ferrule_testkit.model_items import function_call, message

ESCALATED = {"cmd": "echo ran", "sandbox_permissions": "require_escalated", "justification": "why"}

SLEEPER = """
from ferrule_sdk.sync import Ferrule
with Ferrule(config={"approval_policy": "never"}) as f:
    for event in f.thread().stream("Sleep"):
        if event["method"] == "item/commandExecution/outputDelta":
            print("asleep", flush=True)
"""


class Finding(BaseModel):
    file: str


@pytest.fixture
def opened(clients):
    def make(**options) -> Ferrule:
        options.setdefault("cwd", clients.home.workspace)
        if clients.server is not None:
            return Ferrule(channel=clients.url, **options)
        place = {"home": clients.home.path, "environ": clients.home.environ}
        return Ferrule(channel=clients.channel, **place, **options)

    return make


def test_a_conversation(opened, clients, model_server):
    asked = []
    before = threading.active_count()

    def approve(request):
        asked.append(request.command)
        return "accept"

    with opened(approvals=approve) as f:
        thread = f.thread(approval_policy="on-request")
        model_server.play([[function_call("exec_command", ESCALATED)], [message("It ran")]])
        assert thread.run("Run it").text == "It ran"

        model_server.play([[message('{"file": "a.py"}')]])
        assert thread.run("Look", schema=Finding).parsed == Finding(file="a.py")

        model_server.play([[message("One word after the other")]])
        methods = [event["method"] for event in thread.stream("Speak")]
        assert methods[0] == "turn/started"
        assert methods[-1] == "turn/completed"

        sleep = {"cmd": "echo on; sleep 1000"}
        model_server.play([[function_call("exec_command", sleep)]])
        turn = thread.start("Sleep", approval_policy="never")
        for event in turn:
            if event["method"] == "item/commandExecution/outputDelta":
                turn.interrupt()
        assert turn.result().status == "interrupted"
        assert [each["id"] for each in f.threads()] == [thread.id]

    with opened() as f:
        thread = f.resume(thread.id)
        model_server.play([[message("Again")]])
        assert "".join(thread.start("Go on").text_deltas()) == "Again"

    assert "echo ran" in asked[0]
    assert clients.leftovers() == []
    assert threading.active_count() <= before + 1  # a worker of the callback may rest a while


@pytest.mark.parametrize("clients", ["in-process"], indirect=True)
def test_leaving_a_stream_early_interrupts_its_turn(opened, model_server):
    model_server.play([[function_call("exec_command", {"cmd": "echo on; sleep 1000"})]])

    with opened(config={"approval_policy": "never"}) as f:
        thread = f.thread()
        for event in thread.stream("Sleep"):
            if event["method"] == "item/commandExecution/outputDelta":
                break
        assert [turn["status"] for turn in thread.read()["turns"]] == ["interrupted"]


@pytest.mark.parametrize("clients", ["in-process"], indirect=True)
def test_what_is_called_after_it_was_closed(opened):
    with opened() as f:
        pass

    with pytest.raises(ConnectionLostError, match="not open"):
        f.models()


@pytest.mark.parametrize("clients", ["in-process"], indirect=True)
def test_what_the_block_raises_comes_out_bare(opened):
    with pytest.raises(KeyError, match="mine"), opened():
        raise KeyError("mine")


@pytest.mark.parametrize("clients", ["in-process"], indirect=True)
def test_ctrl_c_ends_everything(clients, model_server):
    model_server.play([[function_call("exec_command", {"cmd": "echo on; sleep 1000"})]])
    environ = {**clients.home.environ, "FERRULE_HOME": str(clients.home.path)}

    with subprocess.Popen(
        [sys.executable, "-c", SLEEPER],
        env=environ,
        cwd=clients.home.workspace,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout.readline() == "asleep\n"
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=120)

    assert said.rstrip().endswith("KeyboardInterrupt")
    assert program.returncode == -signal.SIGINT
    assert clients.leftovers() == []
