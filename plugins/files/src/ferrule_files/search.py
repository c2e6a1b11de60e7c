"""The tool `grep_files`: lines that fit a regular expression.

The search is done by ripgrep, else by grep, inside the sandbox. Python's own engine is not used:
it backtracks, and a pattern of a model could hold up the whole process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_files.arguments import absolute, number, text
from ferrule_files.file_tool import FileTool
from ferrule_hookspecs.errors import ToolError
from ferrule_hookspecs.tools import ToolCall, ToolContext, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_files.engines import Matches

_PARAMETERS: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "A regular expression."},
        "path": {
            "type": "string",
            "description": "The folder or file to search. Default: the working directory.",
        },
        "include": {"type": "string", "description": "Only files that fit this glob: `*.py`."},
        "limit": {"type": "integer", "description": "How many lines to show. Default 100."},
    },
    "required": ["pattern"],
    "additionalProperties": False,
}


class Search(NamedTuple):
    """What to search for; `folder` is absolute, `target` relative to it."""

    pattern: str
    folder: str
    target: str
    include: str
    limit: int


class GrepFiles(FileTool):
    """Searches inside the sandbox; changes nothing."""

    name = "grep_files"
    description = (
        "Searches text files for lines that fit a regular expression, without what git ignores. "
        "Shows `path:line:text`."
    )
    parameters = _PARAMETERS

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Fill in what was left out."""
        return {
            "pattern": text(arguments, "pattern"),
            "path": text(arguments, "path", "."),
            "include": text(arguments, "include", "*"),
            "limit": number(arguments, "limit", 100, 2_000),
        }

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Search with the first engine that is there."""
        from ferrule_files.engines import search_with_grep, search_with_ripgrep

        search = await _search(call, context)
        matches = await search_with_ripgrep(search, context)
        if matches is None:
            matches = await search_with_grep(search, context)
        if matches is None:
            raise ToolError(
                "neither ripgrep (rg) nor grep was found where commands run; install ripgrep"
            )
        return ToolResult(_shown(matches, search, context.output_token_limit * 4))


async def _search(call: ToolCall, context: ToolContext) -> Search:
    path = absolute(call.arguments["path"], context.cwd)
    try:
        stat = await context.sandbox.files.stat(path)
    except OSError as error:
        raise ToolError(f"{path} cannot be searched: {error.strerror}") from error
    if stat is None:
        raise ToolError(f"{path} does not exist")
    folder, slash, name = path.rpartition("/")
    is_folder = stat.kind == "directory"
    return Search(
        cast("str", call.arguments["pattern"]),
        path if is_folder else folder or slash,
        "." if is_folder else name,
        cast("str", call.arguments["include"]),
        cast("int", call.arguments["limit"]),
    )


def _shown(matches: Matches, search: Search, budget: int) -> str:
    shown: list[str] = []
    for line in matches.lines[: search.limit]:
        budget -= len(line.encode()) + 1
        if budget < 0 and shown:
            break
        shown.append(f"{line}\n")
    if not shown:
        shown.append("No line matches.\n")
    if len(shown) < len(matches.lines) or not matches.is_complete:
        shown.append("… there is more; narrow the search or raise the limit\n")
    return "".join(shown) + matches.note
