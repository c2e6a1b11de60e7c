"""Thousands of messages, right and wrong, from one client: the server and its others live on.

They are made from the published schema by a seed; `FERRULE_FUZZ_SEED` takes another, and repeats
one. What is carried out by chance is harmless and stays in the test's folder.
"""

from __future__ import annotations

import json
import os
import queue
import random
import re
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from itertools import count

import pytest

from ferrule_testkit.app_server_process import AppServerProcess
from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.processes import survivors
from ferrule_testkit.protocol_frames import BUNDLE, FrameChecker, FrameError
from ferrule_testkit.protocol_fuzz import Fuzzer
from ferrule_testkit.wires import StdioWire, wire_to

pytestmark = pytest.mark.skipif(not BUNDLE.exists(), reason="the published schema is not here")

SEED = int(os.environ.get("FERRULE_FUZZ_SEED", "945675"))
PATIENCE_S = 120
LIMIT = 200_000
LISTEN = {"stdio": "stdio://", "unix": "unix://{}/s", "websocket": "ws://127.0.0.1:0"}
LISTEN |= {"http": "http://127.0.0.1:0"}
SCHEME = {"websocket": "ws"}
CODES = {-32600, -32601, -32602, -32603, -32700, -32001}
BROKEN = re.compile(r"\w+(Error|Exception|Group): ")
SANDBOX_KINDS = 8
GROWTH_KIB = 150 * 1024
TABLES = "\n".join(
    f"[transports.{name}]\nmax_message_bytes = {LIMIT}\nconnections_per_second = 10000"
    for name in ("websocket", "unix", "http")
)
TABLES += "\nrequests_per_second = 10000"  # of http, which comes last; a fast machine sends more
POLICIES = [{"type": "readOnly"}, {"type": "workspaceWrite"}, {"type": "dangerFullAccess"}]
CAPABILITIES = {"experimentalApi": True}


class Talk:
    """One connection: what was asked and answered on it, every frame checked."""

    def __init__(self, wire):
        self.wire = wire
        self.faults = []
        self.owed = Counter()
        self.frames = []
        self._sent = {}
        self._checker = FrameChecker()
        self._numbers = count(1)
        self.has_ended = False

    def send(self, sent):
        if sent.key and not sent.is_long:
            self.owed[sent.key] += 1
        self._sent[sent.key] = sent.raw[:2000]
        if sent.method:
            self._checker.sent(json.loads(sent.raw))
        return self.wire.send(sent.raw)

    def take(self, seconds=0.0):
        """Take one frame; returns None where there is none now, False where there never will be."""
        try:
            raw = (
                self.wire.frames.get(timeout=seconds) if seconds else self.wire.frames.get_nowait()
            )
        except queue.Empty:
            return None
        if raw is None:
            self.has_ended = True
            return False
        frame = json.loads(raw, parse_constant=lambda text: self.faults.append(f"{text} in {raw}"))
        self.frames.append(frame)
        try:
            self._checker.received(frame)
        except FrameError as error:
            self.faults.append(str(error))
        if "method" not in frame:
            self._settle(frame)
        return frame

    def _settle(self, frame):
        key = json.dumps(frame["id"])
        self.owed[key] -= 1
        if self.owed[key] < 0:
            self.faults.append(f"an answer to nothing: {str(frame)[:300]}")
        error = frame.get("error")
        if error is None:
            return
        if error["code"] not in CODES or not error["message"]:
            self.faults.append(f"no proper error: {error}")
        if error["code"] == -32603 and BROKEN.search(error["message"]):
            self.faults.append(f"a fault inside: {error}")
        if key == "null" and error["code"] not in (-32700, -32600):
            self.faults.append(f"the wrong error for what is no request: {error}")

    def settle(self):
        """Wait until all that was asked is answered."""
        until = time.monotonic() + PATIENCE_S
        while any(self.owed.values()) and time.monotonic() < until:
            if self.take(1.0) is False:
                break
        left = {key: number for key, number in self.owed.items() if number}
        if left:
            asked = [f"{key} ({self._sent.get(key)})" for key in left]
            self.faults.append(f"not answered: {asked[:10]}")

    def call(self, method, params):
        number = f"own-{next(self._numbers)}"
        body = {"id": number, "method": method, "params": params}
        self.owed[json.dumps(number)] += 1
        self._checker.sent(body)
        assert self.wire.send(json.dumps(body).encode())
        return self.until(lambda frame: frame.get("id") == number)

    def until(self, found):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            frame = self.take(1.0)
            assert frame is not False, "the connection is over"
            if frame and found(frame):
                return frame
        raise AssertionError("no answer")

    def is_over(self):
        """Whether the connection is closed, now or within a moment."""
        until = time.monotonic() + PATIENCE_S
        number = "still-there"
        body = {"id": number, "method": "thread/loaded/list", "params": {}}
        self.owed[json.dumps(number)] += 1
        self._checker.sent(body)
        self.wire.send(json.dumps(body).encode())
        while time.monotonic() < until:
            frame = self.take(1.0)
            if frame is False:
                return True
            if frame and frame.get("id") == number:
                return False
        raise AssertionError("neither closed nor answered")

    def initialize(self):
        info = {"name": "fuzzer", "version": "1"}
        self.call("initialize", {"clientInfo": info, "capabilities": CAPABILITIES})


class Neighbour(Talk):
    """A client that behaves, on a connection of its own."""

    def begin(self, workspace):
        self.initialize()
        options = {"cwd": str(workspace), "approvalPolicy": "never", "model": "gpt-5.5"}
        reply = self.call("thread/start", options)
        self.thread = reply["result"]["thread"]["id"]
        self.slowest = 0.0
        for policy in POLICIES:  # their helpers stay
            self.call("command/exec", {"command": ["true"], "sandboxPolicy": policy})

    def be_served(self):
        """One turn, from the request to its end."""
        begun = time.monotonic()
        content = [{"type": "text", "text": "from the neighbour"}]
        reply = self.call("turn/start", {"threadId": self.thread, "input": content})
        turn = reply["result"]["turn"]["id"]
        done = self.until(
            lambda frame: (
                frame.get("method") == "turn/completed" and frame["params"]["turn"]["id"] == turn
            )
        )
        assert done["params"]["turn"]["status"] == "completed", done
        self.slowest = max(self.slowest, time.monotonic() - begun)

    def close_all(self):
        """Put every thread away, so that what is held can be compared."""
        self.be_served()
        for thread in self.call("thread/loaded/list", {"limit": 1000})["result"]["data"]:
            if thread != self.thread:
                self.call("thread/delete", {"threadId": thread})


@pytest.fixture
def model(model_server):
    """Answers turns, and calls a command in every third one."""
    call = [function_call("exec_command", {"cmd": "echo hi"})]
    turns = [message("done")]
    routes = [{"contains": "from the neighbour", "turns": [{"items": turns, "times": 2000}]}]
    model_server.play({"routes": routes, "turns": [turns, call, turns] * 500})
    return model_server


@contextmanager
def serving(home, transport, folder):
    home.configure(top='model_reasoning_effort = "low"', tables=TABLES)
    neighbour = f"unix://{folder}/n" if transport == "stdio" else None
    fuzzed = LISTEN[transport].format(folder)
    listen = [fuzzed, neighbour] if neighbour else [fuzzed]
    with AppServerProcess(home, *listen) as server, ExitStack() as stack:
        url = neighbour or server.urls[SCHEME.get(transport, transport)]

        def connect_neighbour():
            return stack.enter_context(closing(wire_to(url)))

        def connect():
            return StdioWire(server.process) if transport == "stdio" else connect_neighbour()

        yield server, connect, connect_neighbour


def learn(fuzzer, talk, since):
    """Take over the ids of threads and turns that came up."""
    for frame in talk.frames[since:]:
        result = frame.get("result")
        if isinstance(result, dict) and isinstance(result.get("turn"), dict):
            fuzzer.turns.append(result["turn"]["id"])
        if isinstance(result, dict) and isinstance(result.get("thread"), dict):
            fuzzer.threads.append(result["thread"]["id"])
    return len(talk.frames)


class Attack:
    """One client that sends whatever the fuzzer makes, over several connections in turn."""

    def __init__(self, fuzzer, connect, *, is_lasting):
        self.fuzzer = fuzzer
        self.faults = []
        self.answered = 0
        self._connect = connect
        self._is_lasting = is_lasting
        self._seen = 0
        self._talk = Talk(connect())

    def run(self, number, neighbour):
        stretch = number if self._is_lasting else number // 5
        for at in range(number):
            if at and at % stretch == 0:
                self._begin_again()
            if at % stretch == 50:
                self._talk.initialize()
            self._send(self.fuzzer.message())
            if at % 100 == 99:
                neighbour.be_served()
        self._end()

    def _send(self, sent):
        if sent.is_long:
            self._send_too_much(sent)
        elif not self._talk.send(sent):
            self.faults.append(f"refused ({self._talk.wire.trouble}): {sent.raw[:500]}")
            self._begin_again()
        while self._talk.take():
            pass
        self._seen = learn(self.fuzzer, self._talk, self._seen)

    def _send_too_much(self, sent):
        """It is refused; WebSockets are closed for it."""
        self._talk.settle()
        self._talk.send(sent)
        if self._talk.is_over():
            self._begin_again()
            self._talk.initialize()

    def _begin_again(self):
        self._end()
        self._talk, self._seen = Talk(self._connect()), 0

    def _end(self):
        if not self._talk.has_ended:
            self._talk.settle()
        self.faults += self._talk.faults
        self.answered += len(self._talk.frames)
        if not self._is_lasting:
            self._talk.wire.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [500, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("transport", LISTEN)
def test_any_message_is_answered(ferrule_home, model, socket_folder, transport, number):
    print(f"FERRULE_FUZZ_SEED={SEED}")
    zone = ferrule_home.workspace / "zone"
    zone.mkdir()
    is_lasting = transport == "stdio"
    is_framed = transport in ("unix", "websocket")
    fuzzer = Fuzzer(
        str(zone),
        random.Random(f"{SEED}-{transport}"),
        limit=0 if is_lasting else LIMIT,
        bytes_too=not is_framed,
    )
    with serving(ferrule_home, transport, socket_folder) as (server, connect, connect_neighbour):
        neighbour = Neighbour(connect_neighbour())
        neighbour.begin(ferrule_home.workspace)
        neighbour.be_served()
        attack = Attack(fuzzer, connect, is_lasting=is_lasting)
        Attack(fuzzer, connect_neighbour, is_lasting=False).run(100, neighbour)
        neighbour.close_all()
        before = server.footprint()
        attack.run(number, neighbour)
        neighbour.close_all()
        after = held_in_the_end(server, before)
        print(f"{number} messages, {attack.answered} frames, neighbour {neighbour.slowest:.2f} s,")
        print(f"memory {before.resident_kib} -> {after.resident_kib} KiB")
        assert not attack.faults, "\n".join(attack.faults)
        assert neighbour.faults == []
        assert server.process.poll() is None, server.stderr
        assert [line for line in server.stderr.splitlines() if "listening on" not in line][1:] == []
        assert after.children.items() <= before.children.items()
        assert len(after.descriptors) <= allowed(before, after), after.descriptors
        assert after.resident_kib - before.resident_kib < GROWTH_KIB
        neighbour.wire.close()
        server.process.terminate()
        assert server.process.wait(120) == 0
        assert "Traceback" not in server.stderr
    assert survivors(f"FERRULE_HOME={ferrule_home.path}") == {}


def allowed(before, now):
    """How many descriptors may be open: as before, and three for each kind of sandbox since."""
    filters = [
        sum("ferrule-filter" in each for each in footprint.descriptors)
        for footprint in (before, now)
    ]
    assert filters[1] <= SANDBOX_KINDS
    return len(before.descriptors) + 3 * (filters[1] - filters[0])


def held_in_the_end(server, before):
    """What the server holds once what is under way has ended; as it stands if it never does."""
    until = time.monotonic() + 120
    while True:
        now = server.footprint()
        is_down = now.children.keys() <= before.children.keys()
        is_down = is_down and len(now.descriptors) <= allowed(before, now)
        if is_down or time.monotonic() > until:
            return now
        time.sleep(0.1)
