"""Listings and names come from an index that is only ever a copy: losing it changes nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule.ids import uuid7
from ferrule.store import JsonlStore
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.store import ThreadFilter

EVERYTHING = ThreadFilter(include_subagents=True)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def store(home):
    return JsonlStore(PluginContext(home=home, config={}))


def user_says(text):
    item = {"type": "userMessage", "id": "i", "content": [{"type": "text", "text": text}]}
    return {"type": "item_completed", "turn_id": "t", "item": item}


def write_thread(store, message="hello", **meta):
    thread_id = uuid7()
    writer = store.create(thread_id, created_at=1_795_294_437)
    start = {"id": thread_id, "cwd": "/w", "model_provider": "mock", "source": "cli"}
    writer.append("session_meta", start | {"timestamp": "2026-11-21T20:53:57.368Z"} | meta)
    writer.append("turn_context", {"turn_id": "t", "model": "m-1"})
    writer.append("response_item", {"type": "message", "role": "user", "content": []})
    writer.append("event_msg", user_says(message))
    writer.append("token_usage_record", {"thread": {"totalTokens": 11}})
    writer.close()
    return thread_id


def write_more(store, thread_id, type_, payload):
    writer = store.open(thread_id)
    writer.append(type_, payload)
    writer.close()


def ids(summaries):
    return [summary.thread_id for summary in summaries]


def test_a_summary_tells_what_the_records_say(store):
    thread_id = write_thread(store, "first words", forked_from_id="f", parent_thread_id="p")
    write_more(store, thread_id, "event_msg", user_says("later words"))
    write_more(store, thread_id, "turn_context", {"turn_id": "u", "model": "m-2"})
    write_more(store, thread_id, "token_usage_record", {"thread": {"totalTokens": 30}})
    store.set_name(thread_id, "old name")
    store.set_name(thread_id, "my thread")
    (listed,) = store.list(EVERYTHING)
    assert listed == store.find(thread_id) == store.find("my thread")
    assert Path(listed.path).is_file()
    assert (listed.name, listed.preview) == ("my thread", "first words")
    assert (listed.cwd, listed.model, listed.model_provider) == ("/w", "m-2", "mock")
    assert (listed.forked_from, listed.parent, listed.source) == ("f", "p", "cli")
    assert (listed.created_at, listed.total_tokens, listed.archived) == (1_795_294_437, 30, False)
    assert listed.updated_at > listed.created_at


def test_a_summary_tells_where_the_repository_stood(store):
    git = {"sha": "a1", "branch": "main", "originUrl": "https://example.org/r.git"}
    thread_id = write_thread(store, git=git)
    strange = write_thread(store, git=["main"])
    listed = store.find(thread_id)
    assert (listed.git_sha, listed.git_branch, listed.git_origin) == tuple(git.values())
    assert store.find(strange).git_sha is None


def test_running_a_thread_does_not_touch_the_index(store, home):
    thread_id = write_thread(store)
    store.open(thread_id).close()
    store.read(thread_id)
    store.find(thread_id)
    assert not [*home.glob("index.sqlite*")]


def test_the_index_is_readable_by_its_owner_only(store, home):
    store.list(EVERYTHING)
    assert (home / "index.sqlite").stat().st_mode & 0o777 == 0o600


def test_the_last_changed_comes_first(store):
    first, second, third = (write_thread(store) for _ in range(3))
    assert ids(store.list(ThreadFilter())) == [third, second, first]
    os.utime(store.find(first).path, (2_000_000_000, 2_000_000_000))
    path = Path(store.find(second).path)
    late = b'{"timestamp":"2036-01-01T00:00:00.000Z","ordinal":9,"type":"event_msg","payload":{}}\n'
    path.write_bytes(path.read_bytes() + late)
    assert ids(store.list(ThreadFilter()))[0] == second


def test_filters_narrow_a_listing(store):
    here = write_thread(store, "Grüße aus dem Wald", cwd="/here")
    there = write_thread(store, "100% of _it_", cwd="/there")
    agent = write_thread(store, cwd="/here", parent_thread_id=here)
    away = write_thread(store, cwd="/here")
    store.archive(away)
    store.set_name(there, "Blue Moon")
    assert set(ids(store.list(ThreadFilter()))) == {here, there}
    assert ids(store.list(ThreadFilter(cwd="/here"))) == [here]
    assert ids(store.list(ThreadFilter(cwd="/here", include_subagents=True))) == [agent, here]
    assert ids(store.list(ThreadFilter(archived=True))) == [away]
    assert ids(store.list(ThreadFilter(search="GRÜSSE AUS"))) == [here]
    assert ids(store.list(ThreadFilter(search="blue moon"))) == [there]
    assert ids(store.list(ThreadFilter(search="0% of _"))) == [there]
    assert ids(store.list(ThreadFilter(search="_%"))) == []


def test_pages_cover_a_listing(store):
    expected = [write_thread(store) for _ in range(5)][::-1]
    pages = [ids(store.list(ThreadFilter(limit=2, offset=offset))) for offset in (0, 2, 4, 6)]
    assert pages == [expected[:2], expected[2:4], expected[4:], []]


def test_a_name_finds_the_newest_and_active_ones_before_archived_ones(store):
    threads = [write_thread(store) for _ in range(3)]
    for thread_id in threads:
        store.set_name(thread_id, "twin")
    assert store.find("twin").thread_id == threads[2]
    store.archive(threads[2])
    assert store.find("twin").thread_id == threads[1]
    for thread_id in threads[:2]:
        store.delete(thread_id)
    assert store.find("twin").archived
    assert store.find("Twin") is None
    assert store.find(uuid7()) is None


def test_a_name_given_at_the_start_holds_until_another_is_given(store):
    thread_id = write_thread(store, name="born so")
    assert store.find("born so").thread_id == thread_id
    store.set_name(thread_id, "changed")
    assert store.find("born so") is None


def test_an_id_wins_over_a_name(store):
    one, two = write_thread(store), write_thread(store)
    store.set_name(two, one)
    assert store.find(one).thread_id == one


@pytest.mark.parametrize("name", ["", "  \n"])
def test_a_blank_name_is_refused(store, name):
    with pytest.raises(Exception, match="not blank"):
        store.set_name(write_thread(store), name)


def test_changes_made_behind_its_back_are_seen(store, home):
    kept, removed, moved = (write_thread(store) for _ in range(3))
    assert len(store.list(EVERYTHING)) == 3
    os.unlink(store.find(removed).path)
    path = Path(store.find(moved).path)
    (home / "archived_sessions").mkdir()
    path.rename(home / "archived_sessions" / path.name)
    added = write_thread(store)
    assert ids(store.list(EVERYTHING)) == [added, kept]
    assert ids(store.list(ThreadFilter(archived=True))) == [moved]
    assert store.find(removed) is None


def test_a_rollout_that_holds_no_thread_is_not_listed_until_it_is_mended(store):
    thread_id = write_thread(store)
    path = Path(store.find(thread_id).path)
    content = path.read_bytes()
    path.write_bytes(b"garbage\n")
    assert store.list(EVERYTHING) == []
    path.write_bytes(content)
    assert ids(store.list(EVERYTHING)) == [thread_id]


@pytest.mark.parametrize(
    "name",
    [
        "rollout-..-..-..aT00-00-00-evil.jsonl",
        "rollout-2026-11-21T20-53-57-.jsonl",
        "rollout-2026-11-21T20-53-57-a b.jsonl",
        "rollout-2026-11-21T20-53-57_abc.jsonl",
        "rollout-2026-11-21T20-53-57-abc.jsonl.bak",
        "notes.jsonl",
        ".jsonl",
    ],
)
def test_files_with_other_names_are_left_alone(store, home, name):
    thread_id = write_thread(store)
    path = Path(store.find(thread_id).path)
    (home / "archived_sessions").mkdir()
    for folder in (path.parent, home / "archived_sessions"):
        (folder / name).write_bytes(path.read_bytes())
    assert ids(store.list(EVERYTHING)) == [thread_id]
    assert store.list(ThreadFilter(archived=True)) == []


def test_a_home_that_was_never_used_or_moved_lists_what_is_there(store, home, tmp_path):
    assert store.list(EVERYTHING) == []
    thread_id = write_thread(store)
    store.list(EVERYTHING)
    moved = shutil.move(home, tmp_path / "elsewhere")
    (found,) = JsonlStore(PluginContext(home=Path(moved), config={})).list(EVERYTHING)
    assert found.thread_id == thread_id
    assert found.path.startswith(str(moved))


def half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def old_schema(path):
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.executescript("CREATE TABLE threads (id); PRAGMA user_version = 0")
    connection.close()


def wrong_columns(path):
    with sqlite3.connect(path) as connection:
        connection.executescript("ALTER TABLE threads RENAME COLUMN preview TO title")
    connection.close()


def scramble(path):
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)


def unwritable(path):
    path.unlink()
    path.mkdir()


def rows(path):
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT count(*) FROM threads").fetchone()[0]
    finally:
        connection.close()


DAMAGE = {
    "deleted": Path.unlink,
    "garbage": lambda path: path.write_bytes(b"this is no database, by far\n" * 400),
    "empty": lambda path: path.write_bytes(b""),
    "half": half,
    "pages scrambled": scramble,
    "old schema": old_schema,
    "wrong columns": wrong_columns,
    "no file at all": unwritable,
    "stray log": lambda path: Path(f"{path}-wal").write_bytes(os.urandom(9000)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_index_is_never_noticed(store, home, damage):
    threads = [write_thread(store, f"message {number} " + "x" * 400) for number in range(40)]
    store.set_name(threads[7], "seven")
    expected = store.list(EVERYTHING)
    damage(home / "index.sqlite")
    assert store.list(EVERYTHING) == expected
    assert store.find("seven").thread_id == threads[7]
    if damage is not unwritable:
        assert rows(home / "index.sqlite") == 40
    assert store.rebuild() == 40
    assert store.list(EVERYTHING) == expected


CHILD = """
import sys
from pathlib import Path
from ferrule.ids import uuid7
from ferrule.store import JsonlStore
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.store import ThreadFilter

home, mine = Path(sys.argv[1]), []
for number in range(15):
    store = JsonlStore(PluginContext(home=home, config={}))
    thread_id = uuid7()
    writer = store.create(thread_id, created_at=1_795_294_437)
    writer.append("session_meta", {"id": thread_id})
    writer.close()
    mine.append(thread_id)
    listed = {summary.thread_id for summary in store.list(ThreadFilter(limit=1000))}
    assert listed.issuperset(mine), "a listing misses a thread"
    if number % 5 == 4:
        store.rebuild()
    if number % 6 == 5:
        (home / "index.sqlite").write_bytes(b"garbage" * 1000)
"""


def test_processes_that_write_rebuild_and_damage_at_once_all_see_their_threads(store, home):
    children = [subprocess.Popen([sys.executable, "-c", CHILD, str(home)]) for _ in range(4)]
    assert [child.wait(timeout=120) for child in children] == [0, 0, 0, 0]
    assert len(store.list(ThreadFilter(limit=1000))) == 60
