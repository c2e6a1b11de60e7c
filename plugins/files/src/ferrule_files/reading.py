"""The tool `read_file`: a part of a text file with line numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule_files.arguments import absolute, number, text
from ferrule_files.file_tool import FileTool
from ferrule_hookspecs.errors import ToolError
from ferrule_hookspecs.tools import ToolCall, ToolContext, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.sandbox import FileSystem

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_LINE: Final = 1_000
_MAX_LINES: Final = 10_000
_PROBE: Final = 8_192
_PARAMETERS: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file."},
        "offset": {"type": "integer", "description": "First line to read, from 1. Default 1."},
        "limit": {"type": "integer", "description": "How many lines to read. Default 1000."},
    },
    "required": ["path"],
    "additionalProperties": False,
}


class ReadFile(FileTool):
    """Reads through the sandbox; changes nothing."""

    name = "read_file"
    description = "Reads a text file; every line is preceded by its number and a tab."
    parameters = _PARAMETERS

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Fill in where to begin and how much to read."""
        return {
            "path": text(arguments, "path"),
            "offset": number(arguments, "offset", 1, 2**31),
            "limit": number(arguments, "limit", 1_000, _MAX_LINES),
        }

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Read as many of the lines as the model may read back."""
        path = absolute(call.arguments["path"], context.cwd)
        lines = (await _text(context.sandbox.files, path)).split("\n")
        if not lines[-1]:
            lines.pop()
        offset = cast("int", call.arguments["offset"])
        if not lines:
            return ToolResult(f"{path} is empty")
        if offset > len(lines):
            raise ToolError(f"{path} has {len(lines)} lines; offset {offset} is past its end")
        limit = cast("int", call.arguments["limit"])
        return ToolResult(_numbered(lines, offset, limit, context.output_token_limit * 4))


async def _text(files: FileSystem, path: str) -> str:
    try:
        stat = await files.stat(path)
        if stat is None:
            raise ToolError(f"{path} does not exist")
        if stat.kind != "file":
            raise ToolError(f"{path} is not a file but a {stat.kind}")
        if stat.size > MAX_BYTES:
            raise ToolError(
                f"{path} has {stat.size} bytes, more than the {MAX_BYTES} read_file reads; "
                "read a part of it with a command such as `sed -n 1,200p`"
            )
        data = await files.read(path, limit=MAX_BYTES)
    except OSError as error:
        raise ToolError(f"{path} cannot be read: {error.strerror}") from error
    if b"\0" in data[:_PROBE]:
        raise ToolError(f"{path} is a binary file of {len(data)} bytes")
    return data.decode("utf-8", "replace")


def _numbered(lines: list[str], offset: int, limit: int, budget: int) -> str:
    shown: list[str] = []
    for index in range(offset - 1, min(offset - 1 + limit, len(lines))):
        line = f"{index + 1:>6}\t{shortened(lines[index].removesuffix(chr(13)))}\n"
        budget -= len(line.encode())
        if budget < 0 and shown:
            break
        shown.append(line)
    following = offset + len(shown)
    if following <= len(lines):
        left = len(lines) - following + 1
        shown.append(f"… {left} more lines; go on with offset {following}\n")
    return "".join(shown)


def shortened(line: str) -> str:
    """Cut a line that is too long to be read."""
    if len(line) <= MAX_LINE:
        return line
    return f"{line[:MAX_LINE]}… ({len(line) - MAX_LINE} more characters)"
