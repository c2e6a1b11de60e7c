"""What the server tells its clients, and what it asks of them, by name."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, cast, get_args, get_type_hints

from typing_extensions import TypedDict

from ferrule_hookspecs import events
from ferrule_hookspecs.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Decision = Literal["accept", "acceptForSession", "decline", "cancel"]


class ThreadGoneParams(TypedDict):
    """The thread it is about."""

    threadId: str


class ThreadRevertedParams(TypedDict):
    """The thread as it is after turns were taken back."""

    threadId: str
    thread: NotRequired[Thread]


class DeprecationParams(TypedDict):
    """What should not be used any more."""

    summary: str
    details: NotRequired[str | None]


class ConfigWarningParams(TypedDict):
    """Something about the configuration that a user should know."""

    summary: str
    details: NotRequired[str | None]


OWN_NOTICES: Final[Mapping[str, type]] = MappingProxyType(
    {
        "thread/archived": ThreadGoneParams,
        "thread/unarchived": ThreadGoneParams,
        "thread/deleted": ThreadGoneParams,
        "thread/reverted": ThreadRevertedParams,
        "deprecationNotice": DeprecationParams,
        "configWarning": ConfigWarningParams,
    }
)
"""What is told beside the events of sessions."""


class ExecpolicyAmendment(TypedDict):
    """Words that commands may begin with from now on."""

    execpolicy_amendment: list[str]


class AcceptWithAmendment(TypedDict):
    """Yes, and commands like it too."""

    acceptWithExecpolicyAmendment: ExecpolicyAmendment


class CommandAnswer(TypedDict):
    """Whether a command may run."""

    decision: Decision | AcceptWithAmendment


class FileChangeAnswer(TypedDict):
    """Whether a patch may be applied."""

    decision: Decision


class PermissionsAnswer(TypedDict):
    """What is granted, and for how long."""

    permissions: events.PermissionsOnWire
    scope: NotRequired[Literal["turn", "session"] | None]


class Answers(TypedDict):
    """What the user chose or wrote."""

    answers: list[str]


class UserInputAnswer(TypedDict):
    """Answers by question."""

    answers: dict[str, Answers]


class ElicitationAnswer(TypedDict):
    """What the user does about a server's question."""

    action: Literal["accept", "decline", "cancel"]
    content: NotRequired[object]


class ClientToolAnswer(TypedDict):
    """What a tool of the client gave."""

    contentItems: list[dict[str, object]]
    success: bool


ANSWERS: Final[Mapping[str, type]] = MappingProxyType(
    {
        "item/commandExecution/requestApproval": CommandAnswer,
        "item/fileChange/requestApproval": FileChangeAnswer,
        "item/permissions/requestApproval": PermissionsAnswer,
        "item/tool/requestUserInput": UserInputAnswer,
        "mcpServer/elicitation/request": ElicitationAnswer,
        "item/tool/call": ClientToolAnswer,
    }
)
"""What clients answer to questions."""


def event_params() -> Iterator[tuple[str, Any]]:
    """Name every event of sessions and the type of its parameters."""
    return _messages(events.Event)


def request_params() -> Iterator[tuple[str, Any]]:
    """Name every question of sessions and the type of its parameters."""
    return _messages(events.ServerRequest)


def _messages(union: object) -> Iterator[tuple[str, Any]]:
    for message in get_args(union):
        hints = get_type_hints(message, include_extras=True)
        for name in cast("tuple[str, ...]", get_args(hints["method"])):
            yield name, hints["params"]
