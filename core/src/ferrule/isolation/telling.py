"""What a tool of a confined process may tell and ask clients: of its own calls, in known forms.

An item that is told is stored with the conversation, and what the user wrote is read back from
there. So that nobody else's words are taken for the user's, the model's or a reviewer's, everything
that is no news of a tool's own call is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule.isolation.codec import (
    Table,
    flag,
    items,
    number,
    optional_text,
    read_item,
    table,
    text,
)
from ferrule.isolation.frames import FrameError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ferrule_hookspecs.events import Event, ServerRequest
    from ferrule_hookspecs.items import ThreadItem

_TIMES: Final = {"item/started": "startedAtMs", "item/completed": "completedAtMs"}
_TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "item/commandExecution/outputDelta": ("delta",),
    "item/commandExecution/terminalInteraction": ("processId", "stdin"),
    "item/mcpToolCall/progress": ("message",),
}
_PLAN: Final = "turn/plan/updated"
_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "commandExecution": ("command", "cwd"),
    "dynamicToolCall": ("tool",),
    "fileChange": (),
    "imageView": ("path",),
    "mcpToolCall": ("server", "tool"),
    "plan": ("text",),
    "webSearch": ("query",),
}
"""Items that a tool may show, with the texts that clients look for in them."""
_WITH_STATUS: Final = ("commandExecution", "dynamicToolCall", "fileChange", "mcpToolCall")
_ITEM_STATUSES: Final = ("inProgress", "completed", "failed", "declined")
_USERS_INPUT: Final = "item/tool/requestUserInput"
_ELICITATION: Final = "mcpServer/elicitation/request"
_ASKED: Final[Mapping[str, frozenset[str]]] = {
    _USERS_INPUT: frozenset(
        {"threadId", "turnId", "itemId", "questions", "isBlocking", "autoResolutionMs"}
    ),
    _ELICITATION: frozenset(
        {
            "threadId",
            "turnId",
            "serverName",
            "mode",
            "message",
            "requestedSchema",
            "url",
            "elicitationId",
        }
    ),
}
"""What a question may hold: who asks, and what it stands for, is the host's to say."""
_STATUSES: Final = ("pending", "inProgress", "completed")


def read_event(value: object, thread_id: str, calls: Collection[str]) -> Event:
    """Read what clients are to be told.

    Args:
        value: What came over the pipe.
        thread_id: The session's thread.
        calls: The calls that the process was given.

    Raises:
        FrameError: It is not a tool's to tell.
    """
    event = table(value)
    method, params = text(event.get("method")), table(event.get("params"))
    if method not in (*_TIMES, *_TEXTS, _PLAN):
        raise FrameError(f"it told clients {method!r}, which is not a tool's to tell")
    if params.get("threadId") != thread_id:
        raise FrameError("it told clients something of another thread")
    told: dict[str, object] = {"threadId": thread_id, "turnId": text(params.get("turnId"))}
    if method == _PLAN:
        told |= _plan(params)
    elif method in _TIMES:
        told["item"] = own_item(read_item(params.get("item")), calls)
        told[_TIMES[method]] = number(params.get(_TIMES[method]))
    else:
        told["itemId"] = _own(text(params.get("itemId")), calls)
        told |= {key: text(params.get(key)) for key in _TEXTS[method]}
    return cast("Event", {"method": method, "params": told})


def read_question(value: object, thread_id: str, calls: Collection[str]) -> ServerRequest:
    """Read what a client is to be asked, in the name of a call.

    Args:
        value: What came over the pipe.
        thread_id: The session's thread.
        calls: The calls that the process was given.

    Raises:
        FrameError: It is not a tool's to ask.
    """
    question = table(value)
    method, given = text(question.get("method")), table(question.get("params"))
    if method not in _ASKED:
        raise FrameError(f"{method!r} is not a tool's to ask")
    if given.get("threadId") != thread_id:
        raise FrameError("it asked something for another thread")
    params = {key: each for key, each in given.items() if key in _ASKED[method]}
    optional_text(params.get("turnId"))
    if method == _USERS_INPUT:
        _own(text(params.get("itemId")), calls)
        for one in map(table, items(params.get("questions"))):
            for key in ("id", "header", "question"):
                text(one.get(key))
            for key in ("isOther", "isSecret"):
                flag(one.get(key))
    else:
        for key in ("serverName", "mode", "message"):
            text(params.get(key))
    return cast("ServerRequest", {"method": method, "params": params})


def own_item(item: ThreadItem | None, calls: Collection[str]) -> ThreadItem | None:
    """Return an item that shows a tool's own call.

    Raises:
        FrameError: It shows something else.
    """
    if item is None:
        return None
    if item["type"] not in _TYPES:
        raise FrameError(f"it showed an item {item['type']!r}, which is not a tool's to show")
    _own(item["id"], calls)
    fields = cast("Table", item)
    for key in _TYPES[item["type"]]:
        text(fields.get(key))
    if item["type"] in _WITH_STATUS and fields.get("status") not in _ITEM_STATUSES:
        raise FrameError("it showed an item with an unknown status")
    if fields.get("source") == "userShell":
        raise FrameError("it showed a command as one of the user's own")
    if item["type"] == "commandExecution":
        for action in map(table, items(fields.get("commandActions"))):
            text(action.get("type"))
            text(action.get("command"))
    if item["type"] == "fileChange":
        for change in map(table, items(fields.get("changes"))):
            text(change.get("path"))
            text(change.get("diff"))
            text(table(change.get("kind")).get("type"))
    return item


def _own(item_id: str, calls: Collection[str]) -> str:
    if item_id not in calls:
        raise FrameError("it told clients of an item that is no call of its own")
    return item_id


def _plan(params: Table) -> Table:
    steps: list[Table] = []
    for step in map(table, items(params.get("plan"))):
        status = text(step.get("status"))
        if status not in _STATUSES:
            raise FrameError("it told clients of a plan with an unknown status")
        steps.append({"step": text(step.get("step")), "status": status})
    return {"explanation": optional_text(params.get("explanation")), "plan": steps}
