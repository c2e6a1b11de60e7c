"""A rollout keeps what was acknowledged, in lines anybody can read, whatever happens to its end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule.ids import uuid7, uuid7_seconds
from ferrule.store import JsonlStore
from ferrule_hookspecs.errors import StoreError, ThreadNotFoundError
from ferrule_hookspecs.plugins import PluginContext

BIRTH = 1_795_294_437.368  # 2026-11-21T20:53:57Z


@pytest.fixture
def store(tmp_path):
    return JsonlStore(PluginContext(home=tmp_path / "home", config={}))


def write_thread(store, *texts):
    thread_id = uuid7()
    writer = store.create(thread_id, created_at=BIRTH)
    writer.append("session_meta", {"id": thread_id, "cwd": "/w"})
    for text in texts:
        writer.append("event_msg", {"type": "note", "text": text})
    writer.close()
    return thread_id, Path(writer.path)


def texts(store, thread_id):
    return [record["payload"].get("text") for record in store.read(thread_id)[1:]]


def append(store, thread_id, text):
    writer = store.open(thread_id)
    record = writer.append("event_msg", {"type": "note", "text": text})
    writer.close()
    return record


def test_a_thread_lies_under_the_day_of_its_birth_and_only_its_owner_reads_it(store, tmp_path):
    thread_id, path = write_thread(store, "one")
    assert path == (
        tmp_path / f"home/sessions/2026/11/21/rollout-2026-11-21T20-53-57-{thread_id}.jsonl"
    )
    assert path.stat().st_mode & 0o777 == 0o600
    for folder in [*path.parents][:5]:
        assert folder.stat().st_mode & 0o777 == 0o700, folder


def test_a_line_holds_time_ordinal_type_and_payload(store):
    _, path = write_thread(store, "grüße\nzeile zwei\u2028drei")
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    records = [json.loads(line) for line in lines]
    assert [record["ordinal"] for record in records] == [0, 1]
    assert list(records[1]) == ["timestamp", "ordinal", "type", "payload"]
    assert records[1]["payload"]["text"] == "grüße\nzeile zwei\u2028drei"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", records[1]["timestamp"])


def test_nothing_is_stored_before_the_first_record(store, tmp_path):
    writer = store.create(uuid7(), created_at=BIRTH)
    assert not (tmp_path / "home/sessions").exists()
    writer.close()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_first_record_must_be_session_metadata(store):
    writer = store.create(uuid7(), created_at=BIRTH)
    with pytest.raises(StoreError, match="must be session_meta, not event_msg"):
        writer.append("event_msg", {"type": "note"})
    writer.close()


def test_a_closed_writer_refuses_records_and_closes_twice_in_peace(store):
    writer = store.create(uuid7(), created_at=BIRTH)
    writer.append("session_meta", {})
    writer.sync()
    writer.close()
    writer.close()
    with pytest.raises(StoreError, match="is closed"):
        writer.append("event_msg", {})


def test_ordinals_go_on_after_reopening(store):
    thread_id, _ = write_thread(store, "one", "two")
    assert append(store, thread_id, "three")["ordinal"] == 3
    assert texts(store, thread_id) == ["one", "two", "three"]


def test_text_that_is_not_unicode_comes_back_as_it_was(store):
    thread_id, path = write_thread(store, "undecodable \udcff end")
    path.read_bytes().decode()
    assert texts(store, thread_id) == ["undecodable \udcff end"]


@pytest.mark.parametrize("thread_id", ["", "../escape", "a/b", ".hidden", "with space"])
def test_an_id_that_is_no_file_name_is_refused(store, thread_id):
    with pytest.raises(StoreError, match="cannot name a thread"):
        store.create(thread_id, created_at=BIRTH)
    with pytest.raises(ThreadNotFoundError):
        store.read(thread_id)


TORN = {
    "cut in the middle": b'{"timestamp":"2026-11-21T20:53:57.368Z","ordinal":3,"type":"eve',
    "zeros": b"\0" * 4096,
    "cut, then zeros": b'{"type":"event_msg"' + b"\0" * 512,
    "cut in a character": '{"type":"event_msg","payload":{"text":"ä'.encode()[:-1],
    "only a brace": b"{",
}


@pytest.mark.parametrize("tail", TORN.values(), ids=TORN.keys())
def test_a_torn_last_line_is_cut_and_new_records_start_on_a_new_line(store, tail):
    thread_id, path = write_thread(store, "one", "two")
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    assert texts(store, thread_id) == ["one", "two"]
    assert append(store, thread_id, "three")["ordinal"] == 3
    assert path.read_bytes().startswith(whole + b'{"timestamp":')
    assert texts(store, thread_id) == ["one", "two", "three"]
    assert store.inspect(thread_id).damaged == ()


@pytest.mark.parametrize("zeros", [b"", b"\0" * 100], ids=["bare", "with zeros after it"])
def test_a_whole_record_without_its_newline_is_kept(store, zeros):
    thread_id, path = write_thread(store, "one", "two")
    path.write_bytes(path.read_bytes()[:-1] + zeros)
    assert texts(store, thread_id) == ["one", "two"]
    assert append(store, thread_id, "three")["ordinal"] == 3
    assert texts(store, thread_id) == ["one", "two", "three"]


GARBAGE = {
    "text": b"hello",
    "cut": b'{"timestamp":"2026',
    "bytes": b"\xff\xfe\x00\x01",
    "no record": b'{"type":"event_msg"}',
    "a list": b"[1,2]",
    "too deep": b"[" * 100_000,
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_in_the_middle_costs_only_its_own_line(store, garbage):
    thread_id, path = write_thread(store, "one", "two", "three")
    lines = path.read_bytes().split(b"\n")
    lines[2] = garbage
    path.write_bytes(b"\n".join(lines))
    assert texts(store, thread_id) == ["one", "three"]
    assert store.inspect(thread_id).damaged == (3,)
    assert append(store, thread_id, "four")["ordinal"] == 4


def test_unknown_records_are_kept(store):
    thread_id, path = write_thread(store, "one")
    strange = {"timestamp": "", "ordinal": 2, "type": "from_the_future", "payload": {"text": "?"}}
    path.write_bytes(path.read_bytes() + json.dumps(strange).encode() + b"\n")
    assert append(store, thread_id, "three")["ordinal"] == 3
    assert store.read(thread_id)[2] == strange


UNUSABLE = {
    "empty": (b"", "is empty"),
    "only newlines": (b"\n\n", "is empty"),
    "only zeros": (b"\0\0\0", "is empty"),
    "no metadata": (b'{"type":"event_msg","payload":{}}\n', "does not start with session metadata"),
    "torn metadata": (b'{"type":"session_me', "does not start with session metadata"),
}


@pytest.mark.parametrize(("content", "reason"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_file_without_a_thread_says_so_and_stays_as_it_is(store, content, reason):
    thread_id, path = write_thread(store, "one")
    path.write_bytes(content)
    for use in (store.read, store.open):
        with pytest.raises(StoreError, match=reason) as caught:
            use(thread_id)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_a_record_that_does_not_fit_on_the_disk_leaves_no_trace(tmp_path):
    """The limit on the size of files stands for a full disk: the write stops half-way."""
    script = f"""
import resource
from pathlib import Path
from ferrule.store import JsonlStore
from ferrule_hookspecs.errors import StoreError
from ferrule_hookspecs.plugins import PluginContext
store = JsonlStore(PluginContext(home=Path({str(tmp_path)!r}), config={{}}))
writer = store.create("full", created_at=0)
writer.append("session_meta", {{}})
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
try:
    writer.append("event_msg", {{"text": "x" * 10_000}})
except StoreError as error:
    print(error)
print(writer.append("event_msg", {{"text": "small"}})["ordinal"])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    assert "File too large" in done.stdout
    assert done.stdout.endswith("\n1\n")
    store = JsonlStore(PluginContext(home=tmp_path, config={}))
    assert texts(store, "full") == ["small"]
    assert store.inspect("full").damaged == ()


def test_an_archived_thread_can_be_read_but_not_continued(store, tmp_path):
    thread_id, path = write_thread(store, "one")
    store.archive(thread_id)
    assert not path.exists()
    assert (tmp_path / "home/archived_sessions" / path.name).exists()
    assert texts(store, thread_id) == ["one"]
    with pytest.raises(ThreadNotFoundError, match=f"ferrule threads unarchive {thread_id}"):
        store.open(thread_id)
    with pytest.raises(StoreError, match="already archived"):
        store.archive(thread_id)
    store.unarchive(thread_id)
    assert path.exists()
    assert append(store, thread_id, "two")["ordinal"] == 2
    with pytest.raises(StoreError, match="not archived"):
        store.unarchive(thread_id)


def test_a_deleted_thread_is_gone(store):
    thread_id, path = write_thread(store, "one")
    store.delete(thread_id)
    assert not path.exists()
    with pytest.raises(ThreadNotFoundError, match=thread_id):
        store.delete(thread_id)


def test_ids_sort_by_time_and_tell_it():
    ids = [uuid7() for _ in range(50)]
    assert len(set(ids)) == 50
    times = [uuid7_seconds(each) for each in ids]
    assert times == sorted(times)
    assert all(
        re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", i)
        for i in ids
    )
    assert uuid7_seconds("not-an-id") is None
