"""Output for programs: one JSON event per line on stdout (`--json`)."""

from __future__ import annotations

from json import JSONEncoder
from typing import TYPE_CHECKING, Any, Final, cast

from ferrule_exec.errors import error_text
from ferrule_exec.shapes import Shape, shape_of, usage_shape

if TYPE_CHECKING:
    from ferrule_exec.outcome import Outcome
    from ferrule_exec.stream import Stream
    from ferrule_hookspecs.events import Outgoing
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.review import ReviewOutcome

_encode: Final = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_COMPLETED_ONLY: Final = frozenset({"agentMessage", "reasoning", "contextCompaction", "imageView"})


class JsonOutput:
    """Writes events; ids of items count from 0 within the process."""

    def __init__(self, stdout: Stream) -> None:
        self._stdout = stdout
        self._ids: dict[str, str] = {}
        self._count = 0
        self._refusals: dict[str, str] = {}
        self._plan: tuple[str, Shape] | None = None
        self._has_started = False

    def opened(self, session: Session, prompt: str | None) -> None:
        """Name the thread, and the plugins that take part from a checkout."""
        checkouts = session.thread.get("devPlugins")
        mark: Shape = {"dev_plugins": checkouts} if checkouts else {}
        self._write({"type": "thread.started", "thread_id": session.thread["id"], **mark})

    def happened(self, event: Outgoing) -> None:
        """Write what the event is for clients of exec, if anything."""
        params = cast("dict[str, Any]", event["params"])
        match event["method"]:
            case "item/started":
                self._item("item.started", params["item"])
            case "item/completed":
                self._item("item.completed", params["item"])
            case "item/decision":
                self._decided(params["itemId"], params["outcome"])
            case "turn/started":
                self._turn_started()
            case "item/commandExecution/terminalInteraction":
                self._typed(params)
            case "turn/plan/updated":
                self._plan_updated(params["plan"])
            case "error":
                self._write({"type": "error", "message": error_text(params)})
            case "warning":
                self._warned(params["message"])
            case _:
                pass

    def ended(self, outcome: Outcome) -> None:
        """Write how the turn ended."""
        if self._plan:
            item_id, plan = self._plan
            self._write({"type": "item.completed", "item": {"id": item_id, **plan}})
        if outcome.status == "completed":
            self._write(
                {
                    "type": "turn.completed",
                    "usage": usage_shape(outcome.usage),
                    "thread_usage": usage_shape(outcome.thread_usage),
                    **_review_usage(outcome),
                    **_cost(outcome),
                }
            )
            return
        error = {"message": outcome.message}
        if reason := "interrupted" if outcome.status == "interrupted" else outcome.reason:
            error["reason"] = reason
        self._write({"type": "turn.failed", "error": error})

    def _write(self, event: dict[str, Any]) -> None:
        self._stdout.write(_encode(event) + "\n")

    def _next_id(self) -> str:
        item_id = f"item_{self._count}"
        self._count += 1
        return item_id

    def _warned(self, message: str) -> None:
        item = {"id": self._next_id(), "type": "error", "message": message}
        self._write({"type": "item.completed", "item": item})

    def _turn_started(self) -> None:
        # The turn that repairs an answer is part of the one that was asked for.
        if not self._has_started:
            self._has_started = True
            self._write({"type": "turn.started"})

    def _item(self, event: str, item: ThreadItem) -> None:
        shape = shape_of(item)
        if shape is None or (event == "item.started" and item["type"] in _COMPLETED_ONLY):
            return
        item_id = self._ids.get(item["id"])
        if item_id is None:
            item_id = self._ids[item["id"]] = self._next_id()
        if event == "item.completed":
            del self._ids[item["id"]]
            reason = self._refusals.pop(item["id"], None)
            if reason and shape["type"] == "file_change" and shape["status"] == "failed":
                shape["error"] = {"message": reason}
        self._write({"type": event, "item": {"id": item_id, **shape}})

    def _decided(self, item_id: str, outcome: ReviewOutcome) -> None:
        if outcome["decision"] in ("decline", "cancel"):
            self._refusals[item_id] = outcome["reason"]

    def _typed(self, params: dict[str, Any]) -> None:
        # The model names the session by a number; the contract carries ids as text.
        arguments = {"session_id": int(params["processId"]), "chars": params["stdin"]}
        shape: Shape = {
            "type": "tool_call",
            "tool": "write_stdin",
            "arguments": arguments,
            "result": None,
            "error": None,
            "status": "completed",
        }
        self._write({"type": "item.completed", "item": {"id": self._next_id(), **shape}})

    def _plan_updated(self, plan: list[dict[str, Any]]) -> None:
        steps = [
            {"text": step["step"], "completed": step["status"] == "completed"} for step in plan
        ]
        shape: Shape = {"type": "todo_list", "items": steps}
        item_id, event = (
            (self._plan[0], "item.updated") if self._plan else (self._next_id(), "item.started")
        )
        self._plan = (item_id, shape)
        self._write({"type": event, "item": {"id": item_id, **shape}})


def _review_usage(outcome: Outcome) -> dict[str, Any]:
    used = outcome.review_usage
    return {"review_usage": usage_shape(used)} if used and used["totalTokens"] else {}


def _cost(outcome: Outcome) -> dict[str, float]:
    """Say what was spent, where it is known."""
    cost = {"cost_usd": outcome.cost.run_usd, "thread_cost_usd": outcome.cost.thread_usd}
    return {name: round(usd, 6) for name, usd in cost.items() if usd is not None}
