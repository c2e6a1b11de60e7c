"""Calls hooks: pluggy holds the specifications and registers, the calls are made here.

The kernel calls `assess`, `gather`, `observe` and `rewrite` by a hook's kind. Every implementation
has a deadline, may be a function or a coroutine function, and fails alone: its fault is reported
once, and where an opinion was asked for, a fault is a refusal. A plugin is imported when a hook it
serves is first called; a hook that nobody serves costs one look into a dictionary.
"""

from __future__ import annotations

import asyncio
import inspect
from copy import copy
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import anyio

from ferrule.abandonable import AbandonableCall
from ferrule.call_limit import call_limit
from ferrule.containment import FAULTS, is_cancelled
from ferrule.editions import load_entry
from ferrule.hook_times import MEASURED
from ferrule_hookspecs.errors import PluginError, SessionRefusedError
from ferrule_hookspecs.markers import PATIENCE, REPLAYABLE
from ferrule_hookspecs.review import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import pluggy

    from ferrule.call_limit import CallLimit
    from ferrule.entry import Entry
    from ferrule.guarding import Guard
    from ferrule_hookspecs.markers import HookContract, HookKind
    from ferrule_hookspecs.plugins import PluginContext

_STRICTNESS: Final = {"deny": 0, "ask": 1, "allow": 2}


def strictest(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Combine opinions: deny beats ask beats allow, whatever their order; none is an allow."""
    return min(
        verdicts.values(),
        key=lambda verdict: (_STRICTNESS[verdict.decision], repr(verdict[1:])),
        default=Verdict.allow(),
    )


class _Answer(NamedTuple):
    entry: Entry
    value: object = None
    fault: str = ""


def _as_it_is(entry: Entry, context: PluginContext) -> PluginContext:
    return context


class Dispatcher:
    """Calls every plugin that serves a hook, by the rules of the hook's contract."""

    def __init__(
        self,
        entries: Sequence[Entry],
        report: Callable[[str], None],
        *,
        absent_guards: Mapping[str, Guard] | None = None,
        given: Callable[[Entry, PluginContext], PluginContext] = _as_it_is,
    ) -> None:
        """Take the usable hook modules; none of them is imported before it is called.

        `given` makes of the context what one plugin may know of it.
        """
        self._report = report
        self._given = given
        self._absent_guards = dict(absent_guards or {})
        self._serving: dict[str, list[Entry]] = {}
        for entry in entries:
            for hook in entry.hooks:
                self._serving.setdefault(hook, []).append(entry)
        self._ordered: set[str] = set()
        self._reported: set[tuple[str, str]] = set()
        self._manager: pluggy.PluginManager | None = None
        self._broken: dict[str, str] = {}
        self._hung: dict[tuple[str, str], AbandonableCall[object]] = {}

    def only(self, plugins: Collection[str]) -> Dispatcher:
        """Call some of the plugins, as this one has loaded them."""
        part = copy(self)
        part._ordered = set()
        part._serving = {
            hook: [entry for entry in entries if entry.name in plugins]
            for hook, entries in self._serving.items()
        }
        return part

    def serving(self, name: str) -> Sequence[Entry]:
        """List the plugins that serve a hook, in declared order."""
        found = self._serving.get(name)
        if found is None:
            return ()
        if len(found) > 1 and name not in self._ordered:
            from ferrule.order import declared_order

            self._ordered.add(name)
            found[:] = declared_order(found, self._report)
        return found

    async def assess(self, name: str, **kwargs: object) -> dict[str, Verdict]:
        """Ask for opinions, all at the same time; a fault is a refusal that names the plugin."""
        return self._opinions(name, await self._ask_at_once(name, self.serving(name), kwargs))

    async def assess_detached(
        self, name: str, **kwargs: object
    ) -> tuple[dict[str, Verdict], list[str]]:
        """Ask only those for opinions that may be asked outside of a session; name the others."""
        willing: list[Entry] = []
        left_out: list[str] = []
        for entry in self.serving(name):
            if await self._is_replayable(entry, name):
                willing.append(entry)
            else:
                left_out.append(entry.name)
        return self._opinions(name, await self._ask_at_once(name, willing, kwargs)), left_out

    async def _is_replayable(self, entry: Entry, name: str) -> bool:
        """Whether a plugin may be asked; one that cannot be loaded is, and its fault refuses."""
        try:
            implementation = await self._implementation(entry, name)
        except PluginError:
            return True
        return getattr(implementation.function, REPLAYABLE, False) is True

    def _opinions(self, name: str, answers: Sequence[_Answer]) -> dict[str, Verdict]:
        """Read answers as verdicts; whoever is required and absent refuses."""
        verdicts = {
            plugin: Verdict.deny(f"{guard.label} {guard.role} and cannot be used: {guard.reason}")
            for plugin, guard in self._absent_guards.items()
            if not guard.hooks or name in guard.hooks
        }
        for answer in answers:
            verdict = answer.value
            if answer.fault:
                verdicts[answer.entry.name] = Verdict.deny(f"{answer.entry.label}: {answer.fault}")
            elif isinstance(verdict, Verdict) and verdict.decision in list(_STRICTNESS):
                verdicts[answer.entry.name] = verdict
            elif verdict is not None:
                fault = f"hook {name} returned {type(verdict).__name__}, not a Verdict"
                self._tell(answer.entry, name, fault)
                verdicts[answer.entry.name] = Verdict.deny(f"{answer.entry.label}: {fault}")
        return verdicts

    async def gather(self, name: str, **kwargs: object) -> list[tuple[str, object]]:
        """Collect answers with the names of their plugins, in declared order, faults left out."""
        answers = [await self._ask(entry, name, "gather", kwargs) for entry in self.serving(name)]
        return [(a.entry.name, a.value) for a in answers if not a.fault and a.value is not None]

    async def observe(self, name: str, **kwargs: object) -> None:
        """Tell every plugin, in declared order."""
        for entry in self.serving(name):
            await self._ask(entry, name, "observe", kwargs)

    async def rewrite(self, name: str, **kwargs: object) -> object | None:
        """Return the one replacement that a plugin offers; None when there is none.

        Raises:
            PluginError: A plugin failed, or two plugins answered.
        """
        answers = [await self._ask(entry, name, "rewrite", kwargs) for entry in self.serving(name)]
        for answer in answers:
            if answer.fault:
                raise PluginError(f"{answer.entry.label}: {answer.fault}; {answer.entry.mend}")
        given = [answer for answer in answers if answer.value is not None]
        if len(given) > 1:
            labels = " and ".join(answer.entry.label for answer in given)
            raise PluginError(f"{labels} both answered {name}; disable one of them")
        return given[0].value if given else None

    async def _ask_at_once(
        self, name: str, entries: Sequence[Entry], kwargs: Mapping[str, object]
    ) -> list[_Answer]:
        if len(entries) < 2:
            return [await self._ask(entry, name, "assess", kwargs) for entry in entries]
        answers: dict[str, _Answer] = {}

        async def ask(entry: Entry) -> None:
            answers[entry.name] = await self._ask(entry, name, "assess", kwargs)

        async with anyio.create_task_group() as group:
            for entry in entries:
                group.start_soon(ask, entry)
        return [answers[entry.name] for entry in entries]

    async def _ask(
        self, entry: Entry, name: str, kind: HookKind, kwargs: Mapping[str, object]
    ) -> _Answer:
        """Call one implementation; whatever goes wrong becomes the answer's fault."""
        fault = ""
        with call_limit(_contract(name, kind).timeout_s) as limit:
            try:
                return _Answer(entry, await self._run(entry, name, kwargs, limit))
            except asyncio.CancelledError:
                if is_cancelled():
                    raise
                fault = f"hook {name} raised CancelledError"
            except SessionRefusedError:
                raise
            except FAULTS as error:
                fault = _describe(name, error)
        fault = fault or f"hook {name} did not answer within {limit.seconds:g} s"
        self._tell(entry, name, fault)
        return _Answer(entry, fault=fault)

    async def _run(
        self, entry: Entry, name: str, kwargs: Mapping[str, object], limit: CallLimit
    ) -> object:
        implementation = await self._implementation(entry, name)
        # Anew: what its import took is not the call's.
        limit.start(getattr(implementation.function, PATIENCE, limit.seconds))
        if "context" in implementation.argnames:
            context = cast("PluginContext", kwargs["context"])
            kwargs = {**kwargs, "context": self._given(entry, context)}
        arguments = [kwargs[argument] for argument in implementation.argnames]
        function = implementation.function
        began = anyio.current_time()
        try:
            if inspect.iscoroutinefunction(function):
                return await function(*arguments)
            value = await self._in_thread(entry, name, lambda: function(*arguments))
            return await value if inspect.isawaitable(value) else value
        finally:
            MEASURED.add(entry, name, anyio.current_time() - began, limit.seconds)

    async def _in_thread(self, entry: Entry, name: str, function: Callable[[], object]) -> object:
        """Run blocking code; while an earlier call of it still hangs, no second one is started."""
        earlier = self._hung.get((entry.name, name))
        if earlier is not None and earlier.is_running:
            raise PluginError("an earlier call, given up at its deadline, still runs")
        call = AbandonableCall(function)
        try:
            return await call.run()
        finally:
            if call.is_running:
                self._hung[entry.name, name] = call

    async def _implementation(self, entry: Entry, name: str) -> pluggy.HookImpl:
        """Register the plugin with pluggy if need be, and return what it implements."""
        manager = self._pluggy()
        if not manager.has_plugin(entry.name):
            await self._register(entry, manager)
        caller = getattr(manager.hook, name)
        for implementation in caller.get_hookimpls():
            if implementation.plugin_name == entry.name:
                return implementation
        raise PluginError(f"{name} is not implemented any more")

    async def _register(self, entry: Entry, manager: pluggy.PluginManager) -> None:
        if entry.name in self._broken:
            raise PluginError(self._broken[entry.name])
        earlier = self._hung.get((entry.name, "import"))
        if earlier is not None and earlier.is_running:  # slow is not broken: it may end yet
            raise PluginError("its import, given up at its deadline, still runs")
        try:
            plugin = await self._in_thread(entry, "import", lambda: load_entry(entry))
            if not manager.has_plugin(entry.name):
                manager.register(plugin, entry.name)
        except Exception as error:
            self._broken[entry.name] = f"it cannot be loaded: {type(error).__name__}: {error}"
            raise PluginError(self._broken[entry.name]) from error

    def _pluggy(self) -> pluggy.PluginManager:
        if self._manager is None:
            import pluggy

            from ferrule_hookspecs import hooks, markers

            self._manager = pluggy.PluginManager(markers.PROJECT)
            self._manager.add_hookspecs(hooks)
        return self._manager

    def _tell(self, entry: Entry, name: str, fault: str) -> None:
        if (entry.name, name) in self._reported:
            return
        self._reported.add((entry.name, name))
        self._report(f"{entry.label}: {fault}; {entry.mend}")


def _contract(name: str, kind: HookKind) -> HookContract:
    from ferrule_hookspecs import hooks, markers

    contract = markers.HOOK_CONTRACTS.get(name)
    if contract is None or contract.kind != kind:
        raise TypeError(f"{name} is not a hook of {hooks.__name__} of the kind {kind}")
    return contract


def _describe(name: str, error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, PluginError):
        return f"hook {name}: {text}"
    return f"hook {name} raised {type(error).__name__}" + (f": {text}" if text else "")
