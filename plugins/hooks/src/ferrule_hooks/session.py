"""The hooks of one session: which of them may run, and what became of those that did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hooks.announcement import Announcer
from ferrule_hooks.answers import Answer
from ferrule_hooks.background import Background
from ferrule_hooks.runner import run_all, run_one
from ferrule_hooks.surroundings import Surroundings
from ferrule_hooks.trust import TrustRules
from ferrule_hookspecs.review import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ferrule_hooks.calls import Judgement
    from ferrule_hooks.handler import Handler
    from ferrule_hooks.payloads import Payload
    from ferrule_hooks.trust import State
    from ferrule_hookspecs.plugins import PluginContext

LOOK: Final = "look at it with `ferrule hooks list` and trust it with `ferrule hooks trust`"
READ_ANEW: Final = "the hooks have changed; they were read anew and count from this turn on"
_BYPASSED: Final = (
    "hooks run without having been trusted, because `--dangerously-bypass-hook-trust` is set"
)


class HookSession:
    """What is known of the hooks of one session.

    Attributes:
        context: The session's.
        judged: What was found out about calls that are about to run, by call.
        prolonged: Turns that a Stop hook had go on.
        pending_context: Text for the model that goes out with the next prompt.
        stop_reason: Why the next prompt is refused.
        compaction: What set off the last compaction.
        own_calls: Calls that hooks make themselves, about which no hook is asked.
    """

    def __init__(
        self, context: PluginContext, handlers: Sequence[Handler], broken: Sequence[str] = ()
    ) -> None:
        self.judged: dict[str, Judgement] = {}
        self.prolonged: set[str] = set()
        self.pending_context: list[str] = []
        self.stop_reason: str | None = None
        self.compaction: str = "auto"
        self.own_calls: set[str] = set()
        self._background = Background()
        self._told: set[str] = set()
        self._states: dict[Handler, State] = {}
        self._take(context, handlers, broken)
        self._announce()

    def renew(
        self, context: PluginContext, handlers: Sequence[Handler], broken: Sequence[str]
    ) -> None:
        """Go on with hooks that were read anew, and say what changed.

        While a file cannot be read, those that were read before go on.
        """
        before = self._states
        if broken:
            self._broken = broken
            return
        self._take(context, handlers, broken)
        if self._states != before:
            context.warn(READ_ANEW)
            self._announce()

    def _take(
        self, context: PluginContext, handlers: Sequence[Handler], broken: Sequence[str]
    ) -> None:
        rules = TrustRules(context)
        states: dict[Handler, State] = {each: rules.state(each) for each in handlers}
        by_event: dict[str, list[Handler]] = {}
        for handler, state in states.items():
            if state != "off":
                by_event.setdefault(handler.event, []).append(handler)
        self.context = context
        self._broken = broken
        self._rules, self._states, self._by_event = rules, states, by_event
        self._announcer = Announcer(context, handlers)
        self._environ = _environ(context)

    def doubt(self, verdict: Verdict | None = None) -> Verdict | None:
        """Have a call asked about while a file cannot be read that may hold a guard."""
        if not self._broken or (verdict is not None and verdict.decision != "allow"):
            return verdict
        files = ", ".join(self._broken)
        reason = f"{files} cannot be read and may hold a hook that guards this call; mend it"
        return Verdict.ask(reason, self._broken[0])

    def has(self, event: str) -> bool:
        """Tell whether there is anything to do at an event."""
        return event in self._by_event

    async def run(
        self, event: str, payload: Payload, names: Iterable[str] = (), *, limit_s: float = 0.0
    ) -> list[Answer]:
        """Run the hooks of an event, or refuse in the place of guards that may not run.

        Args:
            event: The event.
            payload: What they are told.
            names: What matchers are compared with.
            limit_s: The most that any of them may take; 0 for what each says.
        """
        names = tuple(names)
        matching = [
            handler
            for handler in self._by_event.get(event, ())
            if not handler.facts.subject or handler.matches(names)
        ]
        usable = [handler for handler in matching if self._may_run(handler)]
        answers = [
            Answer(handler, "deny", f"{_named(handler)} stands guard here, but it {why}; {LOOK}")
            for handler in matching
            if handler not in usable and handler.facts.is_guard
            for why in [self._why_not(handler)]
        ]
        around = self._surroundings(str(payload["cwd"]))
        waited = [self._bounded(handler, limit_s) for handler in usable if not handler.is_async]
        for handler in usable:
            if handler.is_async:
                self._background.start(self._run_alone(handler, payload, around))

        async def run(handler: Handler) -> Answer:
            return await self._announcer.follow(handler, payload, run_one(handler, payload, around))

        answers += await run_all(waited, run)
        for answer in answers:
            self._pass_on(answer)
        return answers

    async def aclose(self) -> None:
        """End the hooks that still run."""
        await self._background.aclose()

    def warn(self, message: str) -> None:
        """Tell the user something once."""
        if message not in self._told:
            self._told.add(message)
            self.context.warn(message)

    def _may_run(self, handler: Handler) -> bool:
        if self._states[handler] != "trusted":
            return False
        # The model may have changed or made a script since: look again, each time.
        if handler.kind == "command" and self._rules.state(handler) != "trusted":
            self.warn(f"{_named(handler)} does not run any more: it {_CHANGED}; {LOOK}")
            return False
        return True

    def _why_not(self, handler: Handler) -> str:
        return "is not trusted" if self._states[handler] == "untrusted" else _CHANGED

    def _bounded(self, handler: Handler, limit_s: float) -> Handler:
        if not limit_s or handler.timeout_s <= limit_s:
            return handler
        from dataclasses import replace

        return replace(handler, timeout_s=limit_s)

    def _surroundings(self, cwd: str) -> Surroundings:
        context = self.context
        root = context.project_root or cwd
        return Surroundings(cwd, self._environ, root, context.services, self.own_calls)

    async def _run_alone(self, handler: Handler, payload: Payload, around: Surroundings) -> None:
        run = run_one(handler, payload, around)
        answer = await self._announcer.follow(handler, payload, run)
        if answer.failure is not None:
            self.warn(f"{_named(handler)} {answer.failure}")

    def _pass_on(self, answer: Answer) -> None:
        if answer.message:
            self.context.warn(answer.message)
        if answer.failure is not None and answer.decision != "deny":
            self.warn(f"{_named(answer.handler)} {answer.failure}; on_error lets it pass")

    def _announce(self) -> None:
        """Say once which hooks do not run, and what that means."""
        waiting = [each for each, state in self._states.items() if state in _WAITING]
        if waiting:
            self.context.warn(_untrusted(waiting))
        if self._rules.is_bypassed and any(
            handler.source.standing != "administrator" for handler in self._states
        ):
            self.context.warn(_BYPASSED)
        if "off" in self._states.values() and self._rules.only_managed:
            self.context.warn(
                f"{self.context.admin / 'requirements.toml'}: allow_managed_hooks_only leaves only "
                "the administrator's hooks; yours and the project's do not run"
            )


_CHANGED: Final = "has changed since it was trusted"
_WAITING: Final = ("untrusted", "changed")


def _untrusted(handlers: Sequence[Handler]) -> str:
    files: dict[str, list[str]] = {}
    for handler in handlers:
        files.setdefault(handler.source.file, []).append(f"{handler.event}: `{handler.target}`")
    listed = "; ".join(f"{file} ({', '.join(names)})" for file, names in files.items())
    guards = any(handler.facts.is_guard for handler in handlers)
    meaning = ", and the calls they guard are refused" if guards else ""
    return (
        f"these hooks are not trusted, so they do not run{meaning}: {listed}; look at them with "
        "`ferrule hooks list` and trust them with `ferrule hooks trust`"
    )


def _named(handler: Handler) -> str:
    return f"the {handler.event} hook `{handler.target}` ({handler.source.file})"


def _environ(context: PluginContext) -> Mapping[str, str]:
    """The user's own environment: hooks are the user's programs, so nothing is held back."""
    root = context.project_root or context.cwd
    return {**context.environ, "FERRULE_PROJECT_DIR": root, "CLAUDE_PROJECT_DIR": root}
