"""Every hook is called where its documentation says, with the arguments it names."""

import json

import pytest
from kernel_plugins.speech import DONE, USAGE, call, say
from kernel_plugins.tools import Note

from ferrule.doctor.battery import examine
from ferrule.doctor.examination import Examination
from ferrule_hookspecs.change_review import ReviewRefusal
from ferrule_hookspecs.errors import FerruleError, ProviderError, SessionRefusedError
from ferrule_hookspecs.hooks import (
    Check,
    ContextFragment,
    ContextUpdate,
    Continue,
    OutputReply,
    PromptReply,
)
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.recipes import Recipe
from ferrule_hookspecs.review import Amendment, Verdict
from ferrule_hookspecs.serving import RpcMethod


def calls_of(stage, name):
    return [arguments for called, arguments in stage.hook_calls if called == name]


@pytest.fixture
def plain(bench, stage):
    """Run one turn with one call."""
    stage.turns.extend([[call("note", '{"text": "x"}'), DONE], [*say("the end"), DONE]])

    def run(**hooks):
        stage.hooks.update(hooks)
        bench.turn("hello")
        return bench

    return run


def test_hook_ferrule_tools(plain, stage):
    class Extra(Note):
        name = "extra"

    plain(ferrule_tools=lambda context: [Extra(context)])

    assert "extra" in [tool.name for tool in stage.requests[0].tools]


def test_hook_ferrule_tools_cannot_take_a_name_that_is_taken(plain, stage):
    bench = plain(ferrule_tools=lambda context: [Note(context)])

    assert [tool.name for tool in stage.requests[0].tools].count("note") == 1
    assert any("note" in params["message"] for params in bench.of("warning"))


def test_hook_ferrule_models(plain, stage):
    plain()

    (arguments,) = calls_of(stage, "ferrule_models")
    assert arguments["model"] == "test-model"
    assert arguments["context"].thread_id


def test_hook_ferrule_checks(bench, stage):
    stage.hooks["ferrule_checks"] = [Check("staged.light", "warn", "it is dim", "turn it up")]
    request = ConfigRequest(cwd=str(bench.workspace))

    async def look(kernel):
        return await examine(Examination(bench.host, kernel, request), ["staged"])

    (finding,) = bench.host.run(look)

    (arguments,) = calls_of(stage, "ferrule_checks")
    assert (arguments["context"].thread_id, arguments["context"].cwd) == ("", request.cwd)
    assert finding.check.mend == "turn it up"
    assert finding.plugin


def test_hook_ferrule_review_task(bench, stage):
    bench.configure('plugins.disabled = ["review"]')
    stage.hooks["ferrule_review_task"] = ReviewRefusal("there is nothing to review")
    target = {"type": "commit", "sha": "abc"}

    async def script(session):
        with pytest.raises(FerruleError, match=r"^there is nothing to review$"):
            await bench.perform(session, "review/start", target=target)

    session = bench.run(script)

    (arguments,) = calls_of(stage, "ferrule_review_task")
    assert arguments["target"] == target
    assert arguments["context"].thread_id == session.thread["id"]


def test_hook_ferrule_egress(bench, stage):
    bench.configure("network.enabled = true")
    words = call("command", '{"argv": ["true"]}')
    stage.turns.extend([[words, words, DONE], [words, DONE], [*say("the end"), DONE]])

    bench.turn("hello")

    (arguments,) = calls_of(stage, "ferrule_egress")
    assert arguments["context"].cwd == str(bench.workspace)


def test_hook_ferrule_egress_is_not_called_where_the_network_is_not_enabled(bench, stage):
    words = call("command", '{"argv": ["true"]}')
    stage.turns.extend([[words, DONE], [*say("the end"), DONE]])

    bench.turn("hello")

    assert not calls_of(stage, "ferrule_egress")


def test_hook_ferrule_rpc_methods(bench, stage):
    async def answer(rpc_call):
        return {}

    stage.hooks["ferrule_rpc_methods"] = [RpcMethod("staged/one", answer)] * 2
    request = ConfigRequest(cwd=str(bench.workspace))

    async def gather(kernel):
        return await kernel.rpc_methods(kernel.config(request))

    methods = bench.host.run(gather)

    (arguments,) = calls_of(stage, "ferrule_rpc_methods")
    assert arguments["context"].thread_id == ""
    assert [method.name for method in methods].count("staged/one") == 1


class Glass:
    """A view in which every command says something first."""

    root = ""
    closed = 0

    def command(self, command):
        return command

    def launch(self, launch):
        return launch._replace(argv=("/bin/sh", "-c", 'echo seen; exec "$@"', "-", *launch.argv))

    async def aclose(self):
        self.closed += 1


def test_hook_ferrule_workspace_view(bench, stage):
    bench.set_key("overlay", "true")
    bench.set_key("plugins.disabled", '["overlay"]')
    words = call("command", '{"argv": ["echo", "said"]}')
    stage.turns.extend([[words, DONE], [*say("the end"), DONE]])
    glass = Glass()
    stage.hooks["ferrule_workspace_view"] = lambda context, policy: glass

    bench.turn("hello")

    (arguments,) = calls_of(stage, "ferrule_workspace_view")
    assert arguments["context"].thread_id
    assert str(bench.workspace) in [root.path for root in arguments["policy"].writable_roots]
    assert "seen\nsaid" in str(stage.requests[1].input[-1]["output"])
    assert glass.closed == 1


def test_hook_ferrule_workspace_view_is_not_called_where_none_is_wanted(plain, stage):
    plain()

    assert not calls_of(stage, "ferrule_workspace_view")


def test_a_session_that_wants_a_view_and_gets_none_is_refused(bench, stage):
    bench.set_key("overlay", "true")
    bench.set_key("plugins.disabled", '["overlay"]')

    with pytest.raises(SessionRefusedError, match="ferrule-overlay"):
        bench.turn("hello")


def test_hook_ferrule_recipes(bench, stage):
    bench.set_key("sandbox_recipes", '["shelf"]')
    shelf = bench.folder / "shelf"
    shelf.mkdir()
    recipe = Recipe("shelf", "a folder", ("touch",), writable=(str(shelf),))
    place = {"path": str(shelf / "file")}
    stage.turns.extend([[call("touch", json.dumps(place)), DONE], [*say("the end"), DONE]])
    stage.hooks["ferrule_recipes"] = [recipe]

    bench.turn("hello")

    (arguments,) = calls_of(stage, "ferrule_recipes")
    assert arguments["context"].thread_id
    assert (shelf / "file").read_text() == "touched"


def test_hook_ferrule_recipes_is_not_called_where_none_is_named(plain, stage):
    plain(ferrule_recipes=[])

    assert calls_of(stage, "ferrule_recipes") == []


def test_hook_ferrule_context_fragments(plain, stage):
    plain(ferrule_context_fragments=[ContextFragment("House rule: be kind.")])

    assert "House rule: be kind." in str(stage.requests[0].input[1])


def test_hook_ferrule_context_updates(plain, stage):
    fragment = ContextFragment("House rule: be kind.", key="house", state="kind")
    update = ContextUpdate("house", "stern", "The house rule changed: be stern.")

    plain(ferrule_context_fragments=[fragment], ferrule_context_updates=[update])

    (arguments,) = calls_of(stage, "ferrule_context_updates")
    assert arguments["told"] == {"house": "kind"}
    assert arguments["context"].thread_id
    roles = [item["role"] for item in stage.requests[0].input]
    assert roles == ["developer", "developer", "user", "developer", "user"]
    assert "be stern" in str(stage.requests[0].input[3])


def test_hook_ferrule_tool_rewrite(plain, stage):
    plain()

    (arguments,) = calls_of(stage, "ferrule_tool_rewrite")
    assert arguments["call"].tool == "note"


def test_hook_ferrule_tool_before(plain, stage):
    plain(ferrule_tool_before=Verdict.deny("no"))

    assert stage.ran == []


def test_hook_ferrule_permission_request(plain, stage, bench):
    plain(ferrule_tool_before=Verdict.ask("may it?"))

    assert calls_of(stage, "ferrule_permission_request") == []  # under `never` nobody is asked


def test_hook_ferrule_session_start(plain, stage):
    plain()

    (arguments,) = calls_of(stage, "ferrule_session_start")
    assert arguments["source"] == "startup"


def test_hook_ferrule_session_end(plain, stage):
    plain()

    (arguments,) = calls_of(stage, "ferrule_session_end")
    assert arguments["reason"] == "closed"


def test_hook_ferrule_prompt_submit(plain, stage):
    plain(ferrule_prompt_submit=PromptReply(context="It is raining."))

    assert "It is raining." in str(stage.requests[0].input[-1])


def test_hook_ferrule_prompt_submit_may_refuse_the_input(plain, stage):
    bench = plain(ferrule_prompt_submit=PromptReply(block_reason="not on Sundays"))

    assert stage.requests == []
    assert "not on Sundays" in bench.of("turn/completed")[0]["turn"]["error"]["message"]


def test_hook_ferrule_turn_start(plain, stage):
    bench = plain()

    (arguments,) = calls_of(stage, "ferrule_turn_start")
    assert arguments["turn"].turn_id == bench.of("turn/started")[0]["turn"]["id"]


def test_hook_ferrule_turn_end(plain, stage):
    plain()

    (arguments,) = calls_of(stage, "ferrule_turn_end")
    assert arguments["outcome"]["status"] == "completed"


def test_hook_ferrule_request_before(plain, stage):
    plain()

    assert [a["request"] for a in calls_of(stage, "ferrule_request_before")] == stage.requests


def test_hook_ferrule_request_after(plain, stage):
    plain()

    first, second = calls_of(stage, "ferrule_request_after")
    assert first["items"][0]["name"] == "note"
    assert second["usage"] == USAGE
    assert second["error"] is None


def test_hook_ferrule_request_after_sees_a_failure(bench, stage):
    stage.turns.append([ProviderError("no", kind="badRequest")])

    bench.turn()

    (arguments,) = calls_of(stage, "ferrule_request_after")
    assert arguments["error"] == {"message": "no", "codexErrorInfo": "badRequest"}


def test_hook_ferrule_tool_after(plain, stage):
    plain()

    (arguments,) = calls_of(stage, "ferrule_tool_after")
    assert arguments["result"].output == "noted x"


def test_hook_ferrule_tool_output_is_called_whatever_the_success(plain, stage):
    plain(ferrule_tool_before=Verdict.deny("no"))

    (arguments,) = calls_of(stage, "ferrule_tool_output")
    assert arguments["failure"] == "no"


def test_hook_ferrule_tool_output(plain, stage):
    plain(ferrule_tool_output=OutputReply("something else", "It is raining."))

    (arguments,) = calls_of(stage, "ferrule_tool_output")
    assert arguments["failure"] is None
    assert arguments["result"].output != "something else"
    output, note = stage.requests[1].input[-2:]
    assert output["output"] == "something else"
    assert (note["role"], note["content"][0]["text"]) == ("developer", "It is raining.")


def test_hook_ferrule_tool_failure(plain, stage):
    plain(ferrule_tool_before=Verdict.deny("no"))

    (arguments,) = calls_of(stage, "ferrule_tool_failure")
    assert arguments["reason"] == "no"


def test_hook_ferrule_compact_before(bench, stage):
    bench.configure('compactor = "staged"\nmodel_auto_compact_token_limit = 10')
    stage.hooks["ferrule_compact_before"] = Verdict.deny("keep it")
    stage.turns.extend([[call("note"), DONE], [*say("ok"), DONE]])

    bench.turn()

    (arguments,) = calls_of(stage, "ferrule_compact_before")
    assert arguments["reason"] == "auto"
    assert bench.items("contextCompaction") == []


def test_hook_ferrule_compact_after(bench, stage):
    bench.configure('compactor = "staged"\nmodel_auto_compact_token_limit = 10')
    stage.turns.extend([[call("note"), DONE], [*say("ok"), DONE]])

    bench.turn()

    (arguments,) = calls_of(stage, "ferrule_compact_after")
    assert arguments["summary"] == "compacted: auto"


def test_hook_ferrule_subagent_start(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    bench.turn(parent_thread_id="parent")

    (arguments,) = calls_of(stage, "ferrule_subagent_start")
    assert arguments["parent_thread_id"] == "parent"


def test_hook_ferrule_subagent_stop(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    bench.turn(parent_thread_id="parent")

    assert [name for name, _ in stage.hook_calls][-2:] == [
        "ferrule_subagent_stop",
        "ferrule_session_end",
    ]


def test_hook_ferrule_turn_stop(bench, stage):
    stage.turns.extend([[*say("done?"), DONE], [*say("really done"), DONE]])
    answers = iter([Continue("Are you sure?"), None])
    stage.hooks["ferrule_turn_stop"] = lambda turn, last_message: next(answers)

    bench.turn()

    assert "Are you sure?" in str(stage.requests[1].input[-1])


def test_hook_ferrule_turn_stop_cannot_prolong_a_turn_for_ever(bench, stage):
    stage.turns.extend([*say("done?"), DONE] for _ in range(20))
    stage.hooks["ferrule_turn_stop"] = Continue("more")

    bench.turn()

    assert len(stage.requests) == 9


def test_hook_ferrule_notify(plain, stage):
    plain()

    (arguments,) = calls_of(stage, "ferrule_notify")
    assert arguments["notification"].kind == "turn_complete"
    assert arguments["notification"].last_message == "the end"
    assert arguments["notification"].input_messages == ("hello",)


def test_hook_ferrule_amendment(bench, stage):
    offered = Amendment("command_prefix", ("note", "x"))
    stage.hooks["ferrule_tool_before"] = Verdict("ask", "is it?", amendments=(offered,))
    stage.reviews.append({"decision": "accept", "amendment": ["command_prefix", "note", "x"]})
    stage.turns.extend([[call("note", '{"text": "x"}'), DONE], [*say("the end"), DONE]])
    bench.set_key("approval_policy", '"on-request"')

    bench.turn()

    (arguments,) = calls_of(stage, "ferrule_amendment")
    assert arguments["amendment"] == offered


def test_hook_ferrule_turn_diff(bench, stage):
    writes = [call("touch", f'{{"path": "{bench.workspace}/{name}"}}', id_=name) for name in "ab"]
    stage.turns.extend([[call("note"), DONE], [*writes, DONE], [*say("the end"), DONE]])

    def diff(turn, context):
        return "".join(sorted(path.name for path in bench.workspace.iterdir()))

    stage.hooks["ferrule_turn_diff"] = diff
    bench.turn(wants_diff=True)

    # The beginning, after each of the two calls that write, and the end.
    assert len(calls_of(stage, "ferrule_turn_diff")) == 4
    arguments = calls_of(stage, "ferrule_turn_diff")[0]
    assert arguments["turn"].turn_id == bench.of("turn/completed")[0]["turn"]["id"]
    assert arguments["context"].thread_id == arguments["turn"].thread_id
    assert [params["diff"] for params in bench.of("turn/diff/updated")] == ["a", "ab"]
    methods = [event["method"] for event in bench.events]
    assert methods.index("turn/diff/updated") < methods.index("turn/completed")


def test_hook_ferrule_turn_diff_is_not_called_where_nobody_wants_it(bench, stage):
    write = call("touch", f'{{"path": "{bench.workspace}/a"}}')
    stage.turns.extend([[write, DONE], [*say("the end"), DONE]])

    bench.turn()

    assert calls_of(stage, "ferrule_turn_diff") == []
