"""The tool `apply_patch`: reads the files, has the patch planned, writes all of it or nothing."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, cast

from ferrule_apply_patch.grammar import DESCRIPTION, GRAMMAR
from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.tools import (
    FreeformSchema,
    Requirement,
    SandboxDeniedError,
    SandboxSession,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule_apply_patch.parser import Section
    from ferrule_apply_patch.plan import FileState, Plan
    from ferrule_hookspecs.items import FileChangeItem, FileUpdateChange
    from ferrule_hookspecs.sandbox import FileSystem

_SHELL_HEADER: Final = "Wall time: 0.0000 seconds\nOutput:\n"
_LARGE: Final = 1024 * 1024  # bytes; planning beyond it is felt by who shares the event loop
_INPUT_KEYS: Final = ("input", "patch")


class ApplyPatch(Tool):
    """Adds, deletes, updates and moves files."""

    name = "apply_patch"
    description = DESCRIPTION

    def schema(self) -> FreeformSchema:
        """Plain text that follows the grammar; calls with JSON arguments are understood, too."""
        return FreeformSchema(self.name, self.description, "lark", GRAMMAR)

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Accept the patch under the names models use for it."""
        for key in _INPUT_KEYS:
            patch = arguments.get(key)
            if isinstance(patch, str):
                return {"input": patch}
        raise ToolArgumentError("failed to parse function arguments: missing field `input`")

    def item(self, call: ToolCall, cwd: str) -> FileChangeItem:
        """What the patch would do now, or says it will do where that cannot be told ahead."""
        from ferrule_apply_patch.announcement import announced
        from ferrule_apply_patch.foresight import foreseen
        from ferrule_apply_patch.parser import PatchError, parse

        resolve = _resolver(call, cwd)
        try:
            sections = parse(_patch(call))
            changes = foreseen(sections, resolve, cwd)
            if changes is None:
                changes = announced(sections, resolve)
        except PatchError:
            changes = []
        return _item(call, changes, "inProgress")

    def requirement(self, call: ToolCall, sandbox: SandboxSession) -> Requirement:
        """Ask for approval where the sandbox would refuse to write one of the files."""
        from ferrule_apply_patch.parser import PatchError, parse
        from ferrule_apply_patch.plan import touched_paths

        try:
            sections = parse(_patch(call))
        except PatchError:
            return Requirement()
        for path in touched_paths(sections, _resolver(call, sandbox.policy.cwd)):
            if sandbox.files.check("write", path) is not None:
                is_read_only = sandbox.policy.mode == "read-only"
                reason = (
                    "writing is blocked by read-only sandbox"
                    if is_read_only
                    else "writing outside of the project"
                )
                return Requirement("approval", f"patch rejected: {reason}", escalate=True)
        return Requirement()

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Check that all of the patch fits, then write all of it."""
        from ferrule_apply_patch.parser import PatchError, parse

        started = time.monotonic()
        try:
            sections = parse(_patch(call))
            if not sections:
                return self._failure(call, context, "patch rejected: empty patch")
            plan = await _planned(sections, _resolver(call, context.cwd), context.sandbox.files)
        except PatchError as error:
            return self._failure(call, context, f"apply_patch verification failed: {error}")
        try:
            await context.sandbox.files.apply(plan.edits)
        except SandboxDeniedError:
            raise
        except OSError as error:
            text = f"Failed to write file {_system_error(error)}; nothing was changed\n"
            output = _report(call, 1, time.monotonic() - started, text)
            return ToolResult(output, success=False, item=_item(call, plan.changes, "failed"))
        output = _report(call, 0, time.monotonic() - started, plan.summary)
        return ToolResult(output, item=_item(call, plan.changes, "completed"))

    def _failure(self, call: ToolCall, context: ToolContext, message: str) -> ToolResult:
        item = self.item(call, context.cwd)
        return ToolResult(message, success=False, item={**item, "status": "failed"})


def _patch(call: ToolCall) -> str:
    return cast("str", call.arguments["input"]) if call.form == "function" else call.text


def _resolver(call: ToolCall, cwd: str) -> Callable[[str], str]:
    workdir = call.arguments.get("workdir")
    return partial(_absolute, os.path.join(cwd, workdir) if isinstance(workdir, str) else cwd)


def _absolute(cwd: str, path: str) -> str:
    return os.path.normpath(os.path.join(cwd, path))


async def _planned(
    sections: Sequence[Section], resolve: Callable[[str], str], files: FileSystem
) -> Plan:
    from ferrule_apply_patch.plan import make_plan, touched_paths

    states = {path: await _state(files, path) for path in touched_paths(sections, resolve)}
    if sum(len(state.data or b"") for state in states.values()) < _LARGE:
        return make_plan(sections, resolve, states)
    from anyio import to_thread

    return await to_thread.run_sync(make_plan, sections, resolve, states)


async def _state(files: FileSystem, path: str) -> FileState:
    from ferrule_apply_patch.plan import FileState

    try:
        stat = await files.stat(path)
        if stat is None:
            return FileState()
        if stat.kind == "directory":
            return FileState(problem="Is a directory (os error 21)")
        if stat.kind == "other":
            return FileState(problem="not a regular file")
        return FileState(await files.read(path), stat.mode)
    except OSError as error:
        return FileState(problem=f"{error.strerror} (os error {error.errno})")


def _report(call: ToolCall, exit_code: int, seconds: float, text: str) -> str:
    report = f"Exit code: {exit_code}\nWall time: {seconds:.1f} seconds\nOutput:\n{text}"
    is_from_shell = call.requested_tool not in {None, call.tool}
    return _SHELL_HEADER + report if is_from_shell else report


def _system_error(error: OSError) -> str:
    place = error.filename if isinstance(error.filename, str) else ""
    return f"{place}: {error.strerror or error}"


def _item(
    call: ToolCall,
    changes: list[FileUpdateChange],
    status: Literal["inProgress", "completed", "failed"],
) -> FileChangeItem:
    return {"type": "fileChange", "id": call.call_id, "changes": changes, "status": status}
