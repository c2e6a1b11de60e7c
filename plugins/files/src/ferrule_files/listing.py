"""The tool `list_dir`: what is in a folder, as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule_files.arguments import absolute, number, text
from ferrule_files.file_tool import FileTool
from ferrule_hookspecs.tools import ToolCall, ToolContext, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_files.walk import Found

_MARKS: Final = {"directory": "/", "symlink": "@", "file": "", "other": "?"}
_PARAMETERS: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The folder. Default: the working directory."},
        "depth": {"type": "integer", "description": "How many levels to show. Default 2."},
        "limit": {"type": "integer", "description": "How many entries to show. Default 200."},
    },
    "additionalProperties": False,
}


class ListDir(FileTool):
    """Lists through the sandbox; changes nothing."""

    name = "list_dir"
    description = (
        "Lists a folder as a tree, without what git ignores. "
        "Folders end in `/`, symbolic links in `@`."
    )
    parameters = _PARAMETERS

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Fill in what was left out."""
        return {
            "path": text(arguments, "path", "."),
            "depth": number(arguments, "depth", 2, 100),
            "limit": number(arguments, "limit", 200, 5_000),
        }

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """List the upper levels first, so that a limit cuts what is deepest."""
        path = absolute(call.arguments["path"], context.cwd)
        limit = cast("int", call.arguments["limit"])
        from contextlib import aclosing

        from ferrule_files.walk import walk

        found: list[Found] = []
        is_cut = False
        depth = cast("int", call.arguments["depth"])
        async with aclosing(walk(context.sandbox.files, path, depth=depth)) as entries:
            async for each in entries:
                if len(found) == limit:
                    is_cut = True
                    break
                found.append(each)
        return ToolResult(_tree(path, found, is_cut=is_cut))


def _tree(path: str, found: list[Found], *, is_cut: bool) -> str:
    lines = [f"{path}\n" if found else f"{path} is empty\n"]
    for each in sorted(found, key=lambda each: each.path.split("/")):
        *above, name = each.path.split("/")
        lines.append(f"{'  ' * (len(above) + 1)}{name}{_MARKS[each.kind]}\n")
    if is_cut:
        lines.append(f"… more than {len(found)} entries; list a folder below or raise the limit\n")
    return "".join(lines)
