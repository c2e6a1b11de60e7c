"""Errors as JSON, and back: what one side raises, the other side raises again.

What the contract of a tool lets it raise comes through as itself; anything else is a fault of the
tool, in the words in which it would be told if the tool ran in this process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule.isolation.codec import optional_number, optional_text, plain, read_denial, table, text
from ferrule.isolation.frames import FrameError
from ferrule_hookspecs.errors import (
    ConfigError,
    FerruleError,
    PluginError,
    SandboxUnavailableError,
    ToolArgumentError,
    ToolError,
)
from ferrule_hookspecs.tools import SandboxDeniedError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN: Final[Mapping[str, type[FerruleError]]] = {
    kind.__name__: kind
    for kind in (
        FerruleError,
        PluginError,
        ConfigError,
        ToolError,
        ToolArgumentError,
        SandboxUnavailableError,
    )
}


def fault_table(error: BaseException) -> Mapping[str, object]:
    """Write an error."""
    if isinstance(error, SandboxDeniedError):
        return {"kind": "SandboxDeniedError", "denial": plain(error.denial)}
    if isinstance(error, FerruleError):
        known = next(kind for kind in type(error).__mro__ if kind.__name__ in _PLAIN)
        return {"kind": known.__name__, "text": str(error)}
    if isinstance(error, OSError):
        path = None if error.filename is None else str(error.filename)
        words = error.strerror or str(error)
        return {"kind": "OSError", "number": error.errno, "words": words, "path": path}
    return {"kind": "fault", "text": f"{type(error).__name__}: {error}"}


def read_fault(value: object, who: str) -> Exception:
    """Return the error that the other side raised.

    Args:
        value: What came over the pipe.
        who: Whose fault it is where it is none that the contract knows.
    """
    given = table(value)
    kind = text(given.get("kind"))
    if kind == "SandboxDeniedError":
        denial = read_denial(given.get("denial"))
        if denial is None:
            raise FrameError("it sent a refusal without saying what was refused")
        return SandboxDeniedError(denial)
    if kind == "OSError":
        code, words = optional_number(given.get("number")), text(given.get("words"))
        path = optional_text(given.get("path"))
        return OSError(words) if code is None else OSError(code, words, path)
    if kind in _PLAIN:
        return _PLAIN[kind](text(given.get("text")))
    return PluginError(f"{who} failed: {text(given.get('text'))}")
