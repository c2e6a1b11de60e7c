"""The tools `exec_command` and `write_stdin`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Final, cast

import anyio

from ferrule_hookspecs.errors import ToolError
from ferrule_hookspecs.items import CommandExecutionItem, ThreadItem
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command, CommandResult
from ferrule_hookspecs.tools import (
    Requirement,
    SandboxSession,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    ToolSchema,
)
from ferrule_shell.actions import actions
from ferrule_shell.arguments import Arguments
from ferrule_shell.quoting import join
from ferrule_shell.reply import Reply
from ferrule_shell.running import RunningCommand
from ferrule_shell.schemas import EXEC_COMMAND, WRITE_STDIN
from ferrule_shell.terminals import terminals_of

_DEFAULT_SHELL: Final = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
_DEFAULT_TOKENS: Final = 10_000
_DEFAULT_YIELD_MS: Final = 10_000
_MIN_YIELD_MS: Final = 250
_MAX_YIELD_MS: Final = 30_000
_MIN_POLL_MS: Final = 5_000
_MAX_POLL_MS: Final = 300_000
_DENIAL_BYTES: Final = 64 * 1024


class ExecCommand(Tool):
    """Runs a shell command, and leaves it running where it takes longer than the call may."""

    name = "exec_command"
    parallel = True

    def __init__(self, context: PluginContext) -> None:
        super().__init__(context)
        self._terminals = terminals_of(context)

    def schema(self) -> ToolSchema:
        """How the model is told to call it."""
        return EXEC_COMMAND

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check the arguments and fill in defaults."""
        given = Arguments(arguments)
        given.require("cmd")
        checked = {
            "cmd": given.text("cmd"),
            "workdir": given.text("workdir") or None,
            "shell": given.text("shell") or None,
            "login": given.flag("login", default=True),
            "tty": given.flag("tty", default=False),
            "yield_time_ms": given.count("yield_time_ms", _DEFAULT_YIELD_MS),
            "max_output_tokens": given.count("max_output_tokens", _DEFAULT_TOKENS),
            "sandbox_permissions": given.choice(
                "sandbox_permissions", "use_default", "require_escalated"
            ),
            "justification": given.text("justification"),
            "prefix_rule": given.texts("prefix_rule"),
        }
        return {name: value for name, value in checked.items() if value is not None}

    def item(self, call: ToolCall, cwd: str) -> ThreadItem:
        """Show the command as it is about to run."""
        return _started_item(call, cwd)

    def requirement(self, call: ToolCall, sandbox: SandboxSession) -> Requirement:
        """Ask for approval where the model wants to leave the sandbox."""
        if call.arguments["sandbox_permissions"] != "require_escalated":
            return Requirement()
        reason = call.arguments.get("justification") or "the command asks to leave the sandbox"
        return Requirement("approval", cast("str", reason), escalate=True)

    async def prewarm(self, context: ToolContext) -> None:
        """Find out what the profile of the user sets."""
        self._terminals.login.prepare(_DEFAULT_SHELL, context)

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Run it until it ends or the yield time is over."""
        started = time.monotonic()
        item = _started_item(call, context.cwd)
        try:
            command = await self._start(call, context, item)
        except ToolError as error:
            failed: CommandExecutionItem = {
                **item,
                "status": "failed",
                "aggregatedOutput": str(error),
                "exitCode": -1,
            }
            return ToolResult(f"{self.name} failed: {error}", success=False, item=failed)
        wait_ms = cast("int", call.arguments["yield_time_ms"])
        try:
            with anyio.move_on_after(_clamped(wait_ms, _MIN_YIELD_MS, _MAX_YIELD_MS) / 1000):
                await command.ended.wait()
        except BaseException:  # the turn was interrupted
            self._terminals.forget(command)
            command.abandon()
            raise
        if command.exit_code is None:
            self._terminals.keep(command)
        else:
            self._terminals.forget(command)
        seconds = time.monotonic() - started
        output = _render(command, seconds, self._terminals.take_notices(), call, context)
        if command.exit_code is None:
            return ToolResult(output, pending=True)
        return _ended(command, output, context)

    async def _start(
        self, call: ToolCall, context: ToolContext, item: CommandExecutionItem
    ) -> RunningCommand:
        arguments = call.arguments
        cwd = item["cwd"]
        if "workdir" in arguments:
            stat = await context.sandbox.files.stat(cwd)
            if stat is None or stat.kind != "directory":
                state = "does not exist" if stat is None else "is not a folder"
                raise ToolError(f"workdir {cwd!r} {state}")
        shell = _shell(call)
        if not os.path.isabs(shell):
            raise ToolError(f"shell {shell!r} was not found; leave it out to use {_DEFAULT_SHELL}")
        login: Mapping[str, str] = {}
        if arguments["login"]:
            login = await self._terminals.login.changes(shell, context)
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
        return self._terminals.start(
            lambda number: RunningCommand(number, item, process, context, has_terminal=command.tty)
        )

    async def aclose(self) -> None:
        """End every command that still runs."""
        await self._terminals.aclose()


class WriteStdin(Tool):
    """Types into a command that was left running, and reads what it wrote."""

    name = "write_stdin"
    parallel = True

    def __init__(self, context: PluginContext) -> None:
        super().__init__(context)
        self._terminals = terminals_of(context)

    def schema(self) -> ToolSchema:
        """How the model is told to call it."""
        return WRITE_STDIN

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check the arguments and fill in defaults."""
        given = Arguments(arguments)
        given.require("session_id")
        chars = given.text("chars") or ""
        return {
            "session_id": given.count("session_id", None),
            "chars": chars,
            "yield_time_ms": given.count("yield_time_ms", _MIN_YIELD_MS if chars else _MIN_POLL_MS),
            "max_output_tokens": given.count("max_output_tokens", _DEFAULT_TOKENS),
        }

    def item(self, call: ToolCall, cwd: str) -> ThreadItem | None:
        """Show nothing: what is typed is told as an event of the command's own item."""
        return None

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Type, wait, and return what is new."""
        started = time.monotonic()
        number = cast("int", call.arguments["session_id"])
        command = self._terminals.find(number)
        if command is None:
            raise ToolError(f"{self.name} failed: Unknown process id {number}")
        async with command.turn:
            await command.write(cast("str", call.arguments["chars"]), context.turn_id)
            with anyio.move_on_after(self._seconds(call)):
                await command.ended.wait()
            if command.exit_code is not None:
                self._terminals.forget(command)
            seconds = time.monotonic() - started
            notices = self._terminals.take_notices()
            return ToolResult(_render(command, seconds, notices, call, context))

    def _seconds(self, call: ToolCall) -> float:
        wait_ms = cast("int", call.arguments["yield_time_ms"])
        if call.arguments["chars"]:
            return _clamped(wait_ms, _MIN_YIELD_MS, _MAX_YIELD_MS) / 1000
        longest = self.context.config.get("background_terminal_max_timeout")
        longest = longest if isinstance(longest, int) else _MAX_POLL_MS
        return _clamped(wait_ms, min(_MIN_POLL_MS, longest), longest) / 1000

    async def aclose(self) -> None:
        """End every command that still runs."""
        await self._terminals.aclose()


def _started_item(call: ToolCall, cwd: str) -> CommandExecutionItem:
    command = cast("str", call.arguments["cmd"])
    folder = os.path.normpath(os.path.join(cwd, cast("str", call.arguments.get("workdir", ""))))
    option = "-lc" if call.arguments["login"] else "-c"
    return {
        "type": "commandExecution",
        "id": call.call_id,
        "command": join((_shell(call), option, command)),
        "cwd": folder,
        "processId": None,
        "source": "unifiedExecStartup",
        "status": "inProgress",
        "commandActions": actions(command, folder),
        "aggregatedOutput": None,
        "exitCode": None,
        "durationMs": None,
    }


def _shell(call: ToolCall) -> str:
    """Return the path of the shell; what was named, where nothing of that name is found."""
    named = cast("str | None", call.arguments.get("shell"))
    if named is None:
        return _DEFAULT_SHELL
    if os.path.isabs(named):
        return named
    from shutil import which  # 3 ms with the compressors it brings, and rarely needed

    return which(named) or named


def _clamped(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


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
