"""A thread that was kept elsewhere is stored whole, with its times, or not at all."""

from __future__ import annotations

import pytest

from ferrule.ids import uuid7
from ferrule.store import JsonlStore
from ferrule_hookspecs.errors import StoreError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.store import ThreadFilter

BEGAN = 1_600_000_000.0


@pytest.fixture
def store(tmp_path):
    return JsonlStore(PluginContext(home=tmp_path / "home", config={}))


def records(thread_id):
    for ordinal, type_ in ((7, "session_meta"), (9, "turn_context"), (9, "response_item")):
        yield {
            "timestamp": f"2020-09-13T12:26:4{ordinal - 7}.000Z",
            "ordinal": ordinal,
            "type": type_,
            "payload": {"id": thread_id, "model": "m"},
        }


def failing(thread_id):
    yield next(records(thread_id))
    raise OSError(5, "Input/output error")


def rollouts(tmp_path):
    return [path.name for path in (tmp_path / "home").rglob("*rollout*")]


def test_it_keeps_its_id_its_times_and_its_order(store):
    thread_id = uuid7()
    assert store.add(thread_id, records(thread_id), created_at=BEGAN)
    stored = store.read(thread_id)
    assert [record["ordinal"] for record in stored] == [0, 1, 2]
    assert stored[0]["timestamp"] == "2020-09-13T12:26:40.000Z"
    summary = store.find(thread_id)
    assert summary is not None
    assert (summary.updated_at, summary.model) == (1_600_000_002, "m")


def test_it_can_be_gone_on_with(store):
    thread_id = uuid7()
    store.add(thread_id, records(thread_id), created_at=BEGAN)
    writer = store.open(thread_id)
    assert writer.append("turn_context", {})["ordinal"] == 3
    writer.close()


def test_it_can_be_put_away_at_once(store):
    thread_id = uuid7()
    store.add(thread_id, records(thread_id), created_at=BEGAN, archived=True)
    assert [each.thread_id for each in store.list(ThreadFilter(archived=True))] == [thread_id]
    store.unarchive(thread_id)
    assert [each.thread_id for each in store.list(ThreadFilter())] == [thread_id]


def test_a_thread_that_is_there_is_left_as_it_is_and_nothing_is_read(store):
    thread_id = uuid7()
    store.add(thread_id, records(thread_id), created_at=BEGAN)
    again = records(thread_id)
    assert not store.add(thread_id, again, created_at=BEGAN)
    assert next(again)["type"] == "session_meta"
    assert len(store.read(thread_id)) == 3


def test_what_breaks_off_leaves_nothing(store, tmp_path):
    with pytest.raises(StoreError, match="Input/output error"):
        store.add(uuid7(), failing("t"), created_at=BEGAN)
    assert rollouts(tmp_path) == []


def test_what_a_kill_left_is_no_thread_and_is_written_over(store, tmp_path):
    thread_id = uuid7()
    store.add(thread_id, records(thread_id), created_at=BEGAN)
    (whole,) = (tmp_path / "home").rglob("*.jsonl")
    whole.rename(part := whole.with_name(f".{whole.name}.part"))
    assert store.find(thread_id) is None
    assert store.add(thread_id, records(thread_id), created_at=BEGAN)
    assert not part.exists()


@pytest.mark.parametrize("bad", ["../x", "", "a/b", ".x"])
def test_an_id_that_is_no_file_name_is_refused(store, tmp_path, bad):
    with pytest.raises(StoreError, match="cannot name a thread"):
        store.add(bad, records(bad), created_at=BEGAN)
    assert rollouts(tmp_path) == []


def test_a_thread_without_metadata_is_refused(store, tmp_path):
    _, *rest = records("t")
    for given in (rest, []):
        with pytest.raises(StoreError, match="session_meta"):
            store.add("t", given, created_at=BEGAN)
    assert rollouts(tmp_path) == []
