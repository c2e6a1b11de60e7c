"""Requests of servers to the model: off, or put before a reviewer each time."""

import json

import pytest

from ferrule_testkit.model_items import function_call, message

SAMPLE = ("mcp__demo__sample", {})


def said(item):
    return json.loads(item["result"]["content"][0]["text"])


@pytest.fixture
def sampled(talk, table):
    """Have a server ask the model, with a policy and an answer of the client."""

    def run(action, *, policy="on-request", reply="It is two.", **keys):
        talk.configure(table("demo", **keys), policy=policy)
        talk.answers["approval"] = {"action": action, "content": {}}
        talk.model.play(
            {
                "turns": [
                    [function_call(SAMPLE[0], {}, call_id="call_0")],
                    *([[message(reply)]] if action == "accept" else []),
                    [message("done")],
                ]
            }
        )

        async def main(kernel):
            session = await talk.open(kernel)
            await talk.turn(session)
            await session.close()

        talk.host().run(main)
        return {item["tool"]: item for item in talk.items()}

    return run


def test_without_the_setting_servers_cannot_ask_the_model(sampled):
    items = sampled("decline")

    assert "not supported" in said(items["sample"])["message"].lower()
    assert list(items) == ["sample"]


def test_with_approval_the_server_reads_the_models_answer(sampled, talk):
    items = sampled("accept", sampling=True)

    (asked,) = talk.of("mcpServer/elicitation/request")
    assert asked["serverName"] == "demo"
    assert (
        "Allow the demo MCP server to ask the model: 'Be brief. / What is 1+1?'"
        in (asked["message"])
    )
    assert asked["_meta"]["tool_params"]["systemPrompt"] == "Be brief."
    answer = said(items["sample"])
    assert answer["content"] == {"type": "text", "text": "It is two."}
    assert (answer["role"], answer["stopReason"]) == ("assistant", "endTurn")
    request = talk.model.requests[1].body
    assert request["tools"] == []
    assert [part["content"][0]["text"] for part in request["input"]] == [
        "Be brief.",
        "What is 1+1?",
    ]


def test_it_is_shown_as_an_item_of_the_server_and_the_model_reads_nothing_of_it(sampled, talk):
    items = sampled("accept", sampling=True)

    assert items["sampling/createMessage"]["status"] == "completed"
    assert items["sampling/createMessage"]["server"] == "demo"
    assert "call_0:request:1" not in json.dumps(talk.model.requests[-1].body)
    assert not [name for name in talk.offered if "sampling" in name]


def test_an_answer_that_is_longer_than_the_server_asked_for_is_cut(sampled):
    items = sampled("accept", sampling=True, reply="x" * 100)

    answer = said(items["sample"])
    assert answer["content"]["text"] == "x" * 12
    assert answer["stopReason"] == "maxTokens"


def test_what_is_declined_is_refused_and_no_request_is_made(sampled, talk):
    items = sampled("decline", sampling=True)

    assert "refused: rejected by user" in said(items["sample"])["message"]
    assert len(talk.model.requests) == 2


def test_where_nobody_may_be_asked_it_is_refused(talk, table):
    talk.configure(table("demo", sampling=True, default_tools_approval_mode="approve"))

    run = talk.exec(SAMPLE)

    (first, second) = run.items("mcp_tool_call")
    assert {first["tool"], second["tool"]} == {"sample", "sampling/createMessage"}
    inner = next(each for each in (first, second) if each["tool"] != "sample")
    assert "approval policy 'never' does not allow asking" in inner["error"]["message"]
    assert len(talk.model.requests) == 2
