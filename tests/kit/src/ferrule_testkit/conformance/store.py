"""The suite for thread stores.

from ferrule_testkit import StoreConformance

class TestShelf(StoreConformance):
    def make(self, context):
        return Shelf(context)
"""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Sequence

import pytest

from ferrule_hookspecs.errors import StoreError, ThreadBusyError, ThreadNotFoundError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.store import RolloutRecord, ThreadFilter, ThreadStore, ThreadWriter
from ferrule_testkit.conformance.starts import noted_starts
from ferrule_testkit.conformance.suite import Conformance, must

_HOSTILE_IDS = ("../../escape", "a/b", "", "\x00", "nobody-has-this")
_LINES = 50


class StoreConformance(Conformance):
    """What every store has to do. A kill is tried where a process can fork."""

    def make(self, context: PluginContext) -> ThreadStore:
        """Make the store under test."""
        raise NotImplementedError("say with `make` which store is tested")

    def modules(self, context: PluginContext) -> Sequence[str]:
        """The module of what `make` makes."""
        return (type(self.make(context)).__module__,)

    @pytest.fixture
    def store(self, context: PluginContext) -> ThreadStore:
        """The store under test."""
        return self.make(context)

    @pytest.fixture
    def begin(self, store: ThreadStore) -> Callable[..., str]:
        """Store a thread with these texts; returns its id."""

        def begin(*texts: str) -> str:
            writer = _begun(store)
            for text in texts:
                writer.append("event_msg", {"type": "note", "text": text})
            writer.close()
            return writer.thread_id

        return begin

    def test_making_one_starts_nothing(self, context: PluginContext) -> None:
        self.make(context)
        with noted_starts() as noted:
            self.make(context)
        must(not noted, f"making it {', '.join(noted)}", "store.ThreadStore")

    def test_what_was_appended_is_read_in_order(
        self, store: ThreadStore, begin: Callable[..., str]
    ) -> None:
        said = ["one", "zwei\u2028drei", "\U0001f600 \x00 \\n", "x" * 300_000]
        records = store.read(begin(*said))
        must(_texts(records) == said, "what was appended comes back", "store.ThreadStore.read")
        numbers = [record["ordinal"] for record in records]
        must(numbers == list(range(5)), "ordinals count from 0", "store.RolloutRecord")

    def test_an_append_gives_the_record_that_is_stored(self, store: ThreadStore) -> None:
        writer = _begun(store)
        record = writer.append("event_msg", {"type": "note", "text": "hi"})
        writer.close()
        must(store.read(writer.thread_id)[-1] == record, "it is", "store.ThreadWriter.append")

    def test_fields_that_nobody_knows_are_kept(self, store: ThreadStore) -> None:
        payload: dict[str, object] = {"type": "of tomorrow", "deep": {"list": [1, None, {"x": ""}]}}
        writer = _begun(store)
        writer.append("response_item", payload)
        writer.close()
        kept = store.read(writer.thread_id)[-1]["payload"]
        must(kept == payload, "a payload is kept as it is", "store.RolloutRecord")

    def test_nothing_is_stored_before_the_first_record(self, store: ThreadStore) -> None:
        writer = store.create(_new_id(), created_at=time.time())
        writer.close()
        wish = "a thread without records is not listed"
        must(not store.list(ThreadFilter()), wish, "store.ThreadStore.create")

    def test_a_stored_thread_goes_on_where_it_ended(
        self, store: ThreadStore, begin: Callable[..., str]
    ) -> None:
        thread = begin("one")
        writer = store.open(thread)
        record = writer.append("event_msg", {"type": "note", "text": "two"})
        writer.sync()
        writer.close()
        must(record["ordinal"] == 2, "ordinals go on", "store.RolloutRecord")
        must(_texts(store.read(thread)) == ["one", "two"], "it goes on", "store.ThreadStore.open")

    def test_another_store_over_the_same_home_sees_it(
        self, context: PluginContext, begin: Callable[..., str]
    ) -> None:
        thread = begin("one")
        seen = self.make(context).read(thread)
        must(_texts(seen) == ["one"], "it is stored, not remembered", "store.ThreadStore")

    def test_a_thread_has_one_writer(self, store: ThreadStore, context: PluginContext) -> None:
        writer = _begun(store)
        try:
            with pytest.raises(ThreadBusyError):
                self.make(context).open(writer.thread_id)
        finally:
            writer.close()
        store.open(writer.thread_id).close()

    def test_a_closed_writer_writes_no_more_and_may_be_closed_again(
        self, store: ThreadStore
    ) -> None:
        writer = _begun(store)
        writer.close()
        writer.close()
        with pytest.raises(StoreError):
            writer.append("event_msg", {"type": "note"})

    @pytest.mark.parametrize("name", _HOSTILE_IDS, ids=range(len(_HOSTILE_IDS)))
    def test_what_is_not_there_is_not_found(self, store: ThreadStore, name: str) -> None:
        with pytest.raises((ThreadNotFoundError, StoreError)):
            store.open(name)
        with pytest.raises((ThreadNotFoundError, StoreError)):
            store.read(name)
        must(store.find(name) is None, "nothing is found", "store.ThreadStore.find")

    def test_threads_are_listed_the_last_changed_first(
        self, store: ThreadStore, begin: Callable[..., str]
    ) -> None:
        threads = {begin("one"), begin("two")}
        listed = [each.thread_id for each in store.list(ThreadFilter())]
        must(set(listed) == threads, "every thread is listed once", "store.ThreadStore.list")
        must(len(store.list(ThreadFilter(limit=1))) == 1, "`limit` bounds", "store.ThreadFilter")
        rest = store.list(ThreadFilter(offset=1))
        must([each.thread_id for each in rest] == listed[1:], "`offset`", "store.ThreadFilter")

    def test_a_name_leads_to_its_thread(
        self, store: ThreadStore, begin: Callable[..., str]
    ) -> None:
        thread = begin("one")
        store.set_name(thread, "the first")
        for name in (thread, "the first"):
            found = store.find(name)
            wish = f"{name!r} leads to the thread"
            must(found is not None and found.thread_id == thread, wish, "store.ThreadStore.find")

    def test_an_archived_thread_is_put_away_and_taken_back(
        self, store: ThreadStore, begin: Callable[..., str]
    ) -> None:
        thread = begin("one")
        store.archive(thread)
        must(not store.list(ThreadFilter()), "it is not listed", "store.ThreadStore.archive")
        away = store.list(ThreadFilter(archived=True))
        must([each.thread_id for each in away] == [thread], "it is", "store.ThreadFilter.archived")
        with pytest.raises(ThreadNotFoundError):
            store.open(thread)
        store.unarchive(thread)
        must(_texts(store.read(thread)) == ["one"], "it is back", "store.ThreadStore.unarchive")
        store.open(thread).close()

    def test_a_deleted_thread_is_gone(self, store: ThreadStore, begin: Callable[..., str]) -> None:
        thread = begin("one")
        store.delete(thread)
        must(store.find(thread) is None, "it is gone", "store.ThreadStore.delete")

    def test_a_thread_kept_elsewhere_is_stored_whole_or_not(
        self, store: ThreadStore, begin: Callable[..., str]
    ) -> None:
        thread, records = _new_id(), store.read(begin("one", "two"))
        records[0]["payload"]["id"] = thread
        made = store.add(thread, iter(records), created_at=1_700_000_000.0)
        must(made, "it is stored", "store.ThreadStore.add")
        must(_texts(store.read(thread)) == ["one", "two"], "it is", "store.ThreadStore.add")
        again = store.add(thread, iter(()), created_at=1_700_000_000.0)
        must(not again, "one that is there is left as it is", "store.ThreadStore.add")

    def test_a_thread_that_cannot_be_read_to_its_end_is_not_stored(
        self, store: ThreadStore, begin: Callable[..., str]
    ) -> None:
        thread, records = _new_id(), store.read(begin("one"))
        with pytest.raises(ZeroDivisionError):
            store.add(thread, _failing(records), created_at=1_700_000_000.0)
        must(store.find(thread) is None, "all of it or nothing", "store.ThreadStore.add")

    def test_what_is_derived_can_be_made_anew(
        self, store: ThreadStore, begin: Callable[..., str]
    ) -> None:
        begin("one"), begin("two")
        must(store.rebuild() == 2, "it tells how many there are", "store.ThreadStore.rebuild")
        must(len(store.list(ThreadFilter())) == 2, "both are", "store.ThreadStore.rebuild")

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs to fork")
    @pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
    def test_a_killed_writer_loses_nothing_it_was_told_is_stored(
        self, context: PluginContext
    ) -> None:
        thread = _new_id()
        acknowledged = _write_until_killed(lambda: self.make(context), thread)
        store = self.make(context)
        kept = _texts(store.read(thread))
        must(kept[:_LINES] == acknowledged, "it survives a kill", "store.ThreadWriter.append")
        writer = store.open(thread)  # the lock of a killed writer blocks nobody
        writer.append("event_msg", {"type": "note", "text": "goes on"})
        writer.close()
        must(_texts(store.read(thread))[-1] == "goes on", "it goes on", "store.ThreadStore.open")


def _new_id() -> str:
    """An id as threads have it: their time comes first, as in UUIDs of version 7."""
    stamp = int(time.time() * 1000) << 80
    rest = uuid.uuid4().int & ((1 << 80) - 1)
    return str(uuid.UUID(int=stamp | rest & ~(0xF << 76) & ~(0x3 << 62) | 7 << 76 | 2 << 62))


def _begun(store: ThreadStore, thread: str = "") -> ThreadWriter:
    thread = thread or _new_id()
    writer = store.create(thread, created_at=time.time())
    writer.append("session_meta", {"id": thread, "cwd": "/work"})
    return writer


def _texts(records: list[RolloutRecord]) -> list[object]:
    return [record["payload"].get("text") for record in records[1:]]


def _failing(records: list[RolloutRecord]) -> Iterator[RolloutRecord]:
    yield from records
    raise ZeroDivisionError


def _write_until_killed(make: Callable[[], ThreadStore], thread: str) -> list[object]:
    """Have a child write and kill itself in the middle; returns what it said was stored."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            writer = _begun(make(), thread)
            for number in range(_LINES):
                writer.append("event_msg", {"type": "note", "text": f"line {number}"})
                os.write(theirs, f"line {number}\n".encode())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(theirs)
    with os.fdopen(ours) as file:
        said: list[object] = [line.rstrip("\n") for line in file]
    os.waitpid(pid, 0)
    return said
