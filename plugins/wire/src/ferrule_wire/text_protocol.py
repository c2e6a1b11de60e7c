"""Tool calls written as plain text, for models that have no other way to call tools.

The model is told its tools in words (`describe_tools`), reads earlier calls and their results as
ordinary messages (`as_messages`), and answers with fenced blocks that `ReplyParser` turns back into
call items. Knows no API: a provider sends the messages in the way its own API wants them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.history import called_name
from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ferrule_hookspecs.history import (
        CallItem,
        CallOutputItem,
        ContentPart,
        HistoryItem,
        MessageItem,
    )
    from ferrule_hookspecs.tools import ToolSchema

FENCE: Final = "```"
NO_OUTPUT: Final = "(no output)"
_INTRODUCTION: Final = """\
# Tools

You act by calling tools; nothing happens unless you call one. The only tools are: {names}. A call \
is a block of this form, beginning on a line of its own:

```tool
{example}
```

The block holds one JSON object: `name` is one of the tools named above, `arguments` follow that \
tool's JSON Schema. Write line breaks inside of a JSON string as \\n. Write one block per call; \
several blocks may follow each other. End your message after the last block: the results come in \
the next message, and what they say must not be guessed. When no tool is needed any more, answer \
without a block."""
_FREEFORM: Final = """\
A tool marked as plain text is called with its name behind the word `tool`, and its input as it is:

```tool NAME
INPUT
```"""


def describe_tools(tools: Sequence[ToolSchema]) -> str:
    """Tell a model in words which tools it has and how it calls them; empty without tools."""
    if not tools:
        return ""
    names = ", ".join(f"`{tool.name}`" for tool in tools)
    parts = [_INTRODUCTION.format(names=names, example=_example(tools))]
    if any(isinstance(tool, FreeformSchema) for tool in tools):
        parts.append(_FREEFORM)
    return "\n\n".join(parts + [_description(tool) for tool in tools])


def _example(tools: Sequence[ToolSchema]) -> str:
    """Show a call of the first tool: small models take names like TOOL for real ones."""
    tool = next((tool for tool in tools if isinstance(tool, FunctionSchema)), None)
    if tool is None:
        return json.dumps({"name": tools[0].name, "arguments": {"input": "..."}})
    required = cast("Sequence[str]", tool.parameters.get("required") or ())
    return json.dumps({"name": tool.name, "arguments": dict.fromkeys(required, "...")})


def _description(tool: ToolSchema) -> str:
    if isinstance(tool, FreeformSchema):
        return (
            f"## {tool.name} (plain text)\n\n{tool.description}\n\n"
            f"The input follows this {tool.syntax} grammar:\n\n{tool.definition.strip()}"
        )
    schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"), default=dict)
    return f"## {tool.name}\n\n{tool.description}\n\nJSON Schema of the arguments: {schema}"


def as_messages(history: Sequence[HistoryItem]) -> list[MessageItem]:
    """Write a history as messages alone: calls as the model would write them, results as input.

    Reasoning and items of unknown types are left out.
    """
    messages: list[MessageItem] = []
    names: dict[str, str] = {}
    for item in history:
        match item["type"]:
            case "message":
                messages.append(item)
            case "function_call" | "custom_tool_call":
                names[item["call_id"]] = called_name(item)
                messages.append(_text_message("assistant", call_block(item)))
            case "function_call_output" | "custom_tool_call_output":
                messages.append(_result(item, names.get(item["call_id"], "tool")))
            case _:
                pass
    return messages


def call_block(item: CallItem) -> str:
    """Write a call the way the model is told to write it."""
    if item["type"] == "custom_tool_call":
        return f"{FENCE}tool {item['name']}\n{item['input'].rstrip()}\n{FENCE}"
    arguments: object
    try:
        arguments = json.loads(item["arguments"] or "{}")
    except ValueError:
        arguments = item["arguments"]
    call = json.dumps({"name": called_name(item), "arguments": arguments}, ensure_ascii=False)
    return f"{FENCE}tool\n{call}\n{FENCE}"


def _text_message(role: str, text: str) -> MessageItem:
    kind = "output_text" if role == "assistant" else "input_text"
    message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return cast("MessageItem", message)


def _result(item: CallOutputItem, name: str) -> MessageItem:
    output = item["output"]
    parts = [_text_part(output)] if isinstance(output, str) else list(output)
    text = "".join(part.get("text", "") for part in parts) or NO_OUTPUT
    shown = f'<tool_result name="{name}">\n{text.rstrip()}\n</tool_result>'
    images = [part for part in parts if part["type"] == "input_image"]
    return {"type": "message", "role": "user", "content": [_text_part(shown), *images]}


def _text_part(text: str) -> ContentPart:
    return {"type": "input_text", "text": text}


class ReplyParser:
    """Takes a reply apart while it arrives: text is handed on, blocks become call items.

    What stands behind a call is dropped unless it is another call: it was written without knowing
    the call's result.
    """

    def __init__(self, tools: Sequence[ToolSchema]) -> None:
        """Know the tools by name."""
        self._tools: Mapping[str, ToolSchema] = {tool.name: tool for tool in tools}
        self._line: list[str] = []  # the line that is not complete yet, in pieces
        self._is_plain_line = False  # part of that line was handed on already
        self._is_held_line = False  # that line looks like the beginning of a block
        self._block: _Block | None = None
        self._has_calls = False

    def feed(self, text: str) -> list[str | CallItem]:
        """Take more of the reply; returns texts and calls in order."""
        found: list[str | CallItem] = []
        pieces = text.split("\n")
        for piece in pieces[:-1]:
            self._line.append(piece)
            found += self._end_line("\n")
        if pieces[-1]:
            self._line.append(pieces[-1])
            found += self._early_text()
        return [part for part in found if part]

    def end(self) -> list[str | CallItem]:
        """Take note that the reply is over; a block left open is taken as complete."""
        found = list(self._end_line("")) if self._line else []
        if self._block is not None:
            found += self._close(self._block, "")
        return [part for part in found if part]

    def _early_text(self) -> Iterator[str | CallItem]:
        """Hand on an unfinished line as soon as it cannot begin a block."""
        if self._block is not None or self._is_held_line:
            return
        text = "".join(self._line)
        if not self._is_plain_line:
            start = text.lstrip()
            self._is_held_line = start.startswith(_OPENERS)
            if self._is_held_line or any(opener.startswith(start) for opener in _OPENERS):
                return
        self._line.clear()
        self._is_plain_line = True
        yield from self._text(text)

    def _end_line(self, newline: str) -> Iterator[str | CallItem]:
        line = "".join(self._line)
        self._line.clear()
        was_plain, self._is_plain_line, self._is_held_line = self._is_plain_line, False, False
        if self._block is not None:
            yield from self._continue_block(self._block, line, newline)
            return
        opening = None if was_plain else _OPENING.match(line)
        if opening is None:
            yield from self._text(line + newline)
            return
        self._block = _Block(opening, isinstance(self._tools.get(opening["tool"]), FreeformSchema))
        if opening["rest"]:
            yield from self._continue_block(self._block, opening["rest"], newline)

    def _continue_block(self, block: _Block, line: str, newline: str) -> Iterator[str | CallItem]:
        stripped = line.strip()
        if block.closes_with(stripped):
            if last := stripped.removesuffix(block.closer):
                block.lines.append(last)
            yield from self._close(block, newline)
        else:
            block.lines.append(line)

    def _close(self, block: _Block, newline: str) -> Iterator[str | CallItem]:
        self._block = None
        call = block.as_call(self._tools)
        if call is not None:
            self._has_calls = True
            yield call
        else:
            yield from self._text(block.as_text() + newline)

    def _text(self, text: str) -> Iterator[str]:
        if not self._has_calls:
            yield text


_OPENERS: Final = (f"{FENCE}tool", f"{FENCE}json", "<tool_call>")
"""How models begin a call, told to or by habit."""
_OPENING: Final = re.compile(
    r"\s*(?:```(?P<kind>tool(?:_call|_code)?|json)|<tool_call>)"
    r"(?:[ \t]+(?P<tool>[^\s{]+))?[ \t]*(?P<rest>\{.*)?\s*$",
    re.DOTALL,
)


class _Block:
    """A block that may hold a call."""

    def __init__(self, opening: re.Match[str], is_freeform: bool) -> None:
        kind: str | None = opening["kind"]
        self.closer = FENCE if kind else "</tool_call>"
        self.lines: list[str] = []
        self._tool: str = opening["tool"] or ""
        self._head = opening[0].removesuffix(opening["rest"] or "").rstrip()
        self._is_freeform = is_freeform
        self._is_certain = kind is not None and kind.startswith("tool")

    def closes_with(self, line: str) -> bool:
        """Whether a line, blanks around it left out, ends the block."""
        if self._is_freeform or not line.endswith(self.closer):
            return line == self.closer
        return line == self.closer or line.startswith("{") or self.closer != FENCE

    def as_text(self) -> str:
        """The block as it was written."""
        return "\n".join((self._head, *self.lines, self.closer))

    def as_call(self, tools: Mapping[str, ToolSchema]) -> CallItem | None:
        """The call in the block; None where it is an ordinary block after all."""
        body = "\n".join(self.lines)
        if self._is_freeform:
            return _freeform_call(self._tool, f"{body}\n")
        table = _json_object(body)
        name = str(table.get("name") or self._tool) if table is not None else ""
        if table is None or not name:
            # The kernel answers what it cannot read, so that the model can mend it.
            is_call = self._is_certain or '"name"' in body
            return _function_call(self._tool or _named_in(body), body) if is_call else None
        if name not in tools and not self._is_certain:
            return None
        return _parsed_call(name, table, tools, has_name=bool(table.get("name")))


def _parsed_call(
    name: str, table: Mapping[str, object], tools: Mapping[str, ToolSchema], *, has_name: bool
) -> CallItem:
    arguments = table.get("arguments", table.get("parameters"))
    if arguments is None:  # written beside the name, or the name stands behind the fence
        arguments = {key: value for key, value in table.items() if key != "name" or not has_name}
    if isinstance(tools.get(name), FreeformSchema):
        return _freeform_call(name, freeform_input(arguments))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return _function_call(name, text)


def freeform_input(arguments: object) -> str:
    """Find the plain text in the JSON arguments of a call whose tool takes plain text."""
    if isinstance(arguments, dict):
        table = cast("Mapping[str, object]", arguments)
        values = list(table.values())
        found = table.get("input", values[0] if len(values) == 1 else None)
        arguments = found if found is not None else arguments
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _function_call(name: str, arguments: str) -> CallItem:
    return {
        "type": "function_call",
        "call_id": new_call_id(),
        "name": name,
        "arguments": arguments,
    }


def _freeform_call(name: str, text: str) -> CallItem:
    return {"type": "custom_tool_call", "call_id": new_call_id(), "name": name, "input": text}


def new_call_id() -> str:
    """Make an id for a call that came without one."""
    import os

    return f"call_{os.urandom(12).hex()}"


def _json_object(text: str) -> Mapping[str, object] | None:
    try:
        value: object = json.loads(text, strict=False)  # line breaks inside of strings are common
    except (ValueError, RecursionError):
        return None
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else None


def _named_in(body: str) -> str:
    """Find the tool's name in a block that is no JSON."""
    found = re.search(r'"name"\s*:\s*"([^"\n]+)"', body)
    return found[1] if found else "tool"
