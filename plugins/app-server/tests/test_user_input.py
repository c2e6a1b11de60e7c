"""Questions of the model to the user: answered in other words, left open too long, withdrawn."""

from __future__ import annotations

import json

import pytest

from ferrule_testkit.model_items import function_call, message

QUESTION = {
    "id": "q1",
    "header": "Pick",
    "question": "Which?",
    "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
}
ASKED = "item/tool/requestUserInput"
ON = "features = { default_mode_request_user_input = true }\n"


@pytest.fixture
def asking(model_server, ferrule_home):
    """A model that asks the user; returns what it reads."""

    def configure(more=""):
        ferrule_home.configure(top=ON + more)
        model_server.play(
            [[function_call("request_user_input", {"questions": [QUESTION]})], [message("done")]]
        )

    def read():
        outputs = [
            item["output"]
            for item in model_server.requests[-1].body["input"]
            if item["type"] == "function_call_output"
        ]
        return outputs[-1]

    return configure, read


def test_the_user_may_answer_in_other_words(serve, asking):
    configure, read = asking
    configure()

    async def talk(hub):
        client = await hub.client()
        client.answers[ASKED] = {"answers": {"q1": {"answers": ["neither of them"]}}}
        await client.whole_turn(await client.thread())
        asked = await client.told(ASKED)
        (question,) = asked["questions"]
        assert (question["isOther"], question["isSecret"]) == (True, False)
        assert question["options"] == QUESTION["options"]

    serve(talk)
    assert json.loads(read()) == {"answers": {"q1": {"answers": ["neither of them"]}}}


def test_a_question_that_stays_open_is_withdrawn_after_its_time(serve, asking):
    configure, read = asking
    configure("tools = { request_user_input = { timeout_sec = 0.2 } }\n")

    async def talk(hub):
        client = await hub.client()
        turn = await client.whole_turn(await client.thread())
        assert turn["status"] == "completed"
        assert (await client.told(ASKED))["autoResolutionMs"] == 200
        assert client.methods().count("serverRequest/resolved") == 1

    serve(talk)
    assert "within 0.2 s; decide yourself" in read()


def test_an_interrupt_withdraws_the_question(serve, asking):
    configure, _ = asking
    configure()

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread()
        turn_id = await client.turn(thread_id)
        asked = await client.until(lambda each: each.get("method") == ASKED)
        await client.call("turn/interrupt", {"threadId": thread_id, "turnId": turn_id})
        resolved = await client.told("serverRequest/resolved")
        assert resolved == {"threadId": thread_id, "requestId": asked["id"]}
        done = await client.told("turn/completed")
        assert done["turn"]["status"] == "interrupted"

    serve(talk)
