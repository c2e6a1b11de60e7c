"""How a call is shown to users while it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

from ferrule_shell.actions import actions
from ferrule_shell.quoting import join

if TYPE_CHECKING:
    from ferrule_hookspecs.items import CommandExecutionItem
    from ferrule_hookspecs.tools import ToolCall

DEFAULT_SHELL: Final = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"


def started_item(call: ToolCall, cwd: str) -> CommandExecutionItem:
    """Return the item of a command that is about to run."""
    command = cast("str", call.arguments["cmd"])
    folder = os.path.normpath(os.path.join(cwd, cast("str", call.arguments.get("workdir", ""))))
    option = "-lc" if call.arguments["login"] else "-c"
    return {
        "type": "commandExecution",
        "id": call.call_id,
        "command": join((shell_of(call), option, command)),
        "cwd": folder,
        "processId": None,
        "source": "userShell" if is_of_user(call) else "unifiedExecStartup",
        "status": "inProgress",
        "commandActions": actions(command, folder),
        "aggregatedOutput": None,
        "exitCode": None,
        "durationMs": None,
    }


def is_of_user(call: ToolCall) -> bool:
    """Whether the user typed the command; a model's arguments never hold a time limit."""
    return "timeout_ms" in call.arguments


def shell_of(call: ToolCall) -> str:
    """Return the path of the shell; what was named, where nothing of that name is found."""
    named = cast("str | None", call.arguments.get("shell"))
    if named is None:
        return DEFAULT_SHELL
    if os.path.isabs(named):
        return named
    from shutil import which  # 3 ms with the compressors it brings, and rarely needed

    return which(named) or named
