"""What the server's own methods answer, for the published schema.

Methods of the package `methods` and of plugins name their results themselves.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NotRequired

from typing_extensions import TypedDict

from ferrule_hookspecs.items import ThreadItem
from ferrule_hookspecs.policies import ApprovalPolicy, ModePolicy
from ferrule_hookspecs.threads import Thread, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping


class InitializeResult(TypedDict):
    """Who the server is."""

    userAgent: str
    codexHome: str
    platformFamily: str
    platformOs: str
    serverInfo: NotRequired[dict[str, str]]


class ThreadOpened(TypedDict):
    """An open thread and what holds in it."""

    thread: Thread
    model: str
    modelProvider: str
    cwd: str
    approvalPolicy: ApprovalPolicy
    approvalsReviewer: str
    sandbox: ModePolicy
    activePermissionProfile: dict[str, str | None] | None
    reasoningEffort: str | None
    serviceTier: str | None
    instructionSources: list[str]
    runtimeWorkspaceRoots: list[str]
    turnsBackwardsCursor: NotRequired[str | None]
    itemsBackwardsCursor: NotRequired[str | None]
    collaborationMode: NotRequired[dict[str, object]]


class ThreadHolder(TypedDict):
    """A thread."""

    thread: Thread


class ThreadPage(TypedDict):
    """Some of the stored threads."""

    data: list[Thread]
    nextCursor: str | None
    backwardsCursor: str | None


class ThreadFind(TypedDict):
    """A thread that was found, and where."""

    thread: Thread
    snippet: str


class ThreadFindPage(TypedDict):
    """Some of the threads that were found."""

    data: list[ThreadFind]
    nextCursor: str | None
    backwardsCursor: str | None


class TurnPage(TypedDict):
    """Some of a thread's turns."""

    data: list[Turn]
    nextCursor: str | None
    backwardsCursor: str | None


class ItemEntry(TypedDict):
    """An item and the turn it belongs to."""

    turnId: str
    item: ThreadItem
    startedAtMs: NotRequired[int | None]
    completedAtMs: NotRequired[int | None]


class ItemPage(TypedDict):
    """Some of a thread's items."""

    data: list[ItemEntry]
    nextCursor: str | None
    backwardsCursor: str | None


class Items(TypedDict):
    """The items that were named."""

    data: list[ItemEntry]


class ThreadIds(TypedDict):
    """The threads that are open."""

    data: list[str]
    nextCursor: str | None


class Unsubscribed(TypedDict):
    """What became of a subscription."""

    status: Literal["unsubscribed", "notSubscribed", "notLoaded"]


class TurnHolder(TypedDict):
    """A turn."""

    turn: Turn


class TurnSteered(TypedDict):
    """The turn that got the input."""

    turnId: str


class Done(TypedDict):
    """Done."""


REPLIES: Final[Mapping[str, type]] = MappingProxyType(
    {
        "initialize": InitializeResult,
        **dict.fromkeys(("thread/start", "thread/resume", "thread/fork"), ThreadOpened),
        **dict.fromkeys(
            (
                "thread/read",
                "thread/unarchive",
                "thread/rollback",
                "thread/revert",
                "thread/metadata/update",
            ),
            ThreadHolder,
        ),
        "thread/list": ThreadPage,
        "thread/search": ThreadFindPage,
        "thread/turns/list": TurnPage,
        "thread/items/list": ItemPage,
        "thread/items/read": Items,
        "thread/loaded/list": ThreadIds,
        "thread/unsubscribe": Unsubscribed,
        "turn/start": TurnHolder,
        "turn/steer": TurnSteered,
        **dict.fromkeys(
            (
                "thread/name/set",
                "thread/archive",
                "thread/delete",
                "thread/inject_items",
                "thread/settings/update",
                "thread/compact/start",
                "thread/shellCommand",
                "turn/interrupt",
            ),
            Done,
        ),
    }
)
"""Results by method."""
