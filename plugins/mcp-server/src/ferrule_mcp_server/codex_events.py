"""`codex/event`: what a thread tells, in the form that clients of Codex's own MCP server know.

Codex's `raw_response_item` and `raw_response_completed` carry what was said to the model byte for
byte; that stays with the kernel, and they are not sent.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any, Final, cast

from ferrule_mcp_server.codex_items import began, changes_of, command_facts, ended
from ferrule_mcp_server.decisions import offered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule_hookspecs.events import Outgoing
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.threads import Turn

Event = dict[str, object]

_UPPER: Final = re.compile("[A-Z]")
_DELTAS: Final[Mapping[str, str]] = {
    "item/agentMessage/delta": "agent_message_content_delta",
    "item/reasoning/summaryTextDelta": "reasoning_content_delta",
    "item/reasoning/textDelta": "reasoning_raw_content_delta",
}


def configured(session: Session) -> Event:
    """Describe a thread that was opened: the first event of it."""
    facts, thread = session.facts, session.thread
    return {
        "type": "session_configured",
        "session_id": thread["id"],
        "thread_id": thread["id"],
        "model": facts.model,
        "model_provider_id": facts.model_provider,
        "approval_policy": facts.approval_policy,
        "approvals_reviewer": facts.reviewer,
        "sandbox_policy": facts.sandbox_policy,
        "reasoning_effort": facts.reasoning_effort,
        "cwd": facts.cwd or thread["cwd"],
        "rollout_path": thread.get("path"),
    }


class CodexEvents:
    """Translates what one thread tells."""

    def __init__(self, thread_id: str) -> None:
        self._thread_id = thread_id
        self._started: dict[str, int] = {}
        self._changes: dict[str, Sequence[Any]] = {}
        self._last_message: str | None = None

    def translate(self, event: Outgoing) -> list[Event]:
        """Return the events that stand for one of ours; none for what Codex does not know."""
        method, params = event["method"], cast("dict[str, Any]", event["params"])
        match method:
            case "item/started" | "item/completed":
                return self._item(params, is_final=method == "item/completed")
            case "turn/started":
                return [_task_started(params["turn"])]
            case "turn/completed":
                return [self._task_ended(params["turn"])]
            case "item/commandExecution/requestApproval":
                return [self._command_approval(params)]
            case "item/fileChange/requestApproval":
                return [self._patch_approval(params)]
            case _:
                return _plain(self._thread_id, method, params)

    def changes(self, item_id: str) -> Event:
        """Return the patch of an item that has started."""
        return changes_of(self._changes.get(item_id, ()))

    def _item(self, params: Mapping[str, Any], *, is_final: bool) -> list[Event]:
        item, turn_id = params["item"], params["turnId"]
        times: Event
        if is_final:
            done = params["completedAtMs"]
            times = {
                "started_at_ms": self._started.pop(item["id"], done),
                "completed_at_ms": done,
            }
            self._changes.pop(item["id"], None)
            if item["type"] == "agentMessage":
                self._last_message = item["text"]
        else:
            times = {"started_at_ms": params["startedAtMs"]}
            self._started[item["id"]] = params["startedAtMs"]
            if item["type"] == "fileChange":
                self._changes[item["id"]] = item["changes"]
        whole, older = ended(item) if is_final else began(item)
        ids = {"thread_id": self._thread_id, "turn_id": turn_id}
        name = "item_completed" if is_final else "item_started"
        told = [] if whole is None else [{"type": name, **ids, "item": whole, **times}]
        return [*told, *(_placed(event, turn_id, times) for event in older)]

    def _task_ended(self, turn: Turn) -> Event:
        times = {
            "started_at": turn.get("startedAt"),
            "completed_at": turn.get("completedAt"),
            "duration_ms": turn.get("durationMs"),
        }
        last, self._last_message = self._last_message, None
        self._started.clear()
        self._changes.clear()
        if turn["status"] == "interrupted":
            return {"type": "turn_aborted", "turn_id": turn["id"], "reason": "interrupted", **times}
        return {
            "type": "task_complete",
            "turn_id": turn["id"],
            "last_agent_message": last,
            **times,
            "time_to_first_token_ms": None,
        }

    def _command_approval(self, params: Mapping[str, Any]) -> Event:
        return {
            "type": "exec_approval_request",
            "kind": "command",
            "environmentId": "local",
            "call_id": params["itemId"],
            "turn_id": params["turnId"],
            "started_at_ms": params["startedAtMs"],
            **command_facts(params),
            "reason": params.get("reason"),
            "proposed_execpolicy_amendment": params.get("proposedExecpolicyAmendment"),
            "available_decisions": [name for name in offered(params) if name != "denied"],
        }

    def _patch_approval(self, params: Mapping[str, Any]) -> Event:
        return {
            "type": "apply_patch_approval_request",
            "call_id": params["itemId"],
            "turn_id": params["turnId"],
            "started_at_ms": params["startedAtMs"],
            "changes": self.changes(params["itemId"]),
            "reason": params.get("reason"),
        }


def _placed(event: Event, turn_id: str, times: Event) -> Event:
    """Add the turn to an older event of a call, and to that of a command when it was."""
    if "call_id" not in event:
        return event
    name = {"exec_command_begin": "started_at_ms", "exec_command_end": "completed_at_ms"}.get(
        str(event["type"])
    )
    return {**event, "turn_id": turn_id, **({} if name is None else {name: times[name]})}


def _task_started(turn: Turn) -> Event:
    return {
        "type": "task_started",
        "turn_id": turn["id"],
        "started_at": turn.get("startedAt"),
        "model_context_window": None,
        "collaboration_mode_kind": "default",
    }


def _plain(thread_id: str, method: str, params: Mapping[str, Any]) -> list[Event]:
    """Translate what needs nothing but itself."""
    if method in _DELTAS:
        return [_delta(thread_id, method, params)]
    translate = _PLAIN.get(method)
    return [] if translate is None else [translate(params)]


def _output(params: Mapping[str, Any]) -> Event:
    chunk = base64.b64encode(params["delta"].encode("utf-8", "replace")).decode()
    call = {"call_id": params["itemId"], "stream": "stdout", "chunk": chunk}
    return {"type": "exec_command_output_delta", **call}


def _plan(params: Mapping[str, Any]) -> Event:
    plan = [{**step, "status": _snake(step["status"])} for step in params["plan"]]
    return {"type": "plan_update", "explanation": params.get("explanation"), "plan": plan}


def _diff(params: Mapping[str, Any]) -> Event:
    return {"type": "turn_diff", "unified_diff": params["diff"]}


def _error(params: Mapping[str, Any]) -> Event:
    error = params["error"]
    info = error.get("codexErrorInfo")
    return {
        "type": "stream_error" if params["willRetry"] else "error",
        "message": error["message"],
        "codex_error_info": _snake(info) if isinstance(info, str) else info,
    }


def _warning(params: Mapping[str, Any]) -> Event:
    return {"type": "warning", "message": params["message"]}


def _startup(params: Mapping[str, Any]) -> Event:
    status: Event = {"state": params["status"]}
    if params.get("error"):
        status["error"] = params["error"]
    return {"type": "mcp_startup_update", "server": params["name"], "status": status}


def _delta(thread_id: str, method: str, params: Mapping[str, Any]) -> Event:
    ids = {"thread_id": thread_id, "turn_id": params["turnId"], "item_id": params["itemId"]}
    told: Event = {"type": _DELTAS[method], **ids, "delta": params["delta"]}
    if "summaryIndex" in params:
        told["summary_index"] = params["summaryIndex"]
    return told


def _token_count(params: Mapping[str, Any]) -> Event:
    usage = params["tokenUsage"]
    info = {
        "total_token_usage": _counts(usage["total"]),
        "last_token_usage": _counts(usage["last"]),
        "model_context_window": usage.get("modelContextWindow"),
    }
    return {"type": "token_count", "info": info, "rate_limits": None}


def _counts(usage: Mapping[str, int]) -> dict[str, int]:
    return {_snake(name): count for name, count in usage.items()}


def _snake(name: str) -> str:
    return _UPPER.sub(lambda found: f"_{found[0].lower()}", name)


_PLAIN: Final[Mapping[str, Callable[[Mapping[str, Any]], Event]]] = {
    "item/commandExecution/outputDelta": _output,
    "turn/plan/updated": _plan,
    "turn/diff/updated": _diff,
    "thread/tokenUsage/updated": _token_count,
    "error": _error,
    "warning": _warning,
    "mcpServer/startupStatus/updated": _startup,
}
