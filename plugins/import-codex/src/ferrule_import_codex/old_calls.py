"""Items for the tool calls of older threads, which kept calls only in the model's history."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ferrule_import_codex.item_forms import tables, text, texts
from ferrule_import_codex.tables import Table, as_table

if TYPE_CHECKING:
    from collections.abc import Iterator

_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})
_SHELLS: Final = frozenset({"shell", "shell_command", "exec_command", "container.exec"})
_EXIT: Final = re.compile(r"(?:Exit code:|exited with code) (-?\d+)")
_MOST_OPEN: Final = 1000


@dataclass(slots=True)
class OldCalls:
    """Pairs calls with their outputs."""

    _open: dict[str, Table] = field(default_factory=dict[str, Table])

    def take(self, item: Table) -> Iterator[Table]:
        """Yield the item that a part of the history completes."""
        call_id = text(item.get("call_id"))
        if item.get("type") in _CALLS and len(self._open) < _MOST_OPEN:
            self._open[call_id] = item
        elif item.get("type") in _OUTPUTS and (call := self._open.pop(call_id, None)):
            yield _shown(call, call_id, item.get("output"))

    def unanswered(self) -> Iterator[Table]:
        """Yield the items of calls that never got an output."""
        for call_id, call in self._open.items():
            yield _shown(call, call_id, None)
        self._open.clear()


def _shown(call: Table, call_id: str, output: object) -> Table:
    said = output if isinstance(output, str) else ""
    said = said or "\n".join(text(part.get("text")) for part in tables(output))
    arguments = _arguments(call)
    is_shell = call.get("type") == "local_shell_call" or text(call.get("name")) in _SHELLS
    if is_shell and (given := as_table(arguments)) is not None:
        return _command(call_id, given, said, is_answered=output is not None)
    return {
        "type": "dynamicToolCall",
        "id": call_id,
        "tool": text(call.get("name")),
        "arguments": arguments,
        "status": "failed" if output is None else "completed",
        "contentItems": [{"type": "inputText", "text": said}] if said else [],
    }


def _arguments(call: Table) -> object:
    if call.get("type") == "local_shell_call":
        return as_table(call.get("action")) or {}
    if call.get("type") == "custom_tool_call":
        return text(call.get("input"))
    return _parsed(text(call.get("arguments")))


def _parsed(words: str) -> object:
    try:
        return json.loads(words)
    except (ValueError, RecursionError):
        return words


def _command(call_id: str, given: Table, said: str, *, is_answered: bool) -> Table:
    command = given.get("cmd", given.get("command"))
    line = command if isinstance(command, str) else shlex.join(texts(command))
    code: object = None
    if (table := as_table(_parsed(said))) is not None and "output" in table:
        said = text(table["output"])
        code = (as_table(table.get("metadata")) or {}).get("exit_code")
    elif found := _EXIT.search(said[:400]):
        code = int(found[1])
    exit_code = code if isinstance(code, int) else None
    has_failed = not is_answered or exit_code not in (0, None)
    return {
        "type": "commandExecution",
        "id": call_id,
        "command": line,
        "cwd": text(given.get("workdir")) or text(given.get("working_directory")),
        "commandActions": [{"type": "unknown", "command": line}],
        "status": "failed" if has_failed else "completed",
        "source": "agent",
        "aggregatedOutput": said,
        "exitCode": exit_code,
    }
