"""The suite for tools.

from ferrule_testkit import ToolConformance

class TestTicketTool(ToolConformance):
    arguments = {"title": "leak"}

    def make(self, context):
        return TicketTool(context)
"""

from __future__ import annotations

import copy
import json
import os
import re
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Final, cast

import anyio
import anyio.lowlevel
import pytest

from ferrule_hookspecs.errors import ToolArgumentError, ToolError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import ResolvedPolicy
from ferrule_hookspecs.tools import (
    FreeformSchema,
    FunctionSchema,
    HostedSchema,
    Requirement,
    Tool,
    ToolCall,
    ToolResult,
)
from ferrule_testkit.conformance.declared import declared, target_of
from ferrule_testkit.conformance.odd_values import frozen, odd_arguments
from ferrule_testkit.conformance.scene import MARK, LocalSession, Scene, scene, writable
from ferrule_testkit.conformance.starts import noted_starts
from ferrule_testkit.conformance.suite import Conformance, drive, must, snapshot
from ferrule_testkit.processes import survivors

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TURNS_BEFORE_CANCEL: Final = (0, 1, 3, 30)


class ToolConformance(Conformance):
    """What every tool has to do.

    Attributes:
        arguments: A call that works, as the model would write it.
        text: With a freeform tool: an input that works.
        wrong: Arguments that do not fit, each beside what the schema itself rules out.
        files: What lies in the workspace before a call, by name.
        answer: What the client says to every question; None where no client can be asked.
        needs: Why a call cannot be made without a kernel; the tests of calls are then skipped.
        is_named_by_hook: The hook `ferrule_tools` offers it, so that it has no entry point.
    """

    arguments: ClassVar[Mapping[str, object]] = {}
    text: ClassVar[str] = ""
    wrong: ClassVar[Sequence[Mapping[str, object]]] = ()
    files: ClassVar[Mapping[str, str | bytes]] = {}
    answer: ClassVar[Mapping[str, object] | None] = None
    needs: ClassVar[str] = ""
    is_named_by_hook: ClassVar[bool] = False

    def make(self, context: PluginContext) -> Tool:
        """Make the tool under test."""
        raise NotImplementedError("say with `make` which tool is tested")

    def modules(self, context: PluginContext) -> Sequence[str]:
        """The module of what `make` makes."""
        return (type(self.make(context)).__module__,)

    @pytest.fixture
    def tool(self, context: PluginContext) -> Tool:
        """The tool under test; each test closes what it uses."""
        return self.make(context)

    @pytest.fixture
    def mark(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        """What every process that the tool starts has in its environment; ended with the test."""
        mark = uuid.uuid4().hex
        monkeypatch.setenv(MARK, mark)
        yield mark
        for pid in _marked(mark):
            os.kill(pid, signal.SIGKILL)

    @pytest.fixture
    def call(self, tool: Tool, workspace: Path) -> ToolCall:
        """A call that works, as the kernel hands it over."""
        if self.needs:
            pytest.skip(self.needs)
        for name, content in self.files.items():
            path = workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return _call(tool, self._in_place(self.arguments, workspace), self.text)

    def test_its_name_is_that_of_its_entry_point(
        self, tool: Tool, request: pytest.FixtureRequest
    ) -> None:
        must(isinstance(tool, Tool), "a tool is a subclass of Tool", "tools.Tool")
        wish = f"a name has up to 64 letters, digits, - and _; this is {tool.name!r}"
        must(_NAME.fullmatch(tool.name), wish, "tools.Tool.name")
        if self.is_named_by_hook:
            return
        names = declared("ferrule.tools", target_of(tool), request.path)
        wish = f"the entry point of {target_of(tool)} is called {tool.name!r}, not {sorted(names)}"
        must(tool.name in names, wish, "slots.TOOL_GROUP")

    def test_its_description_tells_the_model_what_it_is_for(self, tool: Tool) -> None:
        schema = tool.schema()
        if isinstance(schema, HostedSchema) or tool.internal:
            pytest.skip("no model reads it")
        must(schema.description.strip(), "a description is there", "tools.Tool.description")

    def test_its_schema_is_one_that_models_can_be_told(self, tool: Tool) -> None:
        schema = tool.schema()
        must(schema.name == tool.name, "the schema has the tool's name", "tools.Tool.schema")
        if isinstance(schema, FreeformSchema):
            must(schema.definition.strip(), "there is a grammar", "tools.FreeformSchema")
            return
        body = schema.settings if isinstance(schema, HostedSchema) else schema.parameters
        must(_is_plain(body), "the schema is JSON and nothing else", "tools.FunctionSchema")
        if isinstance(schema, FunctionSchema):
            _check_parameters(schema.parameters)

    def test_its_schema_stays_the_same(self, tool: Tool, context: PluginContext) -> None:
        first = copy.deepcopy(tool.schema())
        must(tool.schema() == first, "the schema is stable", "tools.Tool.schema")
        again = self.make(context).schema()
        must(again == first, "a second instance has the same schema", "tools.Tool.schema")

    def test_making_one_starts_and_writes_nothing(
        self, context: PluginContext, workspace: Path
    ) -> None:
        self.make(context)  # what it imports is imported by now
        before = snapshot(workspace.parent)
        with noted_starts() as noted:
            self.make(context)
        must(not noted, f"making it {', '.join(noted)}", "tools.Tool.__init__")
        must(snapshot(workspace.parent) == before, "making it writes", "tools.Tool.__init__")

    def test_normalising_is_done_after_the_first_time(self, tool: Tool, workspace: Path) -> None:
        if not isinstance(tool.schema(), FunctionSchema):
            pytest.skip("it is not called with arguments")
        given = self._in_place(self.arguments, workspace)
        once = tool.normalize(given)
        must(_is_plain(once), "normalised arguments are JSON", "tools.Tool.normalize")
        must(tool.normalize(once) == once, "twice is like once", "tools.Tool.normalize")

    def test_normalising_leaves_what_it_is_given_as_it_is(
        self, tool: Tool, workspace: Path
    ) -> None:
        if not isinstance(tool.schema(), FunctionSchema):
            pytest.skip("it is not called with arguments")
        given = dict(self._in_place(self.arguments, workspace))
        before = copy.deepcopy(given)
        tool.normalize(given)
        must(given == before, "what the model wrote is not changed", "tools.Tool.normalize")

    def test_arguments_that_do_not_fit_are_refused_in_one_sentence(self, tool: Tool) -> None:
        schema = tool.schema()
        if not isinstance(schema, FunctionSchema):
            pytest.skip("it is not called with arguments")
        ruled_out = [dict(each) for each in self.wrong]
        if schema.parameters.get("required"):
            ruled_out.append({})
        for arguments in ruled_out:
            said = _refusal(tool, arguments)
            wish = f"{arguments!r} raises ToolArgumentError with a sentence for the model"
            must(said is not None and said.strip(), wish, "tools.Tool.normalize")

    def test_no_arguments_raise_anything_else(self, tool: Tool) -> None:
        schema = tool.schema()
        if not isinstance(schema, FunctionSchema):
            pytest.skip("it is not called with arguments")
        for arguments in odd_arguments(schema.parameters):
            _refusal(tool, arguments)

    def test_how_a_call_is_shown_can_be_told_to_clients(self, tool: Tool, call: ToolCall) -> None:
        item = tool.item(call, "/")
        if item is None:
            return
        must(item["id"] == call.call_id, "an item has the id of its call", "tools.Tool.item")
        must(_is_plain(item), "an item is JSON", "items")

    def test_what_a_call_needs_is_told_under_every_policy(
        self, tool: Tool, call: ToolCall, workspace: Path
    ) -> None:
        policies = [
            writable(workspace),
            ResolvedPolicy("read-only", str(workspace)),
            ResolvedPolicy("danger-full-access", str(workspace), unconfined=True),
        ]
        for policy in policies:
            needed = tool.requirement(call, LocalSession(policy))
            must(isinstance(needed, Requirement), "the answer is one", "tools.Tool.requirement")
            wish = "whoever asks for approval says why"
            must(needed.kind == "skip" or needed.reason.strip(), wish, "tools.Requirement.reason")

    def test_a_call_gives_a_result(
        self, tool: Tool, call: ToolCall, workspace: Path, mark: str
    ) -> None:
        result = drive(lambda: self._run(tool, call, workspace, mark))
        must(isinstance(result, ToolResult), "a call returns a ToolResult", "tools.Tool.run")
        wish = "the output is a text, or parts of a message"
        must(isinstance(result.output, str | list), wish, "tools.ToolResult.output")
        must(_is_plain(result.output), "the output is JSON", "tools.ToolResult.output")
        must(_is_plain(result.item), "the item is JSON", "tools.ToolResult.item")

    def test_a_call_changes_nothing_that_was_reviewed(
        self, tool: Tool, call: ToolCall, workspace: Path, mark: str
    ) -> None:
        before = _thawed(call.arguments)
        drive(lambda: self._run(tool, call, workspace, mark))
        must(_thawed(call.arguments) == before, "what was reviewed runs", "tools.ToolCall")

    def test_a_tool_that_only_reads_changes_no_file(
        self, tool: Tool, call: ToolCall, workspace: Path, mark: str
    ) -> None:
        if not tool.read_only:
            pytest.skip("it may change things")
        before = snapshot(workspace)
        drive(lambda: self._run(tool, call, workspace, mark))
        must(snapshot(workspace) == before, "it is `read_only` and writes", "tools.Tool.read_only")

    def test_calls_may_overlap_where_it_says_so(
        self, tool: Tool, call: ToolCall, workspace: Path, mark: str
    ) -> None:
        if not tool.parallel:
            pytest.skip("its calls do not overlap")
        results: list[ToolResult] = []

        async def several() -> None:
            async with scene(workspace, mark, self.answer) as place:

                async def one(number: int) -> None:
                    each = call._replace(call_id=f"call_{number}")
                    results.append(await tool.run(each, place))

                try:
                    async with anyio.create_task_group() as group:
                        for number in range(4):
                            group.start_soon(one, number)
                finally:
                    await tool.aclose()

        drive(several)
        must(len(results) == 4, "each of the calls gives a result", "tools.Tool.parallel")

    @pytest.mark.parametrize("turns", _TURNS_BEFORE_CANCEL)
    def test_a_cancelled_call_ends_and_leaves_no_process(
        self, tool: Tool, call: ToolCall, workspace: Path, mark: str, turns: int
    ) -> None:
        async def begin_and_cancel() -> None:
            async with scene(workspace, mark, self.answer) as place:
                try:
                    async with anyio.create_task_group() as group:
                        group.start_soon(_run_quietly, tool, call, place)
                        for _ in range(turns):
                            await anyio.lowlevel.checkpoint()
                        group.cancel_scope.cancel()
                finally:
                    await tool.aclose()

        drive(begin_and_cancel)
        left = _marked(mark)
        must(not left, f"what it started lives on: {left}", "tools.Tool.aclose")

    def test_closing_it_may_be_done_twice_and_without_a_call(self, tool: Tool) -> None:
        async def close() -> None:
            await tool.aclose()
            await tool.aclose()

        drive(close)

    async def _run(self, tool: Tool, call: ToolCall, workspace: Path, mark: str) -> ToolResult:
        async with scene(workspace, mark, self.answer) as place:
            try:
                return await tool.run(call, place)
            finally:
                await tool.aclose()

    def _in_place(self, arguments: Mapping[str, object], workspace: Path) -> Mapping[str, object]:
        """Arguments in which `{workspace}` stands for the folder of the test."""
        text = json.dumps(arguments).replace("{workspace}", json.dumps(str(workspace))[1:-1])
        return json.loads(text)


def _call(tool: Tool, arguments: Mapping[str, object], text: str) -> ToolCall:
    if isinstance(tool.schema(), FreeformSchema):
        return ToolCall("call_1", tool.name, MappingProxyType({}), text, "freeform")
    given = tool.normalize(arguments)
    written = json.dumps(given, ensure_ascii=False, default=dict)
    kept = cast("Mapping[str, object]", frozen(given))
    return ToolCall("call_1", tool.name, kept, written, "function")


def _marked(mark: str) -> dict[int, str]:
    """Processes that have the mark, where such can be found."""
    if not Path("/proc/self/environ").exists():
        return {}
    return {pid: words for pid, words in survivors(f"{MARK}={mark}").items() if words}


async def _run_quietly(tool: Tool, call: ToolCall, place: Scene) -> None:
    """Run a call; a tool may say that it could not be done."""
    try:
        await tool.run(call, place)
    except ToolError:
        return


def _refusal(tool: Tool, arguments: Mapping[str, object]) -> str | None:
    """What a tool says to arguments it refuses; None where it takes them."""
    try:
        tool.normalize(arguments)
    except ToolArgumentError as error:
        return str(error)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        must(False, f"{arguments!r} raises ToolArgumentError, not {said}", "tools.Tool.normalize")
    return None


def _check_parameters(parameters: Mapping[str, object]) -> None:
    where = "tools.FunctionSchema.parameters"
    must(parameters.get("type") == "object", "the parameters are of type object", where)
    properties = parameters.get("properties", {})
    must(isinstance(properties, Mapping), "properties are a table", where)
    known = cast("Mapping[str, object]", properties)
    required = cast("Sequence[str]", parameters.get("required", ()))
    unknown = [name for name in required if name not in known]
    must(not unknown, f"required arguments are among the properties; {unknown} are not", where)
    _check_by_library(parameters)


def _check_by_library(parameters: Mapping[str, object]) -> None:
    try:
        from jsonschema import Draft202012Validator, SchemaError
    except ImportError:  # the kit does without; where it is installed it knows more
        return
    try:
        Draft202012Validator.check_schema(parameters)
    except SchemaError as error:
        must(False, f"the schema is valid JSON Schema: {error.message}", "tools.FunctionSchema")


def _is_plain(value: object) -> bool:
    """Whether something can be written as JSON: it may have to cross into another process."""
    try:
        json.dumps(value, default=_proxy)
    except (TypeError, ValueError):
        return False
    return True


def _proxy(value: object) -> object:
    if isinstance(value, MappingProxyType):
        return dict(cast("Mapping[str, object]", value))
    raise TypeError(type(value).__name__)


def _thawed(value: object) -> object:
    thaw: Callable[[object], object] = _thawed
    if isinstance(value, Mapping):
        return {key: thaw(each) for key, each in cast("Mapping[str, object]", value).items()}
    if isinstance(value, tuple | list):
        return [thaw(each) for each in cast("list[object]", value)]
    return value
