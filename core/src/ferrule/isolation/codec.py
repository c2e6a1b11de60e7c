"""Values of the contract as JSON, and back. Both sides of the pipe use this.

Reading is strict, as the other side may send anything: what does not fit raises `FrameError`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from ferrule.frozen import freeze
from ferrule.isolation.frames import FrameError
from ferrule_hookspecs.permissions import AdditionalPermissions
from ferrule_hookspecs.review import Amendment
from ferrule_hookspecs.sandbox import (
    Command,
    CommandResult,
    Denial,
    DirectoryEntry,
    FileEdit,
    FileStat,
    RemoveFile,
    ResolvedPolicy,
    WritableRoot,
    WriteFile,
)
from ferrule_hookspecs.tools import (
    FreeformSchema,
    FunctionSchema,
    HostedSchema,
    Requirement,
    ToolCall,
    ToolNamespace,
    ToolResult,
)

if TYPE_CHECKING:
    from ferrule_hookspecs.history import ContentPart
    from ferrule_hookspecs.items import ThreadItem

Table = Mapping[str, object]
_SCHEMAS: Final = ("FunctionSchema", "FreeformSchema", "HostedSchema")
_DENIALS: Final = ("write", "read", "network", "syscall", "unknown")


def plain(value: object) -> object:
    """Return a value as JSON can write it: frozen tables thawed, records as tables."""
    if isinstance(value, tuple) and hasattr(cast("object", value), "_asdict"):
        fields = cast("NamedTuple", value)._asdict()
        return {key: plain(each) for key, each in fields.items()}
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(key): plain(each) for key, each in items}
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(each) for each in cast("Sequence[object]", value)]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def table(value: object) -> Table:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise FrameError("it sent something else where an object belongs")
    return cast("Table", value)


def text(value: object) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise FrameError("it sent something else where a text belongs")
    return value


def optional_text(value: object) -> str | None:
    """Return a text, or None."""
    return None if value is None else text(value)


def flag(value: object) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool):
        raise FrameError("it sent something else where true or false belongs")
    return value


def number(value: object) -> int:
    """Return a whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise FrameError("it sent something else where a number belongs")
    return value


def optional_number(value: object) -> int | None:
    """Return a whole number, or None."""
    return None if value is None else number(value)


def items(value: object) -> list[object]:
    """Return a JSON list."""
    if not isinstance(value, list):
        raise FrameError("it sent something else where a list belongs")
    return cast("list[object]", value)


def texts(value: object) -> tuple[str, ...]:
    """Return a list of texts."""
    return tuple(map(text, items(value)))


def blob(value: object) -> bytes:
    """Return bytes."""
    try:
        return b64decode(text(value), validate=True)
    except ValueError:
        raise FrameError("it sent something else where bytes belong") from None


def read_denial(value: object) -> Denial | None:
    """Read what a sandbox refused."""
    if value is None:
        return None
    given = table(value)
    kind = text(given.get("kind"))
    if kind not in _DENIALS:
        raise FrameError("it sent an unknown kind of refusal")
    return Denial(
        cast("Literal['unknown']", kind),
        text(given.get("reason")),
        optional_text(given.get("path")),
        flag(given.get("is_inferred", False)),
    )


def read_call(value: object) -> ToolCall:
    """Read a call; its arguments are frozen again."""
    given = table(value)
    return ToolCall(
        text(given.get("call_id")),
        text(given.get("tool")),
        cast("Table", freeze(table(given.get("arguments")))),
        text(given.get("text")),
        "freeform" if given.get("form") == "freeform" else "function",
        optional_text(given.get("requested_tool")),
    )


def read_policy(value: object) -> ResolvedPolicy:
    """Read a resolved policy, as the host sends it."""
    given = dict(table(value))
    roots = tuple(
        WritableRoot(text(one["path"]), *(texts(one[key]) for key in WritableRoot._fields[1:]))
        for one in map(table, items(given["writable_roots"]))
    )
    for key in ("deny_read", "readable_roots", "unix_sockets"):
        given[key] = None if given[key] is None else texts(given[key])
    return ResolvedPolicy(**{**given, "writable_roots": roots})  # pyright: ignore[reportArgumentType] -- by the host


def read_result(value: object) -> ToolResult:
    """Read what a call gave."""
    given = table(value)
    output = given.get("output")
    words = output if isinstance(output, str) else [_part(part) for part in items(output)]
    return ToolResult(
        cast("str | list[ContentPart]", words),
        flag(given.get("success", True)),
        read_item(given.get("item")),
        flag(given.get("pending", False)),
        read_denial(given.get("denial")),
        texts(given.get("found", [])),
    )


def _part(value: object) -> Table:
    """Read a part of what the model reads: a provider refuses a conversation with any other one."""
    given = table(value)
    match given.get("type"):
        case "input_text":
            text(given.get("text"))
        case "input_image":
            text(given.get("image_url"))
            optional_text(given.get("detail"))
        case _:
            raise FrameError("it sent an unknown kind of output")
    return given


def read_item(value: object) -> ThreadItem | None:
    """Read how a call is shown."""
    if value is None:
        return None
    given = table(value)
    text(given.get("type"))
    text(given.get("id"))
    return cast("ThreadItem", given)


def read_requirement(value: object) -> Requirement:
    """Read what a call needs."""
    given = table(value)
    kind = text(given.get("kind"))
    if kind not in ("skip", "approval", "forbidden"):
        raise FrameError("it sent an unknown kind of requirement")
    wanted = given.get("permissions")
    return Requirement(
        cast("Literal['skip']", kind),
        text(given.get("reason")),
        flag(given.get("escalate")),
        None if wanted is None else _permissions(table(wanted)),
        flag(given.get("lasting")),
        tuple(map(_amendment, items(given.get("amendments")))),
        table(given.get("details")),
    )


def _permissions(given: Table) -> AdditionalPermissions:
    return AdditionalPermissions(
        flag(given.get("network")), texts(given.get("read")), texts(given.get("write"))
    )


def _amendment(value: object) -> Amendment:
    given = table(value)
    kind = text(given.get("kind"))
    if kind not in ("command_prefix", "network_host", "mcp_tool"):
        raise FrameError("it sent an unknown kind of amendment")
    return Amendment(cast("Literal['mcp_tool']", kind), texts(given.get("value")))


def read_command(value: object) -> Command:
    """Read a command that is to be started; a door is the kernel's to give."""
    given = table(value)
    env = {name: text(each) for name, each in table(given.get("env")).items()}
    rows, columns = map(number, items(given.get("size")))
    return Command(
        texts(given.get("argv")),
        text(given.get("cwd")),
        env,
        flag(given.get("tty")),
        flag(given.get("open_stdin")),
        (rows, columns),
        flag(given.get("separate_stderr")),
    )


def read_command_result(value: object) -> CommandResult:
    """Read how a command ended."""
    given = table(value)
    return CommandResult(number(given.get("exit_code")), blob(given.get("output")))


def read_edit(value: object) -> FileEdit:
    """Read one change of a file."""
    given = table(value)
    path = text(given.get("path"))
    if "data" not in given:
        return RemoveFile(path)
    return WriteFile(path, blob(given["data"]), optional_number(given.get("mode")))


def read_stat(value: object) -> FileStat | None:
    """Read what a path is."""
    if value is None:
        return None
    given = table(value)
    kind = cast("Literal['other']", text(given.get("kind")))
    return FileStat(kind, number(given.get("size")), number(given.get("mode")))


def read_folder(value: object) -> list[DirectoryEntry]:
    """Read what lies in a folder."""
    found = map(table, items(value))
    return [
        DirectoryEntry(text(one.get("name")), cast("Literal['other']", text(one.get("kind"))))
        for one in found
    ]


def schema_table(schema: object) -> Table:
    """Write how a tool is called, with the form it has."""
    fields = plain(schema)
    return {"form": type(schema).__name__, "fields": fields}


def read_schema(value: object) -> FunctionSchema | FreeformSchema | HostedSchema:
    """Read how a tool is called."""
    given = table(value)
    form = given.get("form")
    if form not in _SCHEMAS:
        raise FrameError("it sent an unknown kind of schema")
    fields = table(given.get("fields"))
    name = text(fields.get("name"))
    match form:
        case "FunctionSchema":
            parameters = table(fields.get("parameters"))
            return FunctionSchema(name, text(fields.get("description")), parameters)
        case "FreeformSchema":
            syntax = text(fields.get("syntax"))
            if syntax not in ("lark", "regex"):
                raise FrameError("it sent an unknown kind of grammar")
            syntax = cast("Literal['lark']", syntax)
            definition = text(fields.get("definition"))
            return FreeformSchema(name, text(fields.get("description")), syntax, definition)
        case _:
            return HostedSchema(name, table(fields.get("settings")))


def read_namespace(value: object) -> ToolNamespace | None:
    """Read what a tool has in common with others."""
    if value is None:
        return None
    given = table(value)
    return ToolNamespace(text(given.get("name")), text(given.get("description")))
