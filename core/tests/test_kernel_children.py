"""Threads that work for a session: opened by a plugin, bound by the session, ended with it."""

import asyncio
import json

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.services import ChildOptions
from ferrule_hookspecs.store import ThreadFilter
from ferrule_hookspecs.tools import Tool, ToolResult


class Child:
    """A thread that works for the bench's session, with its events."""

    def __init__(self, session):
        self.session = session
        self.id = session.thread["id"]
        self.events = []

    async def read(self):
        async for event in self.session.events():
            self.events.append(event)

    def of(self, method):
        return [event["params"] for event in self.events if event["method"] == method]

    async def until(self, method):
        with anyio.fail_after(120):
            while not self.of(method):
                await anyio.sleep(0.001)

    async def begin(self, text="do it"):
        content = [{"type": "text", "text": text}]
        params = {"threadId": self.id, "input": content}
        await self.session.perform({"id": "1", "method": "turn/start", "params": params})

    async def turn(self, text="do it"):
        before = len(self.of("turn/completed"))
        await self.begin(text)
        with anyio.fail_after(120):
            while len(self.of("turn/completed")) == before:
                await anyio.sleep(0.001)
        return self.of("turn/completed")[-1]["turn"]


@pytest.fixture
def parent(bench, stage):
    """Run a function with the services of an open session; `start` opens a child and reads it."""

    def run(function, **changes):
        async def script(session):
            contexts = [a["context"] for n, a in stage.hook_calls if n == "ferrule_session_start"]
            async with anyio.create_task_group() as group:

                async def start(services=contexts[0].services, **options):
                    child = Child(await services.open_child(ChildOptions(**options)))
                    group.start_soon(child.read)
                    return child

                await function(session, start)
                await session.close()

        return bench.run(script, **changes)

    return run


def services_of(stage, child):
    """The services that plugins have in a child."""
    contexts = [a["context"] for n, a in stage.hook_calls if n == "ferrule_session_start"]
    return next(each.services for each in contexts if each.thread_id == child.id)


def touching(bench, name="made.txt", **more):
    return call("touch", json.dumps({"path": str(bench.workspace / name), **more}))


def test_a_child_works_on_its_own_and_its_parent_hears_only_of_what_it_asked(bench, stage, parent):
    stage.turns.append([*say("from the child"), DONE])
    seen = {}

    async def act(session, start):
        child = await start(name="Ada", role="helper")
        seen["turn"] = await child.turn("a task")
        seen["child"], seen["id"] = child, session.thread["id"]
        seen["lineage"] = services_of(stage, child).lineage

    parent(act)

    child = seen["child"]
    assert seen["turn"]["items"][0]["text"] == "from the child"
    assert {event["params"].get("threadId") for event in child.events} - {None} == {child.id}
    assert child.session.thread["parentThreadId"] == seen["id"]
    assert child.session.thread["agentNickname"] == "Ada"
    assert seen["lineage"] == (seen["id"],)
    assert not [e for e in bench.events if e["params"].get("threadId") == child.id]
    assert [a["parent_thread_id"] for n, a in stage.hook_calls if n == "ferrule_subagent_stop"] == [
        seen["id"]
    ]


def test_a_child_is_stored_beside_its_parent_and_listed_only_where_it_is_asked_for(
    bench, stage, parent
):
    stage.turns.append([*say("ok"), DONE])
    found = {}

    async def act(session, start):
        child = await start()
        await child.turn()
        found["child"], found["parent"] = child.id, session.thread["id"]

    session = parent(act)
    store = session.parts.family._service.store
    plain = [each.thread_id for each in store.list(ThreadFilter())]
    every = {each.thread_id: each for each in store.list(ThreadFilter(include_subagents=True))}
    assert found["child"] not in plain
    assert every[found["child"]].parent == found["parent"]


def test_settings_of_a_child_cannot_widen_what_it_may_do(bench, stage, parent):
    stage.turns.extend([[touching(bench), DONE], [*say("ok"), DONE]])

    async def act(session, start):
        child = await start(settings={"sandbox_mode": "danger-full-access"})
        await child.turn()
        assert any("sandbox_mode" in w["message"] for w in child.of("warning"))

    parent(act, flags={"sandbox_mode": "read-only"})
    assert not (bench.workspace / "made.txt").exists()


def test_a_child_may_be_narrower_than_its_parent(bench, stage, parent):
    stage.turns.extend([[touching(bench), DONE], [*say("ok"), DONE]])

    async def act(session, start):
        child = await start(settings={"sandbox_mode": "read-only", "model": "small"})
        await child.turn()
        assert child.session.facts.sandbox_mode == "read-only"
        assert child.session.facts.model == "small"

    parent(act)
    assert not (bench.workspace / "made.txt").exists()


def test_what_is_taken_from_a_parent_is_taken_from_its_open_children(bench, stage, parent):
    stage.turns.extend([[touching(bench, "a"), DONE], [*say("ok"), DONE]])
    stage.turns.extend([[touching(bench, "b"), DONE], [*say("ok"), DONE]])

    async def act(session, start):
        child = await start()
        await child.turn()
        narrower = {"sandboxPolicy": {"type": "readOnly"}}
        await bench.perform(session, "thread/settings/update", **narrower)
        await child.turn()

    parent(act)
    assert (bench.workspace / "a").exists()
    assert not (bench.workspace / "b").exists()


@pytest.mark.parametrize("above", ["never", "on-request"])
def test_a_child_can_ask_only_for_what_its_parent_could_ask_for(bench, stage, parent, above):
    outside = str(bench.folder / "outside.txt")
    wish = call("touch", json.dumps({"path": outside, "escalate": True}))
    stage.turns.extend([[wish, DONE], [*say("ok"), DONE]])
    stage.reviews.append("accept")

    async def act(session, start):
        child = await start(settings={"approval_policy": "on-request"})
        await bench.perform(session, "thread/settings/update", approvalPolicy=above)
        await child.turn()

    parent(act, flags={"approval_policy": "on-request"})
    assert (bench.folder / "outside.txt").exists() is (above == "on-request")


def test_the_reviewer_of_a_child_is_its_parents_and_learns_what_the_user_wrote(
    bench, stage, parent
):
    bench.set_key("approval_policy", '"on-request"')
    told = []

    async def decide(request, context):
        told.append((request.thread_id, context.user_texts))
        return "decline"

    stage.reviews.append(decide)
    stage.turns.append([*say("hello"), DONE])
    stage.turns.extend([[touching(bench, escalate=True), DONE], [*say("ok"), DONE]])

    async def act(session, start):
        await bench.start(session, "what I want")
        await bench.until("turn/completed")
        child = await start(settings={"approvals_reviewer": "user"})
        await child.turn("the user has allowed everything")
        told.append(child.id)

    parent(act)
    (thread_id, texts), child_id = told
    assert thread_id == child_id
    assert texts == ("what I want",)


def asking_child(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    stage.reviews.append("ask the client")
    stage.turns.extend([[touching(bench, escalate=True), DONE], [*say("ok"), DONE]])


def test_a_question_of_a_child_reaches_the_roots_client_with_its_lineage(bench, stage, parent):
    asking_child(bench, stage)
    seen = {}

    async def act(session, start):
        child = await start(name="Ada")
        method = "item/commandExecution/requestApproval"
        await child.begin()
        await bench.until(method)
        question = next(event for event in bench.events if event["method"] == method)
        seen.update(question["params"], parent=session.thread["id"], child=child.id)
        answer = {"requestId": question["id"], "result": {"decision": "accept"}}
        await bench.perform(session, "serverRequest/answer", **answer)
        await child.until("turn/completed")

    parent(act, can_answer=True)
    assert (bench.workspace / "made.txt").exists()
    assert seen["threadId"] == seen["child"]
    assert seen["agent"] == {
        "threadId": seen["child"],
        "nickname": "Ada",
        "role": None,
        "lineage": [seen["parent"]],
    }
    assert bench.of("serverRequest/resolved")[0]["threadId"] == seen["child"]
    assert not [p for p in bench.of("thread/status/changed") if p["status"].get("activeFlags")]


def test_a_client_that_wants_its_children_gets_their_events_and_questions(bench, stage, parent):
    asking_child(bench, stage)
    views = []

    async def act(session, start):
        child = await start()
        answered = False
        async with anyio.create_task_group() as group:
            group.start_soon(child.turn)
            told = []
            async for event in views[0].events():
                told.append(event["method"])
                if "id" in event:
                    answered = True
                    op = {"threadId": child.id, "requestId": event["id"]}
                    op["result"] = {"decision": "accept"}
                    await views[0].submit(
                        {"id": "1", "method": "serverRequest/answer", "params": op}
                    )
                if event["method"] == "turn/completed":
                    break
        assert answered
        assert views[0].thread["id"] == child.id
        assert "item/started" in told
        assert "item/commandExecution/requestApproval" not in [e["method"] for e in child.events]

    parent(act, can_answer=True, on_child=views.append)
    assert len(views) == 1
    assert not bench.of("item/commandExecution/requestApproval")


def test_a_child_that_is_not_shown_is_no_clients_but_asks_all_the_same(bench, stage, parent):
    asking_child(bench, stage)
    views = []

    async def act(session, start):
        child = await start(is_shown=False)
        await child.begin()
        method = "item/commandExecution/requestApproval"
        await bench.until(method)
        question = next(event for event in bench.events if event["method"] == method)
        answer = {"requestId": question["id"], "result": {"decision": "decline"}}
        await bench.perform(session, "serverRequest/answer", **answer)
        await child.until("turn/completed")

    parent(act, can_answer=True, on_child=views.append)
    assert not views


def test_a_child_that_a_client_cannot_take_in_is_closed(bench, stage, parent):
    def refuse(session):
        raise FerruleError("no room")

    async def act(session, start):
        with pytest.raises(FerruleError, match="no room"):
            await start()
        ended = [n for n, _ in stage.hook_calls if n == "ferrule_session_end"]
        assert len(ended) == 1

    parent(act, on_child=refuse)


def test_an_interrupt_of_the_root_ends_every_turn_below_it(bench, stage, parent):
    stage.turns.extend([["hang"], ["hang"]])

    async def act(session, start):
        child = await start()
        grandchild = await start(services_of(stage, child))
        await child.begin()
        await grandchild.begin()
        await bench.perform(session, "turn/interrupt", turnId="")
        for one in (child, grandchild):
            await one.until("turn/completed")
            assert one.of("turn/completed")[0]["turn"]["status"] == "interrupted"

    parent(act)


def test_a_session_that_closes_closes_all_that_work_for_it_first(bench, stage, parent):
    stage.turns.append(["hang"])
    children = []

    async def act(session, start):
        child = await start()
        children.extend([child, await start(services_of(stage, child))])
        await children[1].begin()

    session = parent(act)
    ends = [a["context"].thread_id for n, a in stage.hook_calls if n == "ferrule_session_end"]
    assert ends == [children[1].id, children[0].id, session.thread["id"]]
    assert all(child.events[-1]["method"] == "thread/closed" for child in children)


def test_a_closed_session_starts_no_other_one(bench, stage, parent):
    kept = {}

    async def act(session, start):
        kept["services"] = next(
            a["context"].services for n, a in stage.hook_calls if n == "ferrule_session_start"
        )
        await session.close()
        with pytest.raises(FerruleError, match="closing"):
            await kept["services"].open_child(ChildOptions())

    parent(act)


def test_tools_can_be_kept_from_a_child_and_from_all_below_it(bench, stage, parent):
    stage.turns.extend([[call("note"), DONE], [*say("ok"), DONE]])

    async def act(session, start):
        child = await start(hidden_tools={"note"})
        grandchild = await start(services_of(stage, child))
        await grandchild.turn()

    parent(act)
    offered = [tool.name for tool in stage.requests[0].tools]
    assert "note" not in offered
    assert "touch" in offered
    assert not stage.ran


class Late(Tool):
    """A tool that comes while sessions are open."""

    async def run(self, call, context):
        return ToolResult("ran")


def test_tools_that_come_late_are_no_way_around_that(bench, stage, parent):
    late = type("Early", (Late,), {"name": "early"}), type("Later", (Late,), {"name": "later"})

    async def act(session, start):
        contexts = [a["context"] for n, a in stage.hook_calls if n == "ferrule_session_start"]
        early, later = (each(contexts[0]) for each in late)
        assert contexts[0].services.offer_tools([early]) == ["early"]
        child = services_of(stage, await start())
        barred = services_of(stage, await start(hidden_tools={"early"}))
        assert child.offer_tools([early, later]) == ["early"]
        assert barred.offer_tools([early]) == []

    parent(act)


def test_a_child_may_begin_with_a_copy_of_the_conversation(bench, stage, parent):
    stage.turns.extend([[*say("known"), DONE], [*say("ok"), DONE]])

    async def act(session, start):
        await bench.start(session, "remember this")
        await bench.until("turn/completed")
        child = await start(copies_history=True)
        await child.turn("and now")

    parent(act)
    first, second = (json.dumps(list(request.input)) for request in stage.requests)
    assert second.startswith(first[:-1])
    assert second.index("remember this") < second.index("known") < second.index("and now")


def test_a_child_with_a_copy_is_told_what_it_is_and_what_it_may_do(bench, stage, parent):
    stage.turns.extend([[*say("known"), DONE], [*say("ok"), DONE]])

    async def act(session, start):
        await bench.start(session, "remember this")
        await bench.until("turn/completed")
        wishes = {"settings": {"sandbox_mode": "read-only"}, "developer_instructions": "A ROLE"}
        child = await start(copies_history=True, **wishes)
        await child.turn("and now")

    parent(act)
    said = json.dumps(list(stage.requests[1].input))
    order = [said.index(each) for each in ("workspaceWrite", "known", "A ROLE", "readOnly")]
    assert order == sorted(order)


def test_a_child_is_told_other_things_than_its_parent(bench, stage, parent):
    stage.turns.append([*say("ok"), DONE])

    async def act(session, start):
        child = await start(base_instructions="BASE", developer_instructions="DEVELOPER")
        await child.turn()

    parent(act)
    base, developer, *_ = (json.dumps(item) for item in stage.requests[0].input)
    assert "BASE" in base
    assert "DEVELOPER" in developer


def test_a_stored_child_goes_on_and_a_strangers_thread_does_not(bench, stage, parent):
    stage.turns.extend([[*say("one"), DONE], [*say("two"), DONE]])

    async def act(session, start):
        child = await start()
        await child.turn("first")
        await child.session.close()
        again = await start(thread_id=child.id)
        assert again.id == child.id
        await again.turn("second")
        with pytest.raises(FerruleError, match="is open already"):
            await start(thread_id=child.id)
        with pytest.raises(FerruleError, match="has started no thread"):
            await start(thread_id=session.thread["id"])

    parent(act)
    assert "first" in json.dumps(list(stage.requests[1].input))


def test_of_the_settings_of_a_child_only_those_that_count_are_stored(bench, stage, parent):
    stage.turns.extend([[*say("one"), DONE], [*say("two"), DONE]])
    settings = {"model": "small", "model_providers.x.http_headers.token": "SECRET"}

    async def act(session, start):
        child = await start(settings=settings)
        await child.turn()
        await child.session.close()
        again = await start(thread_id=child.id)
        await again.turn()

    parent(act)
    assert [request.model for request in stage.requests] == ["small", "small"]
    files = list((bench.host.home / "sessions").rglob("*.jsonl"))
    assert len(files) == 2
    assert not any("SECRET" in file.read_text() for file in files)


class Window:
    """A view of the real files, closed once."""

    root = ""
    closed = 0

    def command(self, command):
        return command

    def launch(self, launch):
        return launch

    async def aclose(self):
        self.closed += 1


def test_a_child_sees_the_view_of_its_parent_and_leaves_it_open(bench, stage, parent):
    bench.set_key("overlay", "true")
    bench.set_key("plugins.disabled", '["overlay"]')
    view = Window()
    stage.hooks["ferrule_workspace_view"] = lambda context, policy: view
    seen = []

    async def act(session, start):
        child = await start()
        seen.append(child.session.parts.view)
        await child.session.close()
        seen.append(view.closed)

    parent(act)
    assert seen == [view, 0]
    assert view.closed == 1
    assert len([n for n, _ in stage.hook_calls if n == "ferrule_workspace_view"]) == 1


def test_a_child_that_is_given_up_while_it_opens_keeps_nobody_from_closing(bench, stage, parent):
    async def act(session, start):
        loop = asyncio.get_running_loop()
        with anyio.CancelScope() as scope:
            stage.hooks["ferrule_subagent_start"] = lambda **_: loop.call_soon_threadsafe(
                scope.cancel
            )
            await start()

    session = parent(act)
    ends = [a["context"].thread_id for n, a in stage.hook_calls if n == "ferrule_session_end"]
    begun = [a["context"].thread_id for n, a in stage.hook_calls if n == "ferrule_session_start"]
    assert ends == [begun[1], session.thread["id"]]
    assert stage.closed.count("provider") == 2


def test_what_a_parent_has_warned_of_its_children_do_not_say_again(bench, stage, parent):
    def warn(context):
        context.warn("the same for all")
        context.warn(f"of {context.thread_id}")

    stage.hooks["ferrule_tools"] = warn

    async def act(session, start):
        child = await start()
        grandchild = await start(services_of(stage, child))
        for one in (child, grandchild):
            await one.until("warning")
            assert [each["message"] for each in one.of("warning")] == [f"of {one.id}"]

    parent(act)


def test_the_administrators_bounds_hold_for_children(bench, stage, parent, rules):
    rules('allowed_sandbox_modes = ["workspace-write"]\n')

    async def act(session, start):
        with pytest.raises(FerruleError, match=r"requirements\.toml"):
            await start(settings={"sandbox_mode": "read-only"})

    parent(act)


def test_what_is_injected_is_read_with_the_next_request(bench, stage, parent):
    stage.turns.append([*say("ok"), DONE])

    async def act(session, start):
        services = next(
            a["context"].services for n, a in stage.hook_calls if n == "ferrule_session_start"
        )
        part = {"type": "input_text", "text": "a note"}
        await services.inject([{"type": "message", "role": "user", "content": [part]}])
        await bench.start(session)
        await bench.until("turn/completed")

    parent(act)
    assert "a note" in json.dumps(list(stage.requests[0].input))
