"""The notify program is told about a complete turn, and never stays behind."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys

import anyio
import pytest

from ferrule_hookspecs import PluginContext
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.hooks import Notification
from ferrule_notify.hooks import ferrule_notify
from ferrule_notify.program import NotifyProgramError, run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs here are shell scripts")
TO_FILE = ["bash", "-c", 'printf %s "$1" > told.json', "x"]


@pytest.fixture
def notify(tmp_path):
    def send(program, **changes):
        facts = {"input_messages": ("do it",), "last_message": "done", **changes}
        kind = facts.pop("kind", "turn_complete")
        notification = Notification(kind, "thread", "turn", str(tmp_path), **facts)
        config = {} if program is None else {"notify": program}
        context = PluginContext(home=tmp_path, config=config, environ=dict(os.environ))
        anyio.run(ferrule_notify, notification, context)
        told = tmp_path / "told.json"
        return told.read_text() if told.exists() else None

    return send


def test_the_program_gets_the_facts_of_the_turn_in_order(notify, tmp_path):
    assert notify(TO_FILE) == (
        '{"type":"agent-turn-complete","thread-id":"thread","turn-id":"turn",'
        f'"cwd":"{tmp_path}","client":"ferrule_exec","input-messages":["do it"],'
        '"last-assistant-message":"done"}'
    )


def test_a_turn_without_a_message_says_so(notify):
    assert json.loads(notify(TO_FILE, last_message=None))["last-assistant-message"] is None


def test_other_front_ends_are_named(notify):
    assert json.loads(notify(TO_FILE, source="appServer"))["client"] == "ferrule_appServer"


@pytest.mark.parametrize("text", ["x" * 300_000, "\N{GRINNING FACE}" * 60_000, "\x01" * 300_000])
def test_texts_too_long_for_an_argument_are_cut(notify, text):
    told = json.loads(notify(TO_FILE, last_message=text, input_messages=(text, "short")))
    assert told["last-assistant-message"].endswith("…")
    assert told["input-messages"][1] == "short"


def test_text_that_cannot_be_encoded_does_not_stop_the_message(notify):
    assert json.loads(notify(TO_FILE, last_message="a\ud800b"))["last-assistant-message"] == "a?b"


def test_nothing_runs_without_configuration_or_for_approvals(notify):
    assert notify(None) is None
    assert notify(TO_FILE, kind="approval_needed") is None


@pytest.mark.parametrize("program", ["bell", [1], ["ok", 2], {"a": 1}])
def test_a_wrong_configuration_is_named(notify, program):
    with pytest.raises(ConfigError, match=r"notify in config\.toml must be"):
        notify(program)


def test_a_missing_program_is_named(notify):
    with pytest.raises(NotifyProgramError, match="'/no/such/program' could not be started"):
        notify(["/no/such/program"])


def test_a_program_that_takes_too_long_is_killed(tmp_path):
    async def too_slow():
        return await run(["sleep", "60"], cwd=str(tmp_path), environ=os.environ, grace_s=0.05)

    assert anyio.run(too_slow) is None


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd_open")
def test_a_cancelled_turn_takes_the_program_and_its_children_along(tmp_path):
    fifo = tmp_path / "ready"
    os.mkfifo(fifo)
    script = f"sleep 60 & echo $$ $! > {fifo}; wait"

    async def cancelled():
        async with anyio.create_task_group() as group:

            async def program():
                await run(["sh", "-c", script], cwd=str(tmp_path), environ=os.environ)

            group.start_soon(program)
            told = await anyio.to_thread.run_sync(fifo.read_text)
            watched = [os.pidfd_open(int(pid)) for pid in told.split()]
            group.cancel_scope.cancel()
        return watched

    for descriptor in anyio.run(cancelled):
        ended, _, _ = select.select([descriptor], [], [], 30)
        os.close(descriptor)
        assert ended


def test_the_hook_module_loads_nothing():
    code = "import ferrule_notify.hooks, sys; print('anyio' in sys.modules, 'json' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]
