"""`ferrule threads` does to stored threads what its sub-commands say."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from ferrule.commands.threads import app
from ferrule.ids import uuid7
from ferrule.store import JsonlStore
from ferrule_hookspecs.errors import ThreadNotFoundError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.store import ThreadFilter


@pytest.fixture
def store(tmp_path):
    return JsonlStore(PluginContext(home=tmp_path / "home", config={}))


@pytest.fixture
def ferrule(tmp_path, monkeypatch):
    """Runs `ferrule threads …` in the folder `work` and returns what it printed."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    host = SimpleNamespace(home=tmp_path / "home", environ={})

    def run(*argv, answer=None):
        result = CliRunner().invoke(app, argv, obj=host, input=answer)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def thread_id(store, tmp_path):
    return write_thread(store, "fix the\nbug", cwd=str(tmp_path / "work"))


def write_thread(store, message, **meta):
    thread_id = uuid7()
    said = {"type": "userMessage", "id": "u", "content": [{"type": "text", "text": message}]}
    answered = {"type": "agentMessage", "id": "a", "text": "It is fixed."}
    writer = store.create(thread_id, created_at=0)
    writer.append("session_meta", {"id": thread_id, **meta})
    writer.append("event_msg", {"type": "task_started", "turn_id": "t"})
    for item in (said, answered):
        writer.append("event_msg", {"type": "item_completed", "turn_id": "t", "item": item})
    writer.append("event_msg", {"type": "task_complete", "turn_id": "t"})
    writer.close()
    return thread_id


def test_list_shows_the_threads_of_this_folder(ferrule, store, thread_id):
    other = write_thread(store, "elsewhere", cwd="/other")
    here = ferrule("list").output
    assert thread_id in here
    assert "fix the bug" in here
    assert other not in here
    assert other in ferrule("list", "--all").output
    assert other in ferrule("list", "--all", "--search", "ELSE").output
    assert thread_id not in ferrule("list", "--all", "--search", "ELSE").output


def test_an_empty_listing_says_where_to_look(ferrule):
    assert "--all shows others" in ferrule("list").output
    assert ferrule("list", "--all").output == "No threads.\n"


def test_list_prints_json(ferrule, thread_id):
    (listed,) = json.loads(ferrule("list", "--json").output)
    assert (listed["thread_id"], listed["preview"]) == (thread_id, "fix the\nbug")


def test_show_tells_what_was_said(ferrule, thread_id):
    shown = ferrule("show", thread_id).output
    assert "> fix the\nbug\nIt is fixed." in shown
    facts = json.loads(ferrule("show", thread_id, "--json").output)
    assert facts["turns"][0]["status"] == "completed"


def test_a_renamed_thread_answers_to_its_name(ferrule, thread_id):
    ferrule("rename", thread_id, "bug hunt")
    assert thread_id in ferrule("show", "bug hunt").output


def test_archive_and_unarchive(ferrule, thread_id):
    ferrule("archive", thread_id)
    assert thread_id not in ferrule("list").output
    assert thread_id in ferrule("list", "--archived").output
    ferrule("unarchive", thread_id)
    assert thread_id in ferrule("list").output


def test_delete_asks_first(ferrule, store, thread_id):
    assert ferrule("delete", thread_id, answer="n\n").exit_code == 1
    assert store.find(thread_id)
    assert ferrule("delete", thread_id, answer="y\n").exit_code == 0
    assert store.find(thread_id) is None


def test_delete_with_force_does_not_ask(ferrule, store, thread_id):
    assert ferrule("delete", "--force", thread_id).output == ""
    assert store.list(ThreadFilter()) == []


def test_rebuild_counts_the_threads(ferrule, thread_id):
    assert ferrule("rebuild").output == "Threads found: 1\n"


@pytest.mark.parametrize("command", ["show", "archive", "unarchive", "delete"])
def test_an_unknown_thread_is_an_error_that_tells_what_to_do(ferrule, command):
    with pytest.raises(ThreadNotFoundError, match=r"'nope'.*ferrule threads list --all"):
        ferrule(command, "nope")
