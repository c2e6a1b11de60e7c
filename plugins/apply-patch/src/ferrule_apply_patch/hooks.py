"""Takes patches out of the shell: a command that only feeds `apply_patch` becomes a call of it.

There is no program of that name; models write the command out of habit. Only the exact form is
taken, so that nothing else a command line may hold is ever lost.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs import hookimpl

if TYPE_CHECKING:
    from ferrule_hookspecs.tools import ToolCall, TurnInfo

_WORD: Final = r"""'(?P<single>[^'\n]+)'|"(?P<double>[^"$`\\\n]+)"|(?P<bare>[\w@%+=:,./-]+)"""
_COMMAND: Final = re.compile(
    rf"""
    \s* (?: cd [ ]+ (?!['"]?-) (?: {_WORD} ) [ ]* && [ ]* )?
    (?: apply_patch | applypatch ) [ ]* << [ ]* (?P<quote>['"]?) (?P<end>\w+) (?P=quote) [ ]* \n
    (?P<patch> \s* \*\*\*[ ]Begin[ ]Patch .*? ) \n
    (?P=end) \s*
    """,
    re.VERBOSE | re.DOTALL,
)


@hookimpl
async def ferrule_tool_rewrite(call: ToolCall, turn: TurnInfo) -> ToolCall | None:
    """Turn `apply_patch <<'EOF'` into a call of the tool."""
    command = call.arguments.get("cmd")
    if call.tool != "exec_command" or not isinstance(command, str) or "patch" not in command:
        return None
    match = _COMMAND.fullmatch(command)
    # The shell ends the patch at the first line that is the delimiter; what follows are commands.
    if match is None or match["end"] in match["patch"].split("\n"):
        return None
    return _patch_call(call, match["patch"], _folder(match, call, turn.cwd))


def _folder(match: re.Match[str], call: ToolCall, cwd: str) -> str:
    workdir = call.arguments.get("workdir")
    folder = match["single"] or match["double"] or match["bare"] or ""
    return os.path.join(cwd, workdir if isinstance(workdir, str) else "", folder)


def _patch_call(call: ToolCall, patch: str, workdir: str) -> ToolCall:
    from types import MappingProxyType

    arguments = {"input": patch, "workdir": workdir}
    return call._replace(
        tool="apply_patch",
        arguments=MappingProxyType(arguments),
        text=json.dumps(arguments, ensure_ascii=False),
        requested_tool=call.tool,
    )
