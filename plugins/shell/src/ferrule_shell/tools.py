"""The tools `exec_command` and `write_stdin`: what they are; `execution.py` is what they do.

Every session loads this module to offer the tools, so that whatever only a call needs is imported
by the call.
"""

from __future__ import annotations

import json
import os
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.permissions import parse_permissions
from ferrule_hookspecs.tools import (
    Requirement,
    SandboxSession,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    ToolSchema,
)
from ferrule_shell.arguments import Arguments
from ferrule_shell.schemas import EXEC_COMMAND, WRITE_STDIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.items import ThreadItem
    from ferrule_shell.terminals import Terminals

_WITH_MORE: Final = "with_additional_permissions"
_MORE: Final = "additional_permissions"
_DEFAULT_TOKENS: Final = 10_000
_DEFAULT_YIELD_MS: Final = 10_000
_MIN_YIELD_MS: Final = 250
_MAX_YIELD_MS: Final = 30_000
_USER_LIMIT_MS: Final = 3_600_000
_MIN_POLL_MS: Final = 5_000
_MAX_POLL_MS: Final = 300_000


class _ShellTool(Tool):
    """What both tools have in common: the running commands of the session."""

    parallel = True

    def is_enabled(self) -> bool:
        """Commands can be switched off as a whole."""
        return self.context.table("features").get("shell_tool") is not False

    @cached_property
    def _terminals(self) -> Terminals:
        from ferrule_shell.terminals import terminals_of

        return terminals_of(self.context)

    async def aclose(self) -> None:
        """End every command that still runs."""
        if "_terminals" in self.__dict__:
            await self._terminals.aclose()


class ExecCommand(_ShellTool):
    """Runs a shell command, and leaves it running where it takes longer than the call may."""

    name = "exec_command"

    def schema(self) -> ToolSchema:
        """How the model is told to call it."""
        return EXEC_COMMAND

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check the arguments and fill in defaults."""
        given = Arguments(arguments)
        given.require("cmd")
        sandboxing = given.choice(
            "sandbox_permissions", "use_default", "require_escalated", _WITH_MORE
        )
        more = arguments.get(_MORE)
        if sandboxing == _WITH_MORE:
            given.require(_MORE)
            parse_permissions(_MORE, more, "/")  # the folder is known when it runs
        elif more is not None:
            raise ToolArgumentError(
                f"failed to parse function arguments: `{_MORE}` needs `sandbox_permissions` to be"
                f" {_WITH_MORE}"
            )
        checked = {
            "cmd": given.text("cmd"),
            "workdir": given.text("workdir") or None,
            "shell": given.text("shell") or None,
            "login": given.flag("login", default=True),
            "tty": given.flag("tty", default=False),
            "yield_time_ms": given.count("yield_time_ms", _DEFAULT_YIELD_MS),
            "max_output_tokens": given.count("max_output_tokens", _DEFAULT_TOKENS),
            "sandbox_permissions": sandboxing,
            _MORE: more,
            "justification": given.text("justification"),
            "prefix_rule": given.texts("prefix_rule"),
        }
        return {name: value for name, value in checked.items() if value is not None}

    def user_command(self, command: str, timeout_ms: int | None) -> ToolCall:
        """Run a line of the user's to its end: it is not left running."""
        limit = _USER_LIMIT_MS if timeout_ms is None else max(timeout_ms, 0)
        arguments = {**self.normalize({"cmd": command}), "timeout_ms": limit}
        text = json.dumps(arguments, ensure_ascii=False)
        return ToolCall("", self.name, MappingProxyType(arguments), text, "function")

    def item(self, call: ToolCall, cwd: str) -> ThreadItem:
        """Show the command as it is about to run."""
        from ferrule_shell.display import started_item

        return started_item(call, cwd)

    def requirement(self, call: ToolCall, sandbox: SandboxSession) -> Requirement:
        """Ask for approval where the model wants to leave the sandbox, or more than it allows."""
        arguments = call.arguments
        reason = cast("str", arguments.get("justification") or "")
        if arguments["sandbox_permissions"] == _WITH_MORE:
            folder = os.path.join(sandbox.policy.cwd, cast("str", arguments.get("workdir", "")))
            more = parse_permissions(_MORE, arguments[_MORE], folder)
            reason = reason or "the command needs more than the sandbox allows"
            return Requirement(reason=reason, permissions=more)
        if arguments["sandbox_permissions"] != "require_escalated":
            return Requirement()
        reason = reason or "the command asks to leave the sandbox"
        return Requirement("approval", reason, escalate=True)

    async def prewarm(self, context: ToolContext) -> None:
        """Find out what the profile of the user sets."""
        from ferrule_shell.display import DEFAULT_SHELL

        self._terminals.login.prepare(DEFAULT_SHELL, context)

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Run it until it ends or the yield time is over."""
        from ferrule_shell.execution import execute

        if (limit_ms := call.arguments.get("timeout_ms")) is not None:
            return await execute(call, context, self._terminals, cast("int", limit_ms) / 1000)
        wait_ms = cast("int", call.arguments["yield_time_ms"])
        seconds = _clamped(wait_ms, _MIN_YIELD_MS, _MAX_YIELD_MS) / 1000
        return await execute(call, context, self._terminals, seconds)


class WriteStdin(_ShellTool):
    """Types into a command that was left running, and reads what it wrote."""

    name = "write_stdin"

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
        from ferrule_shell.execution import interact

        return await interact(call, context, self._terminals, self._seconds(call))

    def _seconds(self, call: ToolCall) -> float:
        wait_ms = cast("int", call.arguments["yield_time_ms"])
        if call.arguments["chars"]:
            return _clamped(wait_ms, _MIN_YIELD_MS, _MAX_YIELD_MS) / 1000
        longest = self.context.config.get("background_terminal_max_timeout")
        longest = longest if isinstance(longest, int) else _MAX_POLL_MS
        return _clamped(wait_ms, min(_MIN_POLL_MS, longest), longest) / 1000


def _clamped(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))
