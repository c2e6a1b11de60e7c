"""What the embedded model is told, and the form its answers must have.

Reading the prompt costs seconds on a small machine, so that every sentence here has to earn its
place; docs/local.md has the figures.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SYSTEM: Final = r"""You are a coding agent in a bash terminal. You do the user's task in the current folder, one step at a time. Every answer is one JSON object, one step; "why" says in a few words what is still to do:
{"why": "...", "tool": "run", "command": "..."} runs a bash command and shows its output
{"why": "...", "tool": "read", "path": "..."} shows a file
{"why": "...", "tool": "write", "path": "...", "content": "..."} makes or replaces a whole file
{"why": "...", "tool": "done", "message": "..."} ends the task and tells the user what you did

Rules:
- To change a file: read it, then write the whole file with the change in it and everything else kept.
- To move, delete, count or compute: run a command. Never count or compute in your head.
- When a step fails or the result is not right, do something else. Never repeat a step.
- Say done only after every part of the task is done and checked.

Good commands:
wc -l < FILE gives the number of lines
awk '{t += $1} END {print t}' FILE gives the total
find . -name 'PATTERN' -delete deletes everywhere
mv OLD NEW renames
git add -A && git commit -m 'TEXT' commits all

Example of a whole task.
Task: The price in shop.py is doubled by mistake. Correct it and add a function tax(price). Then write the number of words of shop.py into words.txt
{"why": "I have to see the code first.", "tool": "read", "path": "shop.py"}
Result: def total(price, count):
    return price * count * 2
{"why": "The * 2 is the mistake: I remove it and add tax.", "tool": "write", "path": "shop.py", "content": "def total(price, count):\n    return price * count\n\ndef tax(price):\n    return price * 0.2\n"}
Result: written
{"why": "I check that both give the right result.", "tool": "run", "command": "python3 -c 'import shop; print(shop.total(5, 3), shop.tax(10))'"}
Result: 15 2.0
{"why": "The number of words is still missing; a command counts them.", "tool": "run", "command": "wc -w < shop.py > words.txt && cat words.txt"}
Result: 13
{"why": "All parts are done.", "tool": "done", "message": "I corrected total and added tax in shop.py, and wrote its number of words, 13, into words.txt."}
End of the example. The next task is another one, with other files."""  # noqa: E501 -- a line of the prompt is a line of the prompt
PLAIN: Final = "You are a helpful assistant. Answer briefly and truthfully."

_WHY_LENGTH: Final = 120
_FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "run": ("command",),
    "read": ("path",),
    "write": ("path", "content"),
}
_TEXT: Final[Mapping[str, object]] = {"type": "string"}


def step_grammar(kinds: Sequence[str], output_schema: Mapping[str, object] | None) -> str:
    """Return the grammar of one step.

    Args:
        kinds: The steps that can be taken besides ending the task.
        output_schema: What the last message must be; None for plain text.
    """
    last: dict[str, object] = dict(output_schema or _TEXT)
    steps = [_step(kind, dict.fromkeys(_FIELDS[kind], _TEXT)) for kind in kinds]
    schema: dict[str, Any] = {"oneOf": [*steps, _step("done", {"message": last})]}
    for key in ("$defs", "definitions"):  # references in the schema point at its own root
        if key in last:
            schema[key] = last.pop(key)
    return json_grammar(schema)


def json_grammar(schema: Mapping[str, object]) -> str:
    """Return a grammar for JSON in the form of `json.dumps`: white space would cost time."""
    form = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    return f"%llguidance {{}}\nstart: %json {json.dumps({'x-guidance': form, **schema})}"


def step_text(why: str, step: Mapping[str, object]) -> str:
    """Write a step as the model writes it."""
    return json.dumps({"why": why, **step}, ensure_ascii=False)


def parse_step(text: str) -> dict[str, Any] | None:
    """Read a step; None where the text is not one, because it was cut off."""
    try:
        step = json.loads(text, strict=False)
    except ValueError:
        return None
    if not isinstance(step, dict) or "tool" not in step:
        return None
    return cast("dict[str, Any]", step)


def _step(tool: str, fields: Mapping[str, object]) -> dict[str, object]:
    properties = {
        "why": {"type": "string", "maxLength": _WHY_LENGTH},
        "tool": {"const": tool},
        **fields,
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
