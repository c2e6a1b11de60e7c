"""Threads: kept, listed, read page by page, forked, taken back, put away."""

from __future__ import annotations

import pytest

from ferrule_testkit.model_items import message


@pytest.fixture
def answering(model_server):
    """A model that answers with a number."""
    model_server.play([[message(f"answer {number}")] for number in range(1, 9)])


async def conversation(client, *texts, **params):
    thread_id = await client.thread(**params)
    return thread_id, [(await client.whole_turn(thread_id, text))["id"] for text in texts]


def texts(turns):
    return [
        item["text"] if item["type"] == "agentMessage" else item["content"][0]["text"]
        for turn in turns
        for item in turn["items"]
    ]


@pytest.mark.parametrize("ephemeral", [False, True], ids=["stored", "ephemeral"])
def test_turns_and_items_are_read_page_by_page(serve, answering, ephemeral):
    async def talk(hub):
        client = await hub.client()
        thread_id, turns = await conversation(client, "a", "b", "c", ephemeral=ephemeral)
        about = {"threadId": thread_id}
        first = await client.call("thread/turns/list", {**about, "limit": 2})
        assert [turn["id"] for turn in first["data"]] == [turns[2], turns[1]]
        rest = await client.call("thread/turns/list", {**about, "cursor": first["nextCursor"]})
        assert [turn["id"] for turn in rest["data"]] == [turns[0]]
        assert rest["nextCursor"] is None
        items = await client.call("thread/items/list", {**about, "turnId": turns[1]})
        kinds = [entry["item"]["type"] for entry in items["data"]]
        assert kinds == ["userMessage", "agentMessage"]
        assert all(
            entry["startedAtMs"] <= entry["completedAtMs"] == entry["item"]["completedAtMs"]
            for entry in items["data"]
        )
        wanted = [items["data"][1]["item"]["id"]]
        read = await client.call(
            "thread/items/read", {**about, "turnId": turns[1], "itemIds": wanted}
        )
        assert [entry["item"]["text"] for entry in read["data"]] == ["answer 2"]
        odd = await client.error("thread/turns/list", {**about, "cursor": "nowhere"})
        assert odd["message"] == "invalid cursor: nowhere"

    serve(talk)


def test_threads_are_listed_newest_first_and_ephemeral_ones_are_not(serve, answering, ferrule_home):
    async def talk(hub):
        client = await hub.client()
        old, _ = await conversation(client, "the old one")
        new, _ = await conversation(client, "the new one")
        await conversation(client, "nobody keeps this", ephemeral=True)
        listed = await client.call("thread/list", {})
        assert [thread["id"] for thread in listed["data"]] == [new, old]
        assert listed["data"][0]["preview"] == "the new one"
        assert listed["data"][0]["status"] == {"type": "idle"}
        first = await client.call("thread/list", {"limit": 1, "sortDirection": "asc"})
        assert [thread["id"] for thread in first["data"]] == [old]
        found = await client.call("thread/list", {"searchTerm": "old one"})
        assert [thread["id"] for thread in found["data"]] == [old]
        here = await client.call("thread/list", {"cwd": [str(ferrule_home.workspace)]})
        assert len(here["data"]) == 2
        assert (await client.call("thread/list", {"cwd": "/elsewhere"}))["data"] == []
        searched = await client.call("thread/search", {"searchTerm": "new"})
        assert searched["data"][0]["thread"]["id"] == new

    serve(talk)


def test_names_are_told_to_everybody_and_kept(serve, answering):
    async def talk(hub):
        client, other = await hub.client(), await hub.client()
        thread_id = await client.thread()
        params = {"threadId": thread_id, "name": "My thread"}
        assert await client.call("thread/name/set", params) == {}
        for each in (client, other):
            told = await each.told("thread/name/updated")
            assert told == {"threadId": thread_id, "threadName": "My thread"}
        await client.whole_turn(thread_id)
        thread = (await client.call("thread/read", {"threadId": thread_id}))["thread"]
        assert (thread["name"], thread["preview"]) == ("My thread", "go")

    serve(talk)


def test_a_fork_goes_its_own_way(serve, answering):
    async def talk(hub):
        client = await hub.client()
        thread_id, turns = await conversation(client, "a", "b")
        reply = await client.call("thread/fork", {"threadId": thread_id})
        fork = reply["thread"]
        assert fork["forkedFromId"] == thread_id
        assert texts(fork["turns"]) == ["a", "answer 1", "b", "answer 2"]
        started = await client.told("thread/started", lambda p: p["thread"]["id"] == fork["id"])
        assert started["thread"]["turns"] == []
        await client.whole_turn(fork["id"], "c")
        read = {"includeTurns": True}
        kept = await client.call("thread/read", {"threadId": thread_id, **read})
        assert texts(kept["thread"]["turns"]) == ["a", "answer 1", "b", "answer 2"]
        early = await client.call("thread/fork", {"threadId": thread_id, "beforeTurnId": turns[1]})
        assert texts(early["thread"]["turns"]) == ["a", "answer 1"]

    serve(talk)


@pytest.mark.parametrize("method", ["thread/revert", "thread/rollback"])
def test_turns_are_taken_back(serve, answering, model_server, method):
    async def talk(hub):
        client = await hub.client()
        thread_id, turns = await conversation(client, "a", "b")
        which = {"beforeTurnId": turns[1]} if method == "thread/revert" else {"numTurns": 1}
        reply = await client.call(method, {"threadId": thread_id, **which})
        if method == "thread/revert":
            assert reply["turnsBackwardsCursor"] == turns[0]
        await client.whole_turn(thread_id, "c")
        thread = await client.call("thread/read", {"threadId": thread_id, "includeTurns": True})
        assert texts(thread["thread"]["turns"]) == ["a", "answer 1", "c", "answer 3"]
        assert "answer 2" not in str(model_server.requests[-1].body["input"])
        if method == "thread/revert":
            assert await client.told("thread/reverted") == {"threadId": thread_id}

    serve(talk)


def test_a_thread_is_put_away_and_taken_back(serve, answering):
    async def talk(hub):
        client = await hub.client()
        thread_id, _ = await conversation(client, "a")
        about = {"threadId": thread_id}
        assert await client.call("thread/archive", about) == {}
        await client.told("thread/archived")
        await client.told("thread/status/changed", lambda p: p["status"]["type"] == "notLoaded")
        assert (await client.call("thread/list", {}))["data"] == []
        away = await client.call("thread/list", {"archived": True})
        assert [thread["id"] for thread in away["data"]] == [thread_id]
        error = await client.error("thread/resume", about)
        assert error["message"].startswith(f"session {thread_id} is archived")
        back = await client.call("thread/unarchive", about)
        assert back["thread"]["id"] == thread_id
        resumed = await client.call("thread/resume", about)
        assert texts(resumed["thread"]["turns"]) == ["a", "answer 1"]
        assert await client.call("thread/delete", about) == {}
        await client.told("thread/deleted")
        assert (await client.error("thread/read", about))["message"].startswith("thread not loaded")

    serve(talk)


def test_what_is_resumed_goes_on_as_it_was_left(serve, answering):
    async def talk(hub):
        client = await hub.client()
        thread_id, _ = await conversation(client, "a", sandbox="read-only", model="some-model")
        await client.call("thread/archive", {"threadId": thread_id})
        await client.call("thread/unarchive", {"threadId": thread_id})
        resumed = await client.call("thread/resume", {"threadId": thread_id, "excludeTurns": True})
        assert resumed["sandbox"]["type"] == "readOnly"
        assert resumed["model"] == "some-model"
        assert resumed["thread"]["turns"] == []

    serve(talk)


def test_items_are_put_into_the_history(serve, answering, model_server):
    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread()
        item = {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "injected"}],
        }
        params = {"threadId": thread_id, "items": [item]}
        assert await client.call("thread/inject_items", params) == {}
        await client.whole_turn(thread_id)
        assert "injected" in str(model_server.requests[0].body["input"])

    serve(talk)


def test_a_command_of_the_user_is_a_turn_of_its_own(serve):
    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread()
        params = {"threadId": thread_id, "command": "echo from the user"}
        assert await client.call("thread/shellCommand", params) == {}
        done = await client.told(
            "item/completed", lambda p: p["item"]["type"] == "commandExecution"
        )
        assert done["item"]["source"] == "userShell"
        assert "from the user" in done["item"]["aggregatedOutput"]
        await client.told("turn/completed")

    serve(talk)


def test_a_thread_that_is_being_closed_is_opened_anew(serve, answering):
    async def talk(hub):
        client = await hub.client()
        thread_id, _ = await conversation(client, "a")
        about = {"threadId": thread_id}
        away = await client.ask("thread/archive", about)
        resuming = await client.ask("thread/resume", about)
        assert await client.reply(away) == {}
        with pytest.raises(Exception, match="is archived"):
            await client.reply(resuming)
        await client.call("thread/unarchive", about)
        assert (await client.call("thread/resume", about))["thread"]["id"] == thread_id

    serve(talk)


def test_files_of_instructions_are_named_when_a_thread_opens(serve, ferrule_home, answering):
    own, theirs = ferrule_home.path / "AGENTS.md", ferrule_home.workspace / "AGENTS.md"
    for file in (own, theirs):
        file.write_text("Say please.\n")
    trust = f'[projects."{ferrule_home.workspace}"]\ntrust_level = "trusted"'
    ferrule_home.configure(tables=trust)

    async def talk(hub):
        client = await hub.client()
        started = await client.call("thread/start", {})
        await client.whole_turn(started["thread"]["id"], "hello")
        forked = await client.call("thread/fork", {"threadId": started["thread"]["id"]})
        for reply in (started, forked):
            assert reply["instructionSources"] == [str(own), str(theirs)]

    serve(talk)
