"""A tool call of the past, with what is known of the decision about it."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from ferrule_hookspecs.policies import APPROVAL_MODES, SANDBOX_MODES
from ferrule_hookspecs.tools import ToolCall

if TYPE_CHECKING:
    from ferrule_hookspecs.decisions import PluginOpinion
    from ferrule_hookspecs.permissions import AdditionalPermissions
    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxMode
    from ferrule_hookspecs.review import Decision

COMMAND_TOOL: Final = "exec_command"
_OTHER_SHELLS: Final = frozenset({"shell", "shell_command", "container.exec", "local_shell"})
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_SHOWN: Final = 160
Phase = Literal["requirement", "escalation"]


class Recorded(NamedTuple):
    """What was decided at the time.

    Attributes:
        decision: What the policy came to; None where that was not recorded.
        answer: What a reviewer said, where one was asked, or `declined` where only that is known.
        reason: Why, in words.
        rule: What decided.
        by: Who decided.
        opinions: What each plugin said; None where that was not recorded.
        escalated: Whether the call asked to leave the sandbox.
        requirement: What the tool itself said; empty where that was not recorded.
        permissions: What the call wanted beyond its sandbox.
        lasting: Whether it wanted that for later calls, too.
    """

    decision: Decision | None = None
    answer: str = ""
    reason: str = ""
    rule: str = ""
    by: str = ""
    opinions: Mapping[str, PluginOpinion] | None = None
    escalated: bool | None = None
    requirement: str = ""
    permissions: AdditionalPermissions | None = None
    lasting: bool = False

    @property
    def was_declined(self) -> bool:
        """Whether somebody, a person or a policy, said no."""
        return self.decision == "deny" or self.answer in ("decline", "cancel", "declined")


class Action(NamedTuple):
    """A tool call of the past.

    Attributes:
        thread_id: The thread, or the file of a transcript.
        turn_id: The turn, as far as it is known.
        call: What was called.
        cwd: Where.
        model: By which model.
        approval: The approval policy of the turn; None where there was none of ours.
        sandbox: The sandbox mode of the turn; None where there was none of ours.
        recorded: What was decided at the time.
        phase: escalation: what was decided after the sandbox had refused something.
    """

    thread_id: str
    turn_id: str
    call: ToolCall
    cwd: str
    model: str = ""
    approval: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None
    recorded: Recorded = Recorded()
    phase: Phase = "requirement"

    @property
    def script(self) -> str:
        """The shell script; empty for other tools."""
        return str(self.call.arguments.get("cmd", "")) if self.call.tool == COMMAND_TOOL else ""

    @property
    def shown(self) -> str:
        """The call in one short line."""
        text = self.script or f"{self.call.tool} {self.call.text}"
        text = " ".join(text.split())
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

    @property
    def wants_out(self) -> bool:
        """Whether the call itself asks to leave the sandbox."""
        return self.call.arguments.get("sandbox_permissions") == "require_escalated"


def command_call(call_id: str, arguments: Mapping[str, object]) -> ToolCall:
    """Return a call of a shell command."""
    text = json.dumps(dict(arguments), ensure_ascii=False, default=str)
    return ToolCall(call_id, COMMAND_TOOL, MappingProxyType(dict(arguments)), text, "function")


def stored_call(item: Mapping[str, object]) -> ToolCall | None:
    """Read a call from an item of the model's history; None where it is none."""
    kind, call_id = item.get("type"), str(item.get("call_id") or "")
    name = f"{item.get('namespace') or ''}{item.get('name') or ''}"
    if kind == "custom_tool_call":
        text = str(item.get("input") or "")
        return ToolCall(call_id, name, MappingProxyType({}), text, "freeform")
    if kind == "local_shell_call":
        return command_call(call_id, _of_other_shell(_table(item.get("action"))))
    if kind != "function_call":
        return None
    text = str(item.get("arguments") or "{}")
    try:
        given = _table(json.loads(text))
    except (ValueError, RecursionError):
        given = {}
    if name in _OTHER_SHELLS:
        return command_call(call_id, _of_other_shell(given))
    return ToolCall(call_id, name, MappingProxyType(dict(given)), text, "function")


def approval_policy(value: object) -> ApprovalPolicy | None:
    """Read an approval policy; None where it is none of ours."""
    if isinstance(value, str):
        return cast("ApprovalPolicy", value) if value in APPROVAL_MODES else None
    granular = _table(_table(value).get("granular"))
    if not granular:
        return None
    asked = {key: granular.get(key) is True for key in ("sandbox_approval", "rules")}
    return cast("ApprovalPolicy", {"granular": {**granular, **asked}})


def sandbox_mode(value: object) -> SandboxMode | None:
    """Read a sandbox mode, from its name or from a policy in either of its spellings."""
    if isinstance(value, Mapping):
        table = _table(value)
        value = table.get("type") or table.get("mode")
    if not isinstance(value, str):
        return None
    name = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in value)
    return cast("SandboxMode", name) if name in SANDBOX_MODES else None


def unwrapped(argv: list[str]) -> dict[str, object]:
    """Return the arguments that run an argument list, without a shell around it."""
    is_shell = len(argv) == 3 and os.path.basename(argv[0]) in _SHELLS
    if is_shell and argv[1] in ("-c", "-lc", "-cl"):
        return {"cmd": argv[2], "shell": argv[0], "login": "l" in argv[1]}
    return {"cmd": shlex.join(argv)}


def _of_other_shell(given: Mapping[str, object]) -> dict[str, object]:
    command = given.get("command", given.get("cmd"))
    made: dict[str, object] = {"cmd": command} if isinstance(command, str) else {}
    if isinstance(command, (list, tuple)):
        made = unwrapped([str(word) for word in cast("list[object]", command)])
    made.setdefault("cmd", "")
    escalated = given.get("with_escalated_permissions") is True
    if escalated or given.get("sandbox_permissions") == "require_escalated":
        made["sandbox_permissions"] = "require_escalated"
    folder = given.get("workdir") or given.get("working_directory")
    if isinstance(folder, str):
        made["workdir"] = folder
    return made


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
