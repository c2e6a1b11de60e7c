"""The suite for modules of hooks.

from ferrule_testkit import HooksConformance
from ferrule_acme import hooks

class TestHooks(HooksConformance):
    def make(self):
        return hooks
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Final, cast

import anyio
import pluggy
import pytest

from ferrule_hookspecs import hooks, markers
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.review import Verdict
from ferrule_hookspecs.slots import HOOK_GROUP
from ferrule_hookspecs.tools import ToolResult
from ferrule_testkit.conformance import actions
from ferrule_testkit.conformance.declared import declared
from ferrule_testkit.conformance.suite import PATIENCE_S, Conformance, drive, imported, must

HEAVY: Final = frozenset(
    (
        *("httpx", "jsonschema", "mcp", "numpy", "openai", "pandas", "pydantic", "requests"),
        *("stevedore", "textual", "tomlkit", "torch", "typer"),
    )
)
"""Libraries that a module of hooks imports inside of the functions that need them, if at all."""
_SESSION: Final = (
    *("ferrule_session_start", "ferrule_context_fragments", "ferrule_context_updates"),
    *("ferrule_turn_start", "ferrule_prompt_submit", "ferrule_tools", "ferrule_models"),
    *("ferrule_tool_rewrite", "ferrule_tool_before", "ferrule_permission_request"),
    *("ferrule_tool_after", "ferrule_tool_output", "ferrule_tool_failure"),
    *("ferrule_compact_before", "ferrule_compact_after", "ferrule_turn_stop"),
    *("ferrule_turn_end", "ferrule_session_end"),
)
"""The hooks that the suite calls, in the order of a session."""
_Hook = Callable[..., object]


class HooksConformance(Conformance):
    """What every module of hooks has to do.

    Attributes:
        leaves_out: Hooks that cannot be called without a kernel.
    """

    leaves_out: ClassVar[Sequence[str]] = ()

    def make(self) -> ModuleType:
        """Name the module under test."""
        raise NotImplementedError("say with `make` which module is tested")

    def modules(self, context: PluginContext) -> Sequence[str]:
        """The module itself."""
        return (self.make().__name__,)

    @pytest.fixture
    def served(self) -> Mapping[str, _Hook]:
        """What the module implements, by name."""
        module = self.make()
        return {
            name: getattr(module, name)
            for name in dir(module)
            if hasattr(getattr(module, name), f"{markers.PROJECT}_impl")
        }

    def test_its_entry_point_names_the_module(self, request: pytest.FixtureRequest) -> None:
        names = declared(HOOK_GROUP, self.make().__name__, request.path)
        must(names, f"{self.make().__name__} is an entry point of {HOOK_GROUP}", "slots.HOOK_GROUP")

    def test_every_hook_is_one_and_is_marked(self, served: Mapping[str, _Hook]) -> None:
        must(served, "the module implements a hook", "markers.hookimpl")
        for name in dir(self.make()):
            if name in markers.HOOK_CONTRACTS:
                must(name in served, f"{name} has the marker @hookimpl", "markers.hookimpl")
        unknown = sorted(set(served) - set(markers.HOOK_CONTRACTS))
        must(not unknown, f"{unknown} are no hooks of this version", "hooks")

    def test_its_arguments_are_those_of_the_hook(self, served: Mapping[str, _Hook]) -> None:
        manager = pluggy.PluginManager(markers.PROJECT)
        manager.add_hookspecs(hooks)
        try:
            manager.register(self.make(), "under test")
        except pluggy.PluginValidationError as error:
            must(False, " ".join(str(error).split()), "hooks")
        for name, function in served.items():
            options = cast("Mapping[str, object]", getattr(function, f"{markers.PROJECT}_impl"))
            plain = not options.get("wrapper") and not options.get("hookwrapper")
            must(plain, f"{name} is no wrapper: such are not called", "markers.hookimpl")

    def test_its_order_is_declared_in_a_form_that_is_read(self) -> None:
        order = getattr(self.make(), "FERRULE_ORDER", {})
        where = "FERRULE_ORDER"
        must(isinstance(order, Mapping), "it is a table", where)
        known = {"before", "after", "outermost"}
        unknown = set(cast("Mapping[str, object]", order)) - known
        must(not unknown, f"{sorted(unknown)} is not known there", where)

    def test_nothing_heavy_is_imported_with_it(self, request: pytest.FixtureRequest) -> None:
        if not request.config.getini("ferrule_thorough"):
            pytest.skip("ferrule_thorough is off")
        came = sorted(imported(self.make().__name__).modules & HEAVY)
        must(not came, f"{came} come with it; import them where they are used", "markers")

    def test_opinions_have_their_form_whatever_is_judged(
        self, served: Mapping[str, _Hook], context: PluginContext, workspace: Path
    ) -> None:
        judging = [
            name
            for name in served
            if markers.HOOK_CONTRACTS[name].kind == "assess" and name not in self.leaves_out
        ]

        async def judge_all() -> None:
            for name in judging:
                for given in _judged(context, workspace):
                    _check_opinion(name, await _called(served[name], given))

        drive(judge_all)

    def test_a_session_goes_through_it(
        self, served: Mapping[str, _Hook], context: PluginContext, workspace: Path
    ) -> None:
        async def session() -> None:
            for name in _SESSION:
                if name in served and name not in self.leaves_out:
                    given = _arguments(name, context, workspace)
                    _check_answer(name, await _called(served[name], given))

        drive(session)


async def _called(function: _Hook, given: Mapping[str, object]) -> object:
    """Call an implementation as the kernel does: with a deadline, blocking code in a thread."""
    names = list(inspect.signature(function).parameters)
    arguments = [given[name] for name in names]
    with anyio.fail_after(PATIENCE_S):
        if inspect.iscoroutinefunction(function):
            return await cast("Awaitable[object]", function(*arguments))
        value = await anyio.to_thread.run_sync(lambda: function(*arguments))
        return await value if inspect.isawaitable(value) else value


def _arguments(name: str, context: PluginContext, workspace: Path) -> dict[str, object]:
    call = actions.function_call("exec_command", actions.PLAIN["command"])
    return {
        "context": context,
        "turn": actions.turn(str(workspace)),
        "call": call,
        "request": actions.question(call, str(workspace)),
        "result": ToolResult("done"),
        "failure": None,
        "reason": {"ferrule_session_end": "closed"}.get(name, "manual"),
        "source": "startup",
        "told": {},
        "model": None,
        "prompt": [{"type": "text", "text": "hello"}],
        "outcome": {"id": "turn-1", "items": [], "status": "completed", "error": None},
        "summary": "it is done",
        "last_message": "done",
    }


def _judged(context: PluginContext, workspace: Path) -> Iterator[dict[str, object]]:
    usual = _arguments("", context, workspace)
    for call in actions.calls():
        yield {**usual, "call": call, "request": actions.question(call, str(workspace))}
    for request in actions.requests(str(workspace)):
        yield {**usual, "call": request.call, "request": request}


def _check_opinion(name: str, answer: object) -> None:
    where = f"hooks.{name}"
    must(answer is None or isinstance(answer, Verdict), f"{answer!r} is no Verdict", where)
    if isinstance(answer, Verdict):
        known = answer.decision in ("allow", "ask", "deny")
        must(known, f"{answer.decision!r} is one of allow, ask, deny", "review.Verdict")
        says = answer.decision == "allow" or answer.reason.strip()
        must(says, "whoever asks or denies says why", "review.Verdict.reason")


def _check_answer(name: str, answer: object) -> None:
    kind = markers.HOOK_CONTRACTS[name].kind
    if kind == "assess":
        _check_opinion(name, answer)
    if kind == "observe":
        must(answer is None, "an observer answers nothing", f"hooks.{name}")
    if kind == "gather" and isinstance(answer, list):
        for each in cast("list[object]", answer):
            must(type(each).__module__ != "builtins", f"{each!r} has no form", f"hooks.{name}")
