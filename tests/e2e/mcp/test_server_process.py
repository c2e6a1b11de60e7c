"""`ferrule mcp-server` as the process that a client starts and ends."""

import json
import os
import queue
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.processes import is_running, survivors

PATIENCE_S = 120
needs_proc = pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
HANG = {"items": [message("partial")], "hang": True}
ASKING = {"prompt": "go", "approval-policy": "on-request"}
ESCALATED = [
    function_call(
        "exec_command",
        {
            "cmd": "echo hi > approved.txt",
            "sandbox_permissions": "require_escalated",
            "justification": "it is needed",
        },
        call_id="c1",
    )
]


class Process:
    """The command, spoken to in lines."""

    def __init__(self, process):
        self.process = process
        self.frames = queue.Queue()
        self._next = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.frames.put(json.loads(line))
        self.frames.put(None)

    def send(self, **frame):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self._next += 1
        self.send(id=self._next, method=method, params=params)
        return self._next

    def until(self, found):
        while (frame := self.frames.get(timeout=PATIENCE_S)) is not None:
            if found(frame):
                return frame
        raise AssertionError("the server ended")

    def event(self, type_):
        return self.until(
            lambda each: (
                each.get("method") == "codex/event" and each["params"]["msg"]["type"] == type_
            )
        )

    def hello(self, **capabilities):
        info = {"name": "tester", "version": "1"}
        number = self.ask(
            "initialize", protocolVersion="2025-11-25", capabilities=capabilities, clientInfo=info
        )
        self.until(lambda each: each.get("id") == number)
        self.send(method="notifications/initialized")

    def call(self, tool, **arguments):
        return self.ask("tools/call", name=tool, arguments=arguments)


@contextmanager
def started(home):
    with subprocess.Popen(
        home.command(["mcp-server"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home.workspace,
        env=home.environ,
    ) as process:
        try:
            yield Process(process)
        finally:
            process.kill()


def wait_until(found):
    deadline = time.monotonic() + PATIENCE_S
    while not (result := found()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return result


def nothing_left(home):
    wait_until(lambda: not survivors(f"FERRULE_HOME={home.path}"))


@needs_proc
@pytest.mark.parametrize(
    "way",
    ["stdin", *(pytest.param(name, marks=pytest.mark.slow) for name in ("SIGTERM", "SIGINT"))],
)
def test_whatever_ends_it_leaves_nothing_behind(ferrule_home, model_server, way):
    started_file = ferrule_home.workspace / "started"
    command = {"cmd": "touch started; sleep 1000", "yield_time_ms": 60_000}
    model_server.play([[function_call("exec_command", command)], [message("done")]])
    with started(ferrule_home) as server:
        server.hello()
        server.call("codex", prompt="go")
        server.event("exec_command_begin")
        wait_until(started_file.exists)

        if way == "stdin":
            server.process.stdin.close()
        else:
            server.process.send_signal(getattr(signal, way))

        assert server.process.wait(PATIENCE_S) == (130 if way == "SIGINT" else 0)
    nothing_left(ferrule_home)


@needs_proc
@pytest.mark.slow
def test_it_ends_though_nobody_reads_what_it_says(ferrule_home, model_server):
    many = [message("x" * 1000, id_=f"m{number}") for number in range(500)]
    model_server.play([many])
    process = subprocess.Popen(
        ferrule_home.command(["mcp-server"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ferrule_home.workspace,
        env=ferrule_home.environ,
    )
    with process:
        try:
            silent = Process.__new__(Process)
            silent.process, silent._next = process, 0
            info = {"name": "tester", "version": "1"}
            silent.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
            silent.send(method="notifications/initialized")
            silent.call("codex", prompt="go")
            wait_until(lambda: model_server.requests)

            process.stdin.close()

            process.wait(PATIENCE_S)
        finally:
            process.kill()
    nothing_left(ferrule_home)


@pytest.mark.slow
def test_what_is_asked_in_a_pipe_is_answered_before_the_end(ferrule_home):
    info = {"name": "tester", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    lines = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)

    run = ferrule_home.run("mcp-server", stdin=text, timeout=PATIENCE_S)

    answers = {each["id"]: each["result"] for each in map(json.loads, run.stdout.splitlines())}
    assert run.returncode == 0
    assert answers[1]["serverInfo"]["title"] == "Ferrule"
    assert [tool["name"] for tool in answers[2]["tools"]][:2] == ["codex", "codex-reply"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_python_client_drives_it_through_approvals(ferrule_home, model_server, mode):
    answers = iter(
        [
            ElicitResult(action="accept", content={"decision": "approved"}),
            ElicitResult(action="decline"),
            ElicitResult(action="cancel"),
        ]
    )
    ends = []

    async def elicit(context, params):
        ends.append((ferrule_home.workspace / "approved.txt").exists())
        return next(answers)

    async def main():
        command = ferrule_home.command(["mcp-server"])
        server = StdioServerParameters(
            command=command[0],
            args=command[1:],
            env=ferrule_home.environ,
            cwd=ferrule_home.workspace,
        )
        async with Client(server, mode=mode, elicitation_callback=elicit) as client:
            for turns in ([ESCALATED, [message("ran")]], [ESCALATED, [message("did not")]]):
                model_server.play(turns)
                done = await client.call_tool("codex", ASKING)
                ends.append(done.structured_content["content"])
            model_server.play([ESCALATED])
            stopped = await client.call_tool("codex", ASKING)
            ends.append((stopped.is_error, stopped.structured_content["content"]))

    anyio.run(main)
    stopped = (True, "The turn was interrupted.")
    assert ends == [False, "ran", True, "did not", True, stopped]


@needs_proc
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_fifty_calls_leave_no_descriptors_and_no_children(ferrule_home, model_server):
    def counts(pid):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        # What has ended and came back is taken at the end of the next command, which is not asked.
        living = [child for child in children if is_running(int(child))]
        return len(os.listdir(f"/proc/{pid}/fd")), len(living)

    echo = [function_call("exec_command", {"cmd": "echo hi"})]
    model_server.play([each for _ in range(62) for each in (echo, [message("done")])])
    with started(ferrule_home) as server:
        server.hello()

        def run():
            number = server.call("codex", prompt="go")
            result = server.until(lambda each: each.get("id") == number)["result"]
            assert result["structuredContent"]["content"] == "done"

        for _ in range(12):  # until as many threads are open as ever will be
            run()
        before = counts(server.process.pid)
        for _ in range(50):
            run()
        # A call that left one behind would make it 50 more.
        wait_until(lambda: counts(server.process.pid)[0] <= before[0] + 4)
        wait_until(lambda: counts(server.process.pid)[1] <= before[1] + 4)
        server.process.stdin.close()
        assert server.process.wait(PATIENCE_S) == 0
    nothing_left(ferrule_home)
