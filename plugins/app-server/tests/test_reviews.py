"""`review/start` as a client sees it: in the thread itself, or in a fork of it."""

from __future__ import annotations

import json

import pytest

from ferrule_testkit.model_items import message

CUSTOM = {"type": "custom", "instructions": "look hard"}
FINDING = {
    "title": "[P1] Bug here",
    "body": "it breaks",
    "confidence_score": 0.9,
    "priority": 1,
    "code_location": {"absolute_file_path": "/w/a.py", "line_range": {"start": 1, "end": 2}},
}
ANSWER = json.dumps({"findings": [FINDING], "overall_explanation": "one bug"})
SHOWN = "one bug\n\nReview comment:\n\n- [P1] Bug here — /w/a.py:1-2\n  it breaks"
HANGING = {"items": [message("partial")], "hang": True}


async def ended(client, turn_id):
    done = await client.told("turn/completed", lambda params: params["turn"]["id"] == turn_id)
    return done["turn"]


def completed(client, turn_id):
    return [
        frame["params"]["item"]
        for frame in client.frames
        if frame.get("method") == "item/completed" and frame["params"]["turnId"] == turn_id
    ]


def test_a_review_in_the_thread_itself(serve, model_server):
    model_server.play([[message(ANSWER)], [message("mended")]])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread()

        reply = await client.call("review/start", {"threadId": thread_id, "target": CUSTOM})

        assert reply["reviewThreadId"] == thread_id
        assert reply["turn"]["status"] == "inProgress"
        turn = await ended(client, reply["turn"]["id"])
        assert turn["status"] == "completed"
        assert turn["items"][0]["text"] == SHOWN
        items = completed(client, turn["id"])
        assert [item["type"] for item in items] == [
            "enteredReviewMode",
            "userMessage",
            "exitedReviewMode",
            "agentMessage",
        ]
        assert items[0]["review"] == "look hard"
        assert items[2]["review"] == items[3]["text"] == SHOWN
        assert items[2]["findings"]["findings"] == [FINDING]

        await client.whole_turn(thread_id, "mend it")
        assert SHOWN in json.dumps(model_server.requests[-1].body, ensure_ascii=False).replace(
            "\\n", "\n"
        )
        read = await client.call("thread/read", {"threadId": thread_id, "includeTurns": True})
        stored = read["thread"]["turns"][0]["items"]
        assert [item["type"] for item in stored] == [item["type"] for item in items]

    serve(talk)


def test_a_review_in_a_fork_leaves_the_thread_as_it_is(serve, model_server):
    model_server.play([[message("hi")], [message(ANSWER)]])

    async def talk(hub):
        client = hub.connect(is_checked=False)  # the recorded server knows no such delivery
        await client.initialize()
        thread_id = await client.thread()
        await client.whole_turn(thread_id)
        before = len(client.frames)

        params = {"threadId": thread_id, "target": CUSTOM, "delivery": "detached"}
        reply = await client.call("review/start", params)

        new_id = reply["reviewThreadId"]
        assert new_id != thread_id
        started = await client.told("thread/started", after=before)
        assert (started["thread"]["id"], started["thread"]["forkedFromId"]) == (new_id, thread_id)
        assert (await ended(client, reply["turn"]["id"]))["status"] == "completed"
        told = [f.get("params", {}).get("threadId", new_id) for f in client.frames[before:]]
        assert set(told) == {new_id}

    serve(talk)


@pytest.mark.parametrize("delivery", ["inline", "detached"])
def test_what_cannot_be_reviewed_is_an_error_and_leaves_nothing(serve, model_server, delivery):
    model_server.play([[message("hi")]])

    async def talk(hub):
        client = hub.connect(is_checked=False)
        await client.initialize()
        thread_id = await client.thread()
        await client.whole_turn(thread_id)
        target = {"type": "uncommittedChanges"}

        error = await client.error(
            "review/start", {"threadId": thread_id, "target": target, "delivery": delivery}
        )

        assert "there is nothing to review" in error["message"]
        listed = await client.call("thread/list", {})
        assert [thread["id"] for thread in listed["data"]] == [thread_id]
        assert (await client.call("thread/loaded/list", {}))["data"] == [thread_id]

    serve(talk)


def test_a_review_that_is_interrupted(serve, model_server):
    model_server.play([HANGING, [message("here I am")]])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread()
        reply = await client.call("review/start", {"threadId": thread_id, "target": CUSTOM})
        turn_id = reply["turn"]["id"]
        await client.told("turn/started")

        refused = await client.error(
            "turn/start", {"threadId": thread_id, "input": [{"type": "text", "text": "go"}]}
        )
        assert "a review runs" in refused["message"]
        await client.call("turn/interrupt", {"threadId": thread_id, "turnId": turn_id})

        assert (await ended(client, turn_id))["status"] == "interrupted"
        assert completed(client, turn_id)[-1]["type"] == "exitedReviewMode"
        assert (await client.whole_turn(thread_id))["status"] == "completed"

    serve(talk)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({"type": "nope"}, "unknown variant `nope`, expected one of `uncommittedChanges`"),
        ({"type": "commit"}, "missing field `sha`"),
        ({"type": "custom", "instructions": " "}, "a review needs instructions"),
    ],
    ids=["unknown", "incomplete", "blank"],
)
def test_targets_that_make_no_sense(serve, target, words):
    async def talk(hub):
        client = hub.connect(is_checked=False)
        await client.initialize()
        thread_id = await client.thread()

        error = await client.error("review/start", {"threadId": thread_id, "target": target})

        assert words in error["message"]

    serve(talk)
