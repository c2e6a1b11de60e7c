"""What can go wrong with a server, each said in one sentence; all of them are `FerruleError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.threads import TurnError

_OVERLOADED_CODE: Final = -32001
_OVERLOADED: Final = "server_overloaded"


class SdkError(FerruleError):
    """Root of the errors of this library."""


class ConnectionLostError(SdkError):
    """The server is gone, cannot be reached, or the connection was closed."""


class ServerError(SdkError):
    """The server refused a request.

    Attributes:
        method: What was asked for.
        code: JSON-RPC error code.
        data: What the server says beside the message.
    """

    def __init__(self, method: str, message: str, code: int, data: object = None) -> None:
        """Keep what the server said."""
        super().__init__(f"{method}: {message}")
        self.method = method
        self.code = code
        self.data = data

    @property
    def is_overload(self) -> bool:
        """Whether the server had too much to do, so that the same request may succeed later."""
        return self.code == _OVERLOADED_CODE or (
            isinstance(self.data, dict) and _OVERLOADED in str(self.data.get("codexErrorInfo"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] -- data is any JSON
        )


class TurnFailedError(SdkError):
    """A turn failed.

    Attributes:
        thread_id: Its thread.
        turn_id: The turn.
        error: What the server says, with the class of the error.
    """

    def __init__(self, thread_id: str, turn_id: str, error: TurnError | None) -> None:
        """Keep what the server said."""
        super().__init__(error["message"] if error else "the turn failed without a reason")
        self.thread_id = thread_id
        self.turn_id = turn_id
        self.error = error


class OutputError(SdkError):
    """The model's answer does not fit the schema that was asked for.

    Attributes:
        text: The answer.
    """

    def __init__(self, message: str, text: str) -> None:
        """Keep the answer."""
        super().__init__(message)
        self.text = text


class CallbackError(SdkError):
    """A callback raised; what it was asked was refused. The cause is `__cause__`."""


class SlowReaderError(SdkError):
    """Events were read too slowly: more of them than deltas that can be merged piled up."""


def server_error(method: str, error: Mapping[str, object]) -> ServerError:
    """Make an error of the `error` member of a reply."""
    code = error.get("code")
    return ServerError(
        method,
        str(error.get("message") or "refused without a reason"),
        code if isinstance(code, int) else 0,
        error.get("data"),
    )
