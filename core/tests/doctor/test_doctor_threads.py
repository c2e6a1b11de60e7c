"""Damaged rollouts, a damaged index and old locks: found without a change, and repaired."""

import hashlib

import pytest

from ferrule.store import JsonlStore
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.store import ThreadFilter

ONLY = ("--only", "threads")
IDS = [f"0199b2c0-0000-7000-8000-00000000000{number}" for number in range(3)]


@pytest.fixture
def store(ferrule_home):
    """A store with three threads of three records each."""
    store = JsonlStore(PluginContext(ferrule_home.path, {}))
    for thread_id in IDS:
        writer = store.create(thread_id, created_at=1_760_000_000.0)
        writer.append("session_meta", {"id": thread_id, "cwd": "/w", "model_provider": "p"})
        writer.append("event_msg", {"type": "user_message", "message": f"hello {thread_id[-1]}"})
        writer.append("event_msg", {"type": "agent_message", "message": "hello"})
        writer.close()
    store.list(ThreadFilter())
    return store


@pytest.fixture
def rollout(store, ferrule_home):
    """The file of the first thread."""
    return next(ferrule_home.path.glob(f"sessions/**/*{IDS[0]}.jsonl"))


def picture(folder):
    """Every file below a folder by its content."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for part in ("sessions", "archived_sessions", "locks", "repaired")
        for path in (folder / part).rglob("*")
        if path.is_file()
    } | {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.glob("index.sqlite*")
        if not path.name.endswith(".lock")
    }


def test_threads_and_index_that_agree_are_sound(doctor, store):
    report = doctor(*ONLY)

    assert {check["status"] for check in report.document["checks"]} == {"ok"}
    assert "3 threads" in report["threads.rollouts"]["detail"]
    assert "knows all 3" in report["threads.index"]["detail"]
    assert "repairs" not in report.document


def test_a_torn_last_line_is_found_and_cut_off_with_a_copy_kept(doctor, rollout, ferrule_home):
    intact = rollout.read_bytes()
    torn = b'{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":3,"type":"event_m'
    rollout.write_bytes(intact + torn)
    before = picture(ferrule_home.path)

    report = doctor(*ONLY)
    assert report.status("threads.ends") == "warn"
    assert report["threads.ends"]["mend"] == "ferrule doctor --repair"
    assert report.returncode == 0
    assert picture(ferrule_home.path) == before

    report = doctor(*ONLY, "--repair")
    assert report.status("threads.ends") == "ok"
    assert rollout.read_bytes() == intact
    [kept] = (ferrule_home.path / "repaired").iterdir()
    assert kept.read_bytes() == torn
    assert kept.stat().st_mode & 0o777 == 0o600
    assert (
        f"cut the torn last line off {rollout}; what was cut is in {kept}"
        in (report.document["repairs"])
    )


def test_a_whole_last_record_without_its_end_is_kept(doctor, rollout, ferrule_home):
    intact = rollout.read_bytes()
    rollout.write_bytes(intact.removesuffix(b"\n"))

    assert doctor(*ONLY).status("threads.ends") == "warn"
    report = doctor(*ONLY, "--repair")

    assert rollout.read_bytes() == intact
    assert not (ferrule_home.path / "repaired").exists()
    assert any("whose record is whole" in text for text in report.document["repairs"])


@pytest.mark.parametrize("tail", [b"\0" * 512, b'{"a', b"\xff\xfe{", b"garbage"])
def test_no_intact_record_is_ever_lost(doctor, rollout, tail):
    lines = rollout.read_bytes().splitlines(keepends=True)
    rollout.write_bytes(b"".join([lines[0], b"{broken\n", *lines[1:]]) + tail)

    doctor(*ONLY, "--repair")

    left = rollout.read_bytes().splitlines(keepends=True)
    assert [line for line in left if line in lines] == lines


def test_damaged_lines_inside_are_named_and_left_alone(doctor, rollout):
    lines = rollout.read_bytes().splitlines(keepends=True)
    damaged = b"".join([lines[0], b"{broken\n", *lines[1:]])
    rollout.write_bytes(damaged)

    report = doctor(*ONLY, "--repair")

    assert report.status("threads.records") == "warn"
    assert f"{rollout} line 2" in report["threads.records"]["detail"]
    assert rollout.read_bytes() == damaged


def test_a_file_that_holds_no_thread_fails(doctor, rollout):
    rollout.write_bytes(b"")

    report = doctor(*ONLY)

    assert report.returncode == 1
    assert report.status("threads.rollouts") == "fail"
    assert str(rollout) in report["threads.rollouts"]["detail"]


def test_rows_without_a_file_and_files_without_a_row_are_found(doctor, rollout, ferrule_home):
    other = rollout.with_name(rollout.name.replace(IDS[0], IDS[0][:-1] + "9"))
    other.write_bytes(rollout.read_bytes())
    rollout.unlink()
    before = picture(ferrule_home.path)

    found = doctor(*ONLY)["threads.index"]
    assert found["status"] == "warn"
    assert f"{other} not in the index" in found["detail"]
    assert f"{rollout} in the index without a file" in found["detail"]
    assert picture(ferrule_home.path) == before

    report = doctor(*ONLY, "--repair")
    assert report.status("threads.index") == "ok"
    assert "built the index anew from 3 threads" in report.document["repairs"]


def test_an_index_that_is_no_database_is_built_anew(doctor, store, ferrule_home):
    (ferrule_home.path / "index.sqlite").write_bytes(b"this is no database at all" * 100)

    assert doctor(*ONLY).status("threads.index") == "warn"
    assert doctor(*ONLY, "--repair").status("threads.index") == "ok"
    assert len(store.list(ThreadFilter())) == 3


def test_locks_of_killed_processes_go_and_held_ones_stay(doctor, store, rollout, ferrule_home):
    locks = ferrule_home.path / "locks"
    (locks / f"{IDS[1]}.lock").write_text("999999")
    writer = store.open(IDS[0])
    with open(rollout, "ab") as file:
        file.write(b'{"half')
    try:
        report = doctor(*ONLY)
        assert report["threads.locks"]["detail"].count(".lock") == 1
        assert report.status("threads.ends") == "ok", "it is being written"

        report = doctor(*ONLY, "--repair")
        assert "removed 1 locks of killed processes" in report.document["repairs"]
        assert any("already has an active writer" in text for text in report.document["repairs"])
        assert rollout.read_bytes().endswith(b'{"half')
    finally:
        writer.close()
    assert [path.name for path in locks.iterdir()] == []


def test_another_store_is_left_alone(doctor, store, ferrule_home):
    ferrule_home.configure(top='store = "elsewhere"')

    report = doctor(*ONLY, "--repair")

    assert {check["status"] for check in report.document["checks"]} == {"skip"}
    assert report.document["repairs"] == ["nothing was repaired: another plugin keeps the threads"]
