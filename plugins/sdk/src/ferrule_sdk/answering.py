"""Answers what the server asks: hands it to the callbacks, refuses what nobody answers.

Nothing is ever accepted unless a callback says so: without one, and where one fails or says
something unknown, the answer is no.
"""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast, get_args

import anyio
import anyio.to_thread
from typing_extensions import TypedDict

from ferrule_sdk.errors import CallbackError, ConnectionLostError
from ferrule_sdk.requests import (
    CommandRequest,
    Decision,
    McpToolRequest,
    PatchRequest,
    PermissionsRequest,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ferrule_hookspecs.events import (
        AskingAgent,
        ElicitationParams,
        PermissionsOnWire,
        UserQuestion,
    )
    from ferrule_hookspecs.items import CommandAction, ThreadItem
    from ferrule_sdk.options import FerruleOptions, QuestionAnswers
    from ferrule_sdk.requests import ApprovalRequest, ElicitationAnswer
    from ferrule_sdk.rpc import Json, RequestId, Rpc
    from ferrule_sdk.tools import ClientTool

A = TypeVar("A")
T = TypeVar("T")
_DECISIONS: Final[tuple[Decision, ...]] = get_args(Decision)
_ON_WIRE: Final[Mapping[Decision, str]] = {
    "accept": "accept",
    "accept_for_session": "acceptForSession",
    "decline": "decline",
    "cancel": "cancel",
}
_MCP_APPROVAL: Final = "mcp_tool_call"
_log = logging.getLogger("ferrule_sdk")


class Threads(Protocol):
    """Where the threads of requests are found."""

    def item(self, thread_id: str, turn_id: str, item_id: str) -> ThreadItem | None:
        """Find an item of a running turn."""
        ...

    def fail(self, thread_id: str, turn_id: str, error: CallbackError) -> None:
        """Have a turn end with an error, when it ends."""
        ...


class Answering:
    """Answers the requests of one server.

    Attributes:
        tools: The functions the model may call, by name.
    """

    def __init__(self, options: FerruleOptions, threads: Threads) -> None:
        self.tools: dict[str, ClientTool] = {}
        self._approvals = options.get("approvals")
        self._questions = options.get("questions")
        self._elicitations = options.get("elicitations")
        self._threads = threads
        self._open: dict[RequestId, anyio.CancelScope] = {}

    def resolved(self, request_id: object) -> None:
        """Somebody else answered it, or it needs no answer any more."""
        scope = self._open.get(cast("RequestId", request_id))
        if scope is not None:
            scope.cancel()

    async def answer(self, rpc: Rpc, request_id: RequestId, method: str, params: Json) -> None:
        """Answer one request; withdrawn ones are not."""
        with anyio.CancelScope() as scope:
            self._open[request_id] = scope
            try:
                result = await self._result(method, params)
            except CallbackError as error:
                _log.warning("%s", error)
                where = str(params.get("threadId")), str(params.get("turnId"))
                self._threads.fail(*where, error)
                result = _refusal(method)
            finally:
                self._open.pop(request_id, None)
            try:
                if result is None:
                    await rpc.refuse(request_id, f"this client does not answer {method}")
                else:
                    await rpc.answer(request_id, result)
            except ConnectionLostError:
                return  # nobody waits for it any more

    async def _result(self, method: str, params: Json) -> Mapping[str, object] | None:
        match method:
            case "item/commandExecution/requestApproval" | "item/fileChange/requestApproval":
                request = self._command(params) if "command" in method else self._patch(params)
                return {"decision": _ON_WIRE[await self._decide(request)]}
            case "item/permissions/requestApproval":
                return await self._permissions(params)
            case "item/tool/requestUserInput":
                return await self._ask_user(params)
            case "mcpServer/elicitation/request":
                return await self._elicit(params)
            case "item/tool/call":
                return await self._call_tool(params)
            case _:
                return None

    async def _decide(self, request: ApprovalRequest) -> Decision:
        if self._approvals is None:
            _log.warning(
                "declined a %s request of thread %s: no approvals callback was given",
                request.kind,
                request.thread_id,
            )
            return "decline"
        decision = await _ask(self._approvals, request, "approvals")
        if decision not in _DECISIONS:
            known = ", ".join(_DECISIONS)
            raise CallbackError(f"the approvals callback answered {decision!r}, not one of {known}")
        return decision

    def _command(self, params: Json) -> ApprovalRequest:
        return CommandRequest(
            **_common(params),
            command=str(params.get("command") or ""),
            cwd=cast("str | None", params.get("cwd")),
            actions=cast("list[CommandAction]", params.get("commandActions") or []),
        )

    def _patch(self, params: Json) -> ApprovalRequest:
        common = _common(params)
        item = self._threads.item(common["thread_id"], common["turn_id"], common["item_id"])
        return PatchRequest(
            **common,
            changes=item["changes"] if item and item["type"] == "fileChange" else [],
            grant_root=cast("str | None", params.get("grantRoot")),
        )

    async def _permissions(self, params: Json) -> Mapping[str, object]:
        wanted = cast("PermissionsOnWire", params.get("permissions") or {})
        request = PermissionsRequest(
            **_common(params), permissions=wanted, cwd=str(params.get("cwd") or "")
        )
        decision = await self._decide(request)
        if decision not in {"accept", "accept_for_session"}:
            return {"permissions": {}, "scope": "turn"}
        scope = "session" if decision == "accept_for_session" else "turn"
        return {"permissions": wanted, "scope": scope}

    async def _ask_user(self, params: Json) -> Mapping[str, object]:
        questions = cast("Sequence[UserQuestion]", params.get("questions") or [])
        if self._questions is None:
            _log.warning("left a question open: no questions callback was given")
            return {"answers": {}}
        given: QuestionAnswers = await _ask(self._questions, questions, "questions")
        return {
            "answers": {
                name: {"answers": [answer] if isinstance(answer, str) else list(answer)}
                for name, answer in given.items()
            }
        }

    async def _elicit(self, params: Json) -> Mapping[str, object]:
        meta = cast("Mapping[str, object]", params.get("_meta") or {})
        if meta.get("codex_approval_kind") == _MCP_APPROVAL:
            return await self._approve_mcp_tool(params, meta)
        if self._elicitations is None:
            _log.warning(
                "declined a question of the MCP server %s: no elicitations callback was given",
                params.get("serverName"),
            )
            return {"action": "decline"}
        asked = cast("ElicitationParams", params)
        answer: ElicitationAnswer = await _ask(self._elicitations, asked, "elicitations")
        return cast("Mapping[str, object]", answer)

    async def _approve_mcp_tool(
        self, params: Json, meta: Mapping[str, object]
    ) -> Mapping[str, object]:
        request = McpToolRequest(
            **_common({**params, "reason": params.get("message")}),
            server=str(params.get("serverName") or ""),
            tool=str(meta.get("tool_name") or ""),
            arguments=meta.get("tool_params"),
        )
        decision = await self._decide(request)
        if decision == "accept_for_session":
            return {"action": "accept", "content": {}, "_meta": {"persist": "session"}}
        return {"action": decision, "content": {}} if decision == "accept" else {"action": decision}

    async def _call_tool(self, params: Json) -> Mapping[str, object]:
        tool = self.tools.get(str(params.get("tool")))
        if tool is None:
            text = f"this client has no tool {params.get('tool')!r}"
            return {"contentItems": [{"type": "inputText", "text": text}], "success": False}
        return await tool.call(params.get("arguments"))


class _Common(TypedDict):
    thread_id: str
    turn_id: str
    item_id: str
    reason: str | None
    params: Mapping[str, object]
    agent: AskingAgent | None


def _common(params: Json) -> _Common:
    return {
        "thread_id": str(params.get("threadId") or ""),
        "turn_id": str(params.get("turnId") or ""),
        "item_id": str(params.get("itemId") or ""),
        "reason": cast("str | None", params.get("reason")),
        "params": params,
        "agent": cast("AskingAgent | None", params.get("agent")),
    }


def _refusal(method: str) -> Mapping[str, object] | None:
    """What is answered where a callback failed."""
    match method:
        case "item/commandExecution/requestApproval" | "item/fileChange/requestApproval":
            return {"decision": "cancel"}
        case "item/permissions/requestApproval":
            return {"permissions": {}, "scope": "turn"}
        case "mcpServer/elicitation/request":
            return {"action": "cancel"}
        case _:
            return None


async def _ask(callback: Callable[[A], T | Awaitable[T]], request: A, name: str) -> T:
    """Ask a callback; an ordinary function runs in a worker thread, as it may wait for a person."""
    try:
        if inspect.iscoroutinefunction(callback):
            answer = callback(request)
        else:
            answer = await anyio.to_thread.run_sync(callback, request, abandon_on_cancel=True)
        return await cast("Awaitable[T]", answer) if inspect.isawaitable(answer) else answer
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise CallbackError(
            f"the {name} callback failed, so that the answer was no: {reason}"
        ) from (error)
