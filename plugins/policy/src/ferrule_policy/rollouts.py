"""Reads the actions of a thread from its records, whoever wrote them first."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.permissions import AdditionalPermissions
from ferrule_policy.action import (
    COMMAND_TOOL,
    Action,
    Phase,
    Recorded,
    approval_policy,
    command_call,
    sandbox_mode,
    stored_call,
    unwrapped,
)

if TYPE_CHECKING:
    from ferrule_hookspecs.decisions import DecisionFacts, PluginOpinion
    from ferrule_hookspecs.policies import ApprovalPolicy
    from ferrule_hookspecs.review import Decision, ReviewOutcome
    from ferrule_hookspecs.tools import ToolCall

Table = Mapping[str, object]
_NOT_JUDGED: Final = frozenset({"write_stdin", "update_plan"})
"""Tools of which only stored decisions are looked at: without any there is nothing to decide."""


@dataclass(slots=True)
class _Seen:
    """What the records say of one call.

    Attributes:
        call: The call.
        context: The turn's settings when it came.
        shown: The command as it was shown, after every change that plugins made.
        was_declined: Whether it ended declined.
        decisions: The decisions about it.
    """

    call: ToolCall
    context: Table
    shown: str = ""
    was_declined: bool = False
    decisions: list[Table] = field(default_factory=list[Table])


@dataclass(slots=True)
class ThreadReader:
    """Collects the calls of one thread.

    Attributes:
        thread_id: The thread.
        unjudged: Calls that never came to be judged, such as those with wrong arguments.
    """

    thread_id: str
    unjudged: int = 0
    _cwd: str = ""
    _context: Table = field(default_factory=dict[str, object])
    _calls: dict[str, _Seen] = field(default_factory=dict[str, "_Seen"])
    _is_own: bool = False

    def actions(self, records: Iterable[Table]) -> Iterator[Action]:
        """Yield every call that was judged, or that would be."""
        for record in records:
            payload = _table(record.get("payload"))
            match record.get("type"):
                case "session_meta":
                    self._cwd = self._cwd or str(payload.get("cwd") or "")
                case "turn_context":
                    self._context = payload
                case "response_item":
                    if call := stored_call(payload):
                        self._calls[call.call_id] = _Seen(call, self._context)
                case "event_msg":
                    self._event(payload)
                case _:
                    pass
        for seen in self._calls.values():
            yield from self._actions_of(seen)

    def _event(self, payload: Table) -> None:
        kind = payload.get("type")
        if kind == "decision":
            self._is_own = True
            seen = self._calls.get(str(payload.get("call_id")))
            if seen is not None and payload.get("phase") != "network":  # of its connections
                seen.decisions.append(payload)
        elif kind in ("item_started", "item_completed"):
            item = _table(payload.get("item"))
            if seen := self._calls.get(str(item.get("id"))):
                if kind == "item_started":
                    seen.shown = str(item.get("command") or "")
                seen.was_declined = item.get("status") == "declined"

    def _actions_of(self, seen: _Seen) -> Iterator[Action]:
        """Yield the decision about a call, and that about leaving the sandbox after all."""
        if not seen.decisions:
            if self._is_own or seen.call.tool in _NOT_JUDGED:
                self.unjudged += 1
                return
            answer = "declined" if seen.was_declined else ""
            yield self._action(seen, Recorded(answer=answer), {}, "requirement")
            return
        for number, payload in enumerate(seen.decisions):
            facts = payload.get("facts")
            is_rewritten = payload.get("tool") not in (None, seen.call.tool)
            if is_rewritten or (facts is None and not _is_old(payload)):
                self.unjudged += 1
                continue
            given = cast("DecisionFacts", facts or {})
            phase: Phase = "escalation" if number else "requirement"
            yield self._action(seen, _recorded(payload, given), given, phase)

    def _action(
        self, seen: _Seen, recorded: Recorded, facts: DecisionFacts | Table, phase: Phase
    ) -> Action:
        stored = approval_policy(seen.context.get("approval_policy"))
        named = facts.get("approvalPolicy")
        mode = facts.get("sandboxMode") or seen.context.get("sandbox_policy")
        return Action(
            self.thread_id,
            str(seen.decisions[0].get("turn_id") or "") if seen.decisions else "",
            _as_shown(seen.call, seen.shown),
            str(facts.get("cwd") or seen.context.get("cwd") or self._cwd),
            str(seen.context.get("model") or ""),
            _named(named, stored),
            sandbox_mode(mode),
            recorded,
            phase,
        )


def _is_old(payload: Table) -> bool:
    """Whether a decision was stored before its facts were."""
    return "facts" not in payload


def _named(name: object, stored: ApprovalPolicy | None) -> ApprovalPolicy | None:
    """The policy a decision names, with the details of the turn where it is `granular`."""
    if name == "granular" or name is None:
        return stored
    return approval_policy(name)


def _recorded(payload: Table, facts: DecisionFacts | Table) -> Recorded:
    outcome = cast("ReviewOutcome", payload.get("outcome") or {})
    answer = str(outcome.get("decision") or "")
    was_asked = payload.get("phase") in ("review", "escalation")
    decision: Decision = "allow" if answer.startswith("accept") else "deny"
    decision = "ask" if was_asked else decision
    opinions = facts.get("opinions")
    return Recorded(
        decision,
        answer if was_asked else "",
        str(outcome.get("reason") or ""),
        str(outcome.get("rule") or ""),
        str(outcome.get("reviewer") or ""),
        cast("Mapping[str, PluginOpinion]", opinions) if isinstance(opinions, dict) else None,
        bool(facts["escalated"]) if "escalated" in facts else None,
        str(facts.get("requirement") or ""),
        _permissions(_table(facts.get("permissions"))),
        facts.get("lasting") is True,
    )


def _permissions(told: Table) -> AdditionalPermissions | None:
    """Read what a call wanted, in the form in which clients are told."""
    files = _table(told.get("fileSystem"))
    read, write = (
        tuple(str(path) for path in cast("list[object]", files.get(key) or ()))
        for key in ("read", "write")
    )
    wanted = AdditionalPermissions(_table(told.get("network")).get("enabled") is True, read, write)
    return wanted if any(wanted) else None


def _as_shown(call: ToolCall, shown: str) -> ToolCall:
    """The call as it was judged: a plugin may have changed what the model had written."""
    if call.tool != COMMAND_TOOL or not shown:
        return call
    try:
        script = str(unwrapped(shlex.split(shown))["cmd"])
    except ValueError:
        return call
    if script == call.arguments.get("cmd"):
        return call
    return command_call(call.call_id, {**call.arguments, "cmd": script})


def _table(value: object) -> Table:
    return cast("Table", value) if isinstance(value, dict) else {}
