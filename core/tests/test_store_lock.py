"""A thread has one writer at a time, and a killed writer neither blocks it nor loses its word."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule.ids import uuid7
from ferrule.store import JsonlStore
from ferrule_hookspecs.errors import ThreadBusyError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.store import ThreadFilter

WRITER = """
import sys, time
from pathlib import Path
from ferrule.store import JsonlStore
from ferrule_hookspecs.plugins import PluginContext

store = JsonlStore(PluginContext(home=Path(sys.argv[1]), config={}))
writer = store.open(sys.argv[2])
print("ready", flush=True)
if sys.argv[3] == "write":
    while True:
        record = writer.append("event_msg", {"type": "note", "text": "ä" * 300})
        print(record["ordinal"], flush=True)
sys.stdin.read()
writer.close()
"""


RIVAL = """
import sys
from pathlib import Path
from ferrule.store import JsonlStore
from ferrule_hookspecs.errors import ThreadBusyError
from ferrule_hookspecs.plugins import PluginContext

store, written = JsonlStore(PluginContext(home=Path(sys.argv[1]), config={})), 0
while written < 40:
    try:
        writer = store.open(sys.argv[2])
    except ThreadBusyError:
        continue
    writer.append("event_msg", {"type": "note"})
    writer.close()
    written += 1
"""


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def store(home):
    return JsonlStore(PluginContext(home=home, config={}))


@pytest.fixture
def thread_id(store):
    thread_id = uuid7()
    writer = store.create(thread_id, created_at=0)
    writer.append("session_meta", {"id": thread_id})
    writer.close()
    return thread_id


@pytest.fixture
def start_writer(home, thread_id):
    """Starts another process that has the thread open."""
    started = []

    def start(mode):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(home), thread_id, mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def lock_files(home):
    return [*(home / "locks").iterdir()]


def test_a_second_writer_is_told_who_the_first_is(store, thread_id):
    first = store.open(thread_id)
    with pytest.raises(
        ThreadBusyError,
        match=rf"thread {thread_id} already has an active writer \(pid {os.getpid()}\)",
    ):
        store.open(thread_id)
    first.close()
    store.open(thread_id).close()


def test_a_writer_in_another_process_counts_too(store, home, thread_id, start_writer):
    other = start_writer("hold")
    for use in (store.open, store.archive, store.delete, lambda id_: store.set_name(id_, "x")):
        with pytest.raises(ThreadBusyError, match=rf"pid {other.pid}"):
            use(thread_id)
    assert len(store.read(thread_id)) == 1
    other.communicate("")
    store.open(thread_id).close()
    assert lock_files(home) == []


def test_a_killed_writer_gives_the_lock_back(store, home, thread_id, start_writer):
    other = start_writer("hold")
    other.send_signal(signal.SIGKILL)
    other.wait()
    store.open(thread_id).close()
    assert lock_files(home) == []


@pytest.mark.parametrize("sweep", ["rebuild", "list"])
def test_a_listing_removes_the_locks_of_the_dead_only(store, home, thread_id, sweep):
    locks = home / "locks"
    (locks / "dead.lock").write_text("999999")
    writer = store.open(thread_id)
    store.rebuild() if sweep == "rebuild" else store.list(ThreadFilter())
    assert lock_files(home) == [locks / f"{thread_id}.lock"]
    with pytest.raises(ThreadBusyError):
        store.open(thread_id)
    writer.close()


def test_rivals_that_open_and_close_all_the_time_never_write_at_once(store, home, thread_id):
    """Two writers at once would give an ordinal twice. The lock file comes and goes meanwhile."""
    command = [sys.executable, "-c", RIVAL, str(home), thread_id]
    rivals = [subprocess.Popen(command) for _ in range(3)]
    while any(rival.poll() is None for rival in rivals):
        store.list(ThreadFilter())  # takes away locks nobody holds
    assert [rival.wait(timeout=120) for rival in rivals] == [0, 0, 0]
    ordinals = [record["ordinal"] for record in store.read(thread_id)]
    assert ordinals == list(range(121))
    assert lock_files(home) == []


def test_a_failed_open_gives_the_lock_back(store, home, thread_id):
    Path(store.find(thread_id).path).write_bytes(b"")
    with pytest.raises(Exception, match="is empty"):
        store.open(thread_id)
    assert lock_files(home) == []


def test_a_kill_at_any_moment_loses_nothing_acknowledged(store, thread_id, start_writer):
    """Twenty writers in a row, each killed while it writes; each goes on where the last ended."""
    chance = random.Random(7)
    acknowledged = 0
    for _ in range(20):
        process = start_writer("write")
        printed = "".join(process.stdout.readline() for _ in range(chance.randrange(60)))
        process.send_signal(signal.SIGKILL)
        printed += process.stdout.read()
        numbers = printed.split("\n")[:-1]  # a number that was cut acknowledges nothing
        acknowledged = max([acknowledged, *map(int, numbers)])
        ordinals = [record["ordinal"] for record in store.read(thread_id)]
        assert ordinals == list(range(len(ordinals)))
        assert ordinals[-1] >= acknowledged
    assert acknowledged > 100
    writer = store.open(thread_id)
    assert writer.append("event_msg", {"type": "note"})["ordinal"] == len(ordinals)
    writer.close()
    assert store.inspect(thread_id).damaged == ()
