"""What an open session does for its plugins when they ask: a model, files, a call of a tool."""

import json

import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.errors import ConfigError, PluginError, ToolArgumentError
from ferrule_hookspecs.provider import ModelRequest, TextDelta
from ferrule_hookspecs.review import Verdict
from ferrule_hookspecs.tools import SandboxDeniedError, Tool, ToolResult


@pytest.fixture
def during(bench, stage):
    """Run a function of the session's services while a call waits for approval."""
    bench.set_key("approval_policy", '"on-request"')

    def run(function):
        async def decide(request, context):
            _, arguments = next(c for c in stage.hook_calls if c[0] == "ferrule_session_start")
            await function(arguments["context"].services, request)
            return "decline"

        wish = json.dumps({"path": str(bench.folder / "outside.txt"), "escalate": True})
        stage.turns.extend([[call("touch", wish), DONE], [*say("ok"), DONE]])
        stage.reviews.append(decide)
        bench.turn()

    return run


def inside(bench, **more):
    return {"path": str(bench.workspace / "made.txt"), **more}


def test_a_call_goes_the_way_of_every_call_and_the_model_sees_nothing_of_it(bench, stage, during):
    results = []

    async def act(services, request):
        asked = {"call_id": "mine", "turn_id": request.turn_id}
        results.append(await services.call_tool("touch", inside(bench), **asked))

    during(act)

    assert results[0].success
    assert (bench.workspace / "made.txt").exists()
    assert [c.call_id for c in stage.ran] == ["mine"]
    assessed = [a["call"].call_id for n, a in stage.hook_calls if n == "ferrule_tool_before"]
    assert "mine" in assessed
    assert "mine" in [decision["itemId"] for decision in bench.of("item/decision")]
    assert "mine" not in bench.outputs(stage)


def test_what_a_plugin_denies_is_denied_here_too(bench, stage, during):
    stage.hooks["ferrule_tool_before"] = lambda call, **_: (
        Verdict.deny("not this one") if call.call_id == "mine" else None
    )
    results = []

    async def act(services, request):
        asked = {"call_id": "mine", "turn_id": request.turn_id}
        results.append(await services.call_tool("touch", inside(bench), **asked))

    during(act)

    assert not results[0].success
    assert "not this one" in results[0].output
    assert not (bench.workspace / "made.txt").exists()


def test_what_needs_approval_is_asked_about_here_too(bench, stage, during):
    results = []

    async def act(services, request):
        stage.reviews.append("cancel")
        asked = {"call_id": "mine", "turn_id": request.turn_id}
        wish = inside(bench, escalate=True)
        results.append(await services.call_tool("touch", wish, **asked))

    during(act)

    assert not results[0].success
    assert [r.call.call_id for r in stage.review_requests][-1] == "mine"
    assert bench.of("turn/completed")[0]["turn"]["status"] == "completed"


def test_a_tool_that_is_not_there_cannot_be_called(during):
    raised = []

    async def act(services, request):
        with pytest.raises(ToolArgumentError, match="no_such_tool") as caught:
            await services.call_tool("no_such_tool", {}, call_id="x", turn_id=request.turn_id)
        raised.append(caught)

    during(act)

    assert raised


def test_a_model_is_asked_and_the_session_closes_its_provider(stage, during):
    said = []

    async def act(services, request):
        stage.turns.appendleft([*say("my answer"), DONE])
        asked = ModelRequest("x", request.turn_id, "small", (), (), kind="review")
        said.extend([event async for event in services.provider().stream(asked)])
        with pytest.raises(ConfigError, match="elsewhere"):
            services.provider("elsewhere")

    during(act)

    assert TextDelta("my answer") in said
    assert stage.closed.count("provider") == 2


class Late(Tool):
    """Offered while the session is open."""

    description = "Comes late."

    async def run(self, call, context):
        return ToolResult(f"{self.name} ran")


def late(context, name, **more):
    return type("Late", (Late,), {"name": name, "__doc__": "Late.", **more})(context)


def test_tools_that_come_late_stand_behind_the_others_from_the_next_request_on(
    bench, stage, during
):
    bench.set_key("tools", "{ off_late = false }")
    added, told = [], []

    async def act(services, request):
        context = next(a for n, a in stage.hook_calls if n == "ferrule_session_start")["context"]
        names = ("z_late", "a_late", "touch", "apply_patch", "off_late")
        offered = [late(context, name) for name in names]
        added.extend(services.offer_tools([*offered, late(context, "inner", internal=True)]))
        ids = {"call_id": "mine", "turn_id": request.turn_id}
        told.append(await services.call_tool("inner", {}, **ids))

    during(act)

    assert added == ["z_late", "a_late", "inner"]
    before, after = [[tool.name for tool in r.tools] for r in stage.requests]
    assert after == [*before, "z_late", "a_late"]
    assert told[0].output == "inner ran"
    left_out = [w["message"] for w in bench.of("warning") if "is left out" in w["message"]]
    assert ["touch" in left_out[0], "apply_patch" in left_out[1]] == [True, True]


def test_files_are_those_that_the_sandbox_policy_allows(bench, during):
    (bench.workspace / "read.me").write_text("hello")
    (bench.host.home / "auth.json").write_text("secret")
    found = []

    async def act(services, request):
        files = services.files()
        found.append(await files.read(str(bench.workspace / "read.me")))
        with pytest.raises(SandboxDeniedError):
            await files.read(str(bench.host.home / "auth.json"))

    during(act)

    assert found == [b"hello"]


def test_nothing_can_be_asked_while_the_session_is_built(bench, stage):
    raised = []

    def tools(context):
        with pytest.raises(PluginError, match="not open yet") as caught:
            context.services.provider()
        raised.append(caught)

    stage.hooks["ferrule_tools"] = tools
    stage.turns.append([*say("ok"), DONE])
    bench.turn()

    assert raised
