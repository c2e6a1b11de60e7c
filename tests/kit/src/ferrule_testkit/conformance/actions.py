"""Tool calls of every kind that reviewers and guarding hooks have to judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, cast

from ferrule_hookspecs.egress import HostAccess
from ferrule_hookspecs.review import Amendment, ReviewRequest
from ferrule_hookspecs.sandbox import Denial
from ferrule_hookspecs.tools import ToolCall, TurnInfo
from ferrule_testkit.conformance.odd_values import HOSTILE_TEXTS, frozen

PLAIN: Final[Mapping[str, Mapping[str, object]]] = {
    "command": {"cmd": "make install"},
    "escalation": {"cmd": "make install", "sandbox_permissions": "require_escalated"},
    "question of a stranger's tool": {"id": 7, "nested": {"list": [1, None, True, "x"]}},
    "nothing": {},
}
_NAMES: Final = {"command": "exec_command", "escalation": "exec_command"}


def function_call(tool: str, arguments: Mapping[str, object]) -> ToolCall:
    """A call as the kernel hands it over."""
    given = cast("Mapping[str, object]", frozen(arguments))
    return ToolCall("call_1", tool, given, json.dumps(arguments), "function")


def calls() -> Iterator[ToolCall]:
    """Calls of every form, with ordinary arguments and with hostile ones."""
    for kind, arguments in PLAIN.items():
        yield function_call(_NAMES.get(kind, "acme_tool"), arguments)
    for text in HOSTILE_TEXTS:
        yield function_call("exec_command", {"cmd": text})
        yield ToolCall("call_1", "apply_patch", {}, text, "freeform")


def turn(cwd: str) -> TurnInfo:
    """The turn that the calls belong to."""
    return TurnInfo("thread-1", "turn-1", cwd, "gpt-5.5")


def requests(cwd: str) -> Iterator[ReviewRequest]:
    """Questions of every kind about such calls."""
    for call in calls():
        yield question(call, cwd)
    plain = question(function_call("exec_command", PLAIN["command"]), cwd)
    denial = Denial("write", "/etc/motd may not be written", "/etc/motd")
    yield plain._replace(escalation=True, reason="it runs outside of the sandbox")
    yield plain._replace(escalation=True, denial=denial, reason=denial.reason)
    yield plain._replace(amendments=(Amendment("command_prefix", ("make",)),))
    yield plain._replace(network=HostAccess("example.com", 443, "https"), item=None)


def question(call: ToolCall, cwd: str) -> ReviewRequest:
    """Ask about a call."""
    item = {
        "type": "dynamicToolCall",
        "id": call.call_id,
        "tool": call.tool,
        "arguments": call.text,
        "status": "inProgress",
    }
    return ReviewRequest("thread-1", "turn-1", call, item, "it may change things", cwd)  # pyright: ignore[reportArgumentType] -- an item as tools make it
