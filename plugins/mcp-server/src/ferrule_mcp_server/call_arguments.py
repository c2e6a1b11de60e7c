"""What a call says: checked against the tool's schema, in words that a model can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_mcp_server.tool_list import INPUTS

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES: Final[Mapping[str, tuple[type, str]]] = {
    "string": (str, "a text"),
    "object": (dict, "an object"),
    "integer": (int, "a whole number"),
}
_FLAGS: Final[Mapping[str, str]] = {
    "model": "model",
    "sandbox": "sandbox_mode",
    "approval-policy": "approval_policy",
    "compact-prompt": "compact_prompt",
}


class Start(NamedTuple):
    """What `codex` is called with.

    Attributes:
        prompt: The first message.
        cwd: The folder, as it was named.
        flags: Settings, by dotted key.
        base_instructions: What replaces the built-in instructions.
        developer_instructions: What is put behind them.
    """

    prompt: str
    cwd: str | None
    flags: Mapping[str, object]
    base_instructions: str | None
    developer_instructions: str | None


def check(tool: str, arguments: Mapping[str, object]) -> None:
    """Check the arguments of a call.

    Raises:
        ToolArgumentError: One is missing, unknown or of no use.
    """
    schema = INPUTS[tool]
    known = cast("Mapping[str, Mapping[str, Any]]", schema["properties"])
    for name in cast("list[str]", schema.get("required", [])):
        if name not in arguments:
            raise ToolArgumentError(f"{tool}: the argument `{name}` is missing")
    for name, value in arguments.items():
        if name in known:
            _check_value(tool, name, value, known[name])
        elif schema.get("additionalProperties") is False:
            listed = ", ".join(f"`{each}`" for each in known)
            raise ToolArgumentError(f"{tool}: there is no argument `{name}`; there are {listed}")


def _check_value(tool: str, name: str, value: object, wanted: Mapping[str, Any]) -> None:
    type_, words = _TYPES[wanted["type"]]
    if not isinstance(value, type_) or isinstance(value, bool):
        raise ToolArgumentError(f"{tool}: `{name}` must be {words}, not {value!r}")
    if "enum" in wanted and value not in wanted["enum"]:
        listed = ", ".join(f"`{each}`" for each in wanted["enum"])
        raise ToolArgumentError(f"{tool}: `{name}` must be one of {listed}, not {value!r}")
    if isinstance(value, int) and not wanted["minimum"] <= value <= wanted["maximum"]:
        raise ToolArgumentError(
            f"{tool}: `{name}` must be from {wanted['minimum']} to {wanted['maximum']}, not {value}"
        )


def start_of(arguments: Mapping[str, object]) -> Start:
    """Read the checked arguments of `codex`; of two ways to say one thing the argument's counts."""
    flags = dict(cast("dict[str, object]", arguments.get("config") or {}))
    for name, key in _FLAGS.items():
        if name in arguments:
            flags[key] = arguments[name]
    return Start(
        prompt=cast("str", arguments["prompt"]),
        cwd=cast("str | None", arguments.get("cwd")),
        flags=flags,
        base_instructions=cast("str | None", arguments.get("base-instructions")),
        developer_instructions=cast("str | None", arguments.get("developer-instructions")),
    )


def thread_of(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the thread that a call names.

    Raises:
        ToolArgumentError: It names none.
    """
    named = arguments.get("threadId") or arguments.get("conversationId")
    if not named:
        raise ToolArgumentError(f"{tool}: the argument `threadId` is missing")
    return cast("str", named)
