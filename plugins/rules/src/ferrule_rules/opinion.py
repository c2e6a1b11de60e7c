"""From what is known about a command to an opinion on the call that runs it."""

from __future__ import annotations

import shlex
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.review import Verdict
from ferrule_rules.judgement import Judge
from ferrule_rules.sources import Source, places_of
from ferrule_rules.wrappers import program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.policies import ApprovalPolicy
    from ferrule_hookspecs.tools import ToolCall, TurnInfo
    from ferrule_rules.judgement import Judgement, Restriction
    from ferrule_rules.sources import Places, Policy

_POSIX_SHELLS: Final = frozenset({"", "bash", "sh", "dash", "zsh", "ksh", "ash"})
_POWERSHELLS: Final = frozenset({"pwsh", "powershell", "pwsh.exe", "powershell.exe"})
_LONG: Final = 4096
_SHOWN: Final = 200


class Asked(NamedTuple):
    """What is asked for beside the command itself.

    Attributes:
        policy: When somebody may be asked, in this turn.
        leaves_sandbox: Whether the call asks to run outside of the sandbox.
        prefix: The rule that the model proposes.
    """

    policy: ApprovalPolicy
    leaves_sandbox: bool = False
    prefix: tuple[str, ...] = ()

    @property
    def asks_rules(self) -> bool:
        """Whether a question of this plugin may be put before anybody."""
        return isinstance(self.policy, str) or self.policy["granular"]["rules"]


_warned: dict[str, set[str]] = {}


@lru_cache(maxsize=16)
def _source(places: Places) -> Source:
    return Source(places)


@lru_cache(maxsize=16)
def _judge(source: Source, _version: int) -> Judge:
    return Judge(source.policy())


def forget(thread_id: str) -> None:
    """Forget what a session was warned of."""
    _warned.pop(thread_id, None)


async def opinion(call: ToolCall, turn: TurnInfo, context: PluginContext) -> Verdict | None:
    """Judge a call of `exec_command`."""
    source = _source(places_of(context))
    policy = source.policy()
    _warn(policy, context)
    judge = _judge(source, source.version)
    script = str(call.arguments.get("cmd", ""))
    if len(script) > _LONG:  # the event loop has more to do meanwhile
        from anyio import to_thread

        found = await to_thread.run_sync(_judged, judge, script, call)
    else:
        found = _judged(judge, script, call)
    return verdict(found, policy, _asked(call, turn))


def _judged(judge: Judge, script: str, call: ToolCall) -> Judgement:
    shell = str(call.arguments.get("shell") or "/bin/bash")
    name = program(shell).lower()
    if name in _POWERSHELLS:
        return judge.powershell(script)
    option = "-lc" if call.arguments.get("login", True) else "-c"
    found = judge.script(script, (shell, option))
    return found if name in _POSIX_SHELLS else found._replace(segments=None)


def _asked(call: ToolCall, turn: TurnInfo) -> Asked:
    wants_out = call.arguments.get("sandbox_permissions") == "require_escalated"
    is_out = turn.sandbox_mode == "danger-full-access" and turn.approval_policy != "never"
    leaves = wants_out and not is_out
    prefix = call.arguments.get("prefix_rule")
    words = cast("Sequence[str]", prefix) if isinstance(prefix, (list, tuple)) else ()
    return Asked(turn.approval_policy, leaves, tuple(words))


def _warn(policy: Policy, context: PluginContext) -> None:
    """Say once per session what is wrong with which file."""
    known = _warned.setdefault(context.thread_id, set())
    for text in (*map(str, policy.flaws), *policy.notes):
        if text not in known:
            known.add(text)
            context.warn(text)


def verdict(found: Judgement, policy: Policy, asked: Asked) -> Verdict | None:
    """Turn a judgement into an opinion; None where there is nothing to say."""
    for restriction in found.restrictions:
        if restriction.decision == "forbidden":
            return Verdict.deny(_forbidden(restriction), _named(restriction))
    if found.restrictions:
        return _prompt(found.restrictions)
    if hidden := policy.hidden:
        return Verdict.ask(f"a rules file is broken and may forbid this: {hidden.summary}", "rules")
    if found.unread:
        return Verdict.ask(f"nobody can tell what the command does: {found.unread}", "rules")
    if found.threats:
        return _dangerous(found, asked)
    return _granted(found, asked) or _question(found, asked)


def _prompt(restrictions: Sequence[Restriction]) -> Verdict:
    first = restrictions[0]
    why = first.rule.justification or f"the rule `{first.rule}` asks ({first.rule.place})"
    if not first.is_certain:
        why += "; whether it applies cannot be known before it runs"
    reviewer = next((one.rule.reviewer for one in restrictions if one.rule.reviewer), "")
    return Verdict(
        "ask", f"`{_shown(first)}` requires approval: {why}", _named(first), reviewer=reviewer
    )


def _forbidden(restriction: Restriction) -> str:
    rule = restriction.rule
    why = rule.justification or f"the rule `{rule}` forbids it ({rule.place})"
    return f"`{_shown(restriction)}` rejected: {why}"


def _named(restriction: Restriction) -> str:
    return f"{restriction.rule} ({restriction.rule.place})"


def _shown(restriction: Restriction) -> str:
    command = restriction.command
    words = [word for word in command.argv if word is not None]
    text = shlex.join(words) if len(words) == len(command.argv) else command.text
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _dangerous(found: Judgement, asked: Asked) -> Verdict | None:
    if asked.policy == "never":
        for threat in found.threats:
            if threat.danger.refused_unasked:
                reason = f"{threat.danger.reason}; nobody may be asked, so it does not run"
                return Verdict.deny(f"{reason}. Do it in a way that can be undone", "dangerous")
        return None
    from ferrule_rules.amendments import proposal

    worst = min(found.threats, key=lambda threat: threat.danger.severity)
    amendments = proposal(found, asked.prefix, leaves_sandbox=asked.leaves_sandbox)
    return Verdict("ask", worst.danger.reason, "dangerous", amendments=amendments)


def _granted(found: Judgement, asked: Asked) -> Verdict | None:
    """Grant what rules allow; what only reads is granted inside of the sandbox alone."""
    if found.is_allowed:
        rules = {str(one.match.rule): None for one in found.segments or () if one.match}
        may_leave = not asked.leaves_sandbox or asked.policy != "never"
        return Verdict("allow", "your rules allow it", "; ".join(rules), grants=may_leave)
    if found.is_harmless and not asked.leaves_sandbox:
        return Verdict("allow", "it only reads", "known to be safe", grants=True)
    return None


def _question(found: Judgement, asked: Asked) -> Verdict | None:
    """Offer a lasting rule where somebody is going to be asked anyway."""
    if not asked.asks_rules or asked.policy == "never":
        return None
    if asked.policy != "untrusted" and not asked.leaves_sandbox:
        return None
    from ferrule_rules.amendments import proposal

    amendments = proposal(found, asked.prefix, leaves_sandbox=asked.leaves_sandbox)
    if asked.policy == "untrusted":
        reason = "approval policy 'untrusted' asks before every command that may change something"
        return Verdict("ask", reason, "untrusted", amendments=amendments)
    if not amendments:
        return None
    return Verdict("ask", "the command asks to leave the sandbox", "rules", amendments=amendments)
