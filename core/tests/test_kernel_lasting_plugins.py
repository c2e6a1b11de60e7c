"""What outlives a call: programs and background work of plugins, and refusals of whole sessions."""

import sys

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say
from kernel_plugins.tools import Note

from ferrule_hookspecs.errors import FerruleError, SessionRefusedError
from ferrule_hookspecs.host import ConfigEdit, ConfigRequest, ThreadOptions
from ferrule_hookspecs.review import Amendment
from ferrule_hookspecs.sandbox import Launch
from ferrule_hookspecs.tools import Requirement

OFFERED = Amendment("mcp_tool", ("server", "tool"))


class Asking(Note):
    """A tool that asks by itself, and offers a change for good."""

    name = "asking"

    def requirement(self, call, sandbox):
        return Requirement("approval", "may it?", amendments=(OFFERED,), details={"more": "words"})


def test_a_tool_offers_a_change_with_its_own_question(bench, stage):
    stage.hooks["ferrule_tools"] = lambda context: [Asking(context)]
    stage.reviews.append({"decision": "accept", "amendment": ["mcp_tool", "server", "tool"]})
    stage.turns.extend([[call("asking", '{"text": "x"}'), DONE], [*say("the end"), DONE]])
    bench.set_key("approval_policy", '"on-request"')

    bench.turn()

    (request,) = stage.review_requests
    assert request.amendments == (OFFERED,)
    assert request.details == {"more": "words"}
    kept = [arguments for name, arguments in stage.hook_calls if name == "ferrule_amendment"]
    assert [arguments["amendment"] for arguments in kept] == [OFFERED]


def test_a_session_that_a_plugin_refuses_does_not_open(bench, stage):
    stage.hooks["ferrule_tools"] = SessionRefusedError("the server is not there")

    with pytest.raises(FerruleError, match=r"^the server is not there$"):
        bench.turn()
    assert [n for n, _ in stage.hook_calls].count("ferrule_session_end") == 1
    assert stage.closed == ["provider"]


def test_a_call_with_a_namespace_is_one_of_the_joined_name(bench, stage):
    class Spaced(Note):
        name = "space__note"

    stage.hooks["ferrule_tools"] = lambda context: [Spaced(context)]
    spaced = call("note", '{"text": "x"}')
    spaced.item["namespace"] = "space"
    stage.turns.extend([[spaced, DONE], [*say("the end"), DONE]])

    bench.turn()

    assert [each.tool for each in stage.ran] == ["space__note"]


def test_plugins_get_a_runtime_and_a_voice(bench, stage):
    seen = []

    def offer(context):
        seen.append(context)
        params = {"threadId": context.thread_id, "name": "x", "status": "ready", "error": None}
        context.emit({"method": "mcpServer/startupStatus/updated", "params": params})

    stage.hooks["ferrule_tools"] = offer
    stage.turns.append([*say("the end"), DONE])

    bench.turn()

    assert seen[0].runtime is not None
    assert [each["name"] for each in bench.of("mcpServer/startupStatus/updated")] == ["x"]


def test_a_program_of_a_plugin_ends_with_the_kernel(bench):
    program = "import sys; print('up', flush=True); print('oops', file=sys.stderr); input()"
    processes = []

    async def main(kernel):
        launch = Launch((sys.executable, "-uc", program), {}, "/")
        process = await kernel.runtime.spawn(launch, open_stdin=True)
        processes.append((process, await process.read(), await process.read_stderr()))

    bench.host.run(main)

    process, out, errors = processes[0]
    assert (out.strip(), errors.strip()) == (b"up", b"oops")
    assert process.exit_code is not None


def test_background_work_that_fails_is_reported_and_ends_nothing(bench, stage):
    stage.turns.append([*say("the end"), DONE])
    warnings = []

    async def fail():
        raise ValueError("no luck")

    async def main(kernel):
        config = kernel.config(ConfigRequest(cwd=str(bench.workspace)))
        session = await kernel.threads.start(ThreadOptions(config, str(bench.workspace)))
        kernel.runtime.start(fail, "the work")
        with anyio.fail_after(120):
            async for event in session.events():
                if event["method"] == "warning":
                    warnings.append(event["params"]["message"])
                    if "the work" in warnings[-1]:
                        break

    bench.host.run(main)

    assert "the work failed: ValueError: no luck" in warnings


def test_a_plugin_changes_the_users_configuration(bench):
    async def main(kernel):
        kernel.runtime.write_config([ConfigEdit("model_verbosity", "low")])

    bench.host.run(main)

    assert 'model_verbosity = "low"' in (bench.host.home / "config.toml").read_text()
