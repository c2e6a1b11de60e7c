"""What happens in a call of `exec_command` or `write_stdin`, once it may."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule_hookspecs.errors import ToolError
from ferrule_hookspecs.sandbox import Command, CommandResult
from ferrule_hookspecs.tools import ToolCall, ToolContext, ToolResult
from ferrule_shell.display import DEFAULT_SHELL, is_of_user, shell_of, started_item
from ferrule_shell.reply import Reply
from ferrule_shell.running import RunningCommand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.items import CommandExecutionItem
    from ferrule_shell.terminals import Terminals

_DENIAL_BYTES: Final = 64 * 1024


async def execute(
    call: ToolCall, context: ToolContext, terminals: Terminals, wait_seconds: float
) -> ToolResult:
    """Run a command until it ends or the time to wait is over; a user's ends then."""
    started = time.monotonic()
    item = started_item(call, context.cwd)
    try:
        command = await _start(call, context, terminals, item)
    except ToolError as error:
        failed: CommandExecutionItem = {
            **item,
            "status": "failed",
            "aggregatedOutput": str(error),
            "exitCode": -1,
        }
        return ToolResult(f"{call.tool} failed: {error}", success=False, item=failed)
    try:
        with anyio.move_on_after(wait_seconds):
            await command.ended.wait()
        if command.exit_code is None and is_of_user(call):
            command.kill()
            await command.ended.wait()
    except BaseException:  # the turn was interrupted
        terminals.forget(command)
        command.abandon()
        raise
    if command.exit_code is None:
        await terminals.keep(command)
    else:
        terminals.forget(command)
    seconds = time.monotonic() - started
    output = _render(command, seconds, terminals.take_notices(), call, context)
    if command.is_ended_by_us:
        output += f"\n(ended, as it took longer than {wait_seconds:g} s)"
    if command.exit_code is None:
        return ToolResult(output, pending=True)
    return _ended(command, output, context)


async def interact(
    call: ToolCall, context: ToolContext, terminals: Terminals, wait_seconds: float
) -> ToolResult:
    """Type into a running command, wait, and return what is new."""
    started = time.monotonic()
    number = cast("int", call.arguments["session_id"])
    command = terminals.find(number)
    if command is None:
        raise ToolError(f"{call.tool} failed: Unknown process id {number}")
    async with command.turn:
        await command.write(cast("str", call.arguments["chars"]), context.turn_id)
        with anyio.move_on_after(wait_seconds):
            await command.ended.wait()
        if command.exit_code is not None:
            terminals.forget(command)
        seconds = time.monotonic() - started
        notices = terminals.take_notices()
        return ToolResult(_render(command, seconds, notices, call, context))


async def _start(
    call: ToolCall, context: ToolContext, terminals: Terminals, item: CommandExecutionItem
) -> RunningCommand:
    arguments = call.arguments
    cwd = item["cwd"]
    if "workdir" in arguments:
        stat = await context.sandbox.files.stat(cwd)
        if stat is None or stat.kind != "directory":
            state = "does not exist" if stat is None else "is not a folder"
            raise ToolError(f"workdir {cwd!r} {state}")
    shell = shell_of(call)
    if not os.path.isabs(shell):
        raise ToolError(f"shell {shell!r} was not found; leave it out to use {DEFAULT_SHELL}")
    login: Mapping[str, str] = {}
    if arguments["login"]:
        login = await terminals.login.changes(shell, context)
    command = Command(
        (shell, "-c", cast("str", arguments["cmd"])),
        cwd,
        context.environment(login),
        tty=arguments["tty"] is True,
    )
    try:
        process = await context.sandbox.spawn(command)
    except (OSError, ValueError) as error:
        raise ToolError(f"the command could not be started: {error}") from error
    return terminals.start(
        lambda number: RunningCommand(number, item, process, context, has_terminal=command.tty)
    )


def _render(
    command: RunningCommand,
    seconds: float,
    notices: list[str],
    call: ToolCall,
    context: ToolContext,
) -> str:
    reply = Reply(seconds, command.exit_code, command.session_id, notices)
    max_tokens = cast("int", call.arguments["max_output_tokens"])
    return reply.render(command.take_unread(), max_tokens, context.output_token_limit)


def _ended(command: RunningCommand, output: str, context: ToolContext) -> ToolResult:
    code = command.exit_code or 0
    denial = None
    if code:
        denial = context.sandbox.classify(CommandResult(code, command.end(_DENIAL_BYTES)))
    return ToolResult(output, success=code == 0, item=command.completed_item(), denial=denial)
