"""What servers ask: of the user, of the model, about the workspace."""

import json
from math import inf

import anyio
import pytest

NAME = {"action": "accept", "content": {"name": "Ada", "greeting": "hi"}}


def said(item):
    return json.loads(item["result"]["content"][0]["text"])


def test_a_form_reaches_the_client_and_its_answer_the_server(talk, table):
    talk.configure(table("demo"))
    talk.answers["form"] = NAME

    (item,) = talk.run(("mcp__demo__ask", {}))

    (asked,) = talk.of("mcpServer/elicitation/request")
    assert (asked["serverName"], asked["message"]) == ("demo", "Who?")
    assert asked["requestedSchema"]["required"] == ["name"]
    assert asked["turnId"]
    assert said(item) == NAME


def test_what_a_form_says_for_a_field_stands_where_the_answer_leaves_it_out(talk, table):
    talk.configure(table("demo"))
    talk.answers["form"] = {"action": "accept", "content": {}}

    (item,) = talk.run(("mcp__demo__ask", {}))

    assert said(item) == {"action": "accept", "content": {"greeting": "hi"}}


def test_a_url_is_shown_and_only_consent_goes_back(talk, table):
    talk.configure(table("demo"))
    talk.answers["url"] = {"action": "accept", "content": {"more": "than asked"}}

    (item,) = talk.run(("mcp__demo__ask_url", {}))

    (asked,) = talk.of("mcpServer/elicitation/request")
    assert (asked["mode"], asked["url"]) == ("url", "https://a.test/")
    assert asked["elicitationId"] == "e1"
    assert said(item) == {"action": "accept"}


def test_where_nobody_can_answer_it_is_declined_and_said_why(talk, table):
    talk.configure(table("demo"))

    (item,) = talk.run(("mcp__demo__ask", {}), can_answer=False)

    assert said(item) == {"action": "decline"}
    (warning,) = [each["message"] for each in talk.of("warning")]
    assert "'demo' asked 'Who?', which is declined: nobody can be asked" in warning


def test_an_answer_that_is_none_declines(talk, table):
    talk.configure(table("demo"))
    talk.answers["form"] = {"decision": "accept"}

    (item,) = talk.run(("mcp__demo__ask", {}))

    assert said(item) == {"action": "decline"}


@pytest.mark.slow
def test_the_time_a_person_takes_is_not_the_calls(talk, table):
    talk.configure(table("demo", tool_timeout_sec=10))
    talk.answers["form"] = NAME
    talk.pause_s = 11

    (item,) = talk.run(("mcp__demo__ask", {}))

    assert said(item) == NAME


def test_a_call_that_asks_twice_at_once_has_the_rest_of_its_time_afterwards():
    from ferrule_mcp.questions import Caller

    async def main():
        caller = Caller("thread", "turn", None)
        caller.scope.deadline = anyio.current_time() + 1000
        first, second = caller.asking(), caller.asking()
        for each in (first, second):
            each.__enter__()
        assert caller.scope.deadline == inf
        second.__exit__(None, None, None)
        assert caller.scope.deadline == inf
        first.__exit__(None, None, None)
        assert caller.scope.deadline <= anyio.current_time() + 1000

    anyio.run(main)


def test_a_question_ends_with_the_turn_that_is_interrupted(talk, table):
    talk.configure(table("demo"))
    talk.play(("mcp__demo__ask", {}))

    async def main(kernel):
        session = await talk.open(kernel)
        thread_id = session.thread["id"]
        content = [{"type": "text", "text": "go"}]
        await session.submit(op("turn/start", threadId=thread_id, input=content))
        await talk.heard(session, "mcpServer/elicitation/request")
        turn_id = talk.events[-1]["params"]["turnId"]
        await session.submit(op("turn/interrupt", threadId=thread_id, turnId=turn_id))
        ends = {"turn/completed", "serverRequest/resolved"}
        with anyio.fail_after(120):
            async for event in session.events():
                ends.discard(event["method"])
                if not ends:
                    break
        await session.close()

    talk.host().run(main)


def op(method, **params):
    return {"id": "1", "method": method, "params": params}


def test_the_workspace_is_the_root(talk, table):
    talk.configure(table("demo", cwd="/"))

    (item,) = talk.run(("mcp__demo__roots", {}))

    workspace = talk.home.workspace
    assert said(item) == {"roots": [{"uri": workspace.as_uri(), "name": workspace.name}]}


def test_calls_of_two_threads_at_once_leave_it_open_whom_a_question_is_for():
    from ferrule_mcp.questions import Caller, Callers

    async def answer(request):
        return NAME

    async def main():
        callers = Callers()
        one, two = Caller("one", "t", answer), Caller("two", "t", answer)
        assert "no call is under way" in callers.only()
        callers.enter(one)
        callers.enter(two)
        assert "it is not known whose question" in callers.only()
        callers.leave(one)
        assert callers.only() is two

    anyio.run(main)
