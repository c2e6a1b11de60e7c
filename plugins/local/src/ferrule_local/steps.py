"""The steps of the embedded model, and the kernel's tools behind them, in both directions.

The model knows four tools of its own. Each step becomes a call of a tool that the session really
offers, and a stored call becomes the same step again, so that the prompt only ever grows.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ferrule_hookspecs.tools import FreeformSchema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.history import CallItem, CallOutputItem
    from ferrule_hookspecs.tools import ToolSchema

Step = dict[str, str]

_SHELLS: Final = {"exec_command": "cmd", "shell_command": "command"}
_PATCH: Final = "apply_patch"
_READER: Final = "read_file"
_YIELD_MS: Final = 30_000
_ADDED: Final = re.compile(
    r"\A\*\*\* Begin Patch\n\*\*\* Add File: (?P<path>[^\n]+)\n(?P<lines>(?:\+[^\n]*\n)*)"
    r"\*\*\* End Patch\n?\Z"
)
_HERE: Final = re.compile(r"\Acat > (?P<path>.+?) <<'(?P<end>\w+)'\n(?P<text>.*?)(?P=end)\Z", re.S)
_CAT: Final = re.compile(r"\Acat -- (?P<path>.+)\Z", re.S)
_EXIT: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.M)
_LINE_NUMBER: Final = re.compile(r"^ *\d+\t", re.M)


class Tools(NamedTuple):
    """What a session offers for the steps; None where it offers nothing.

    Attributes:
        shell: The tool that runs commands.
        patch: Whether there is `apply_patch`, and how it is called.
        reader: Whether there is `read_file`.
    """

    shell: str | None
    patch: type[ToolSchema] | None
    reader: bool

    @property
    def kinds(self) -> list[str]:
        """The steps that can be taken, besides ending the task."""
        kinds = ["run"] if self.shell else []
        kinds += ["read"] if self.shell or self.reader else []
        return kinds + (["write"] if self.shell or self.patch else [])


def offered(tools: Sequence[ToolSchema]) -> Tools:
    """Find the tools of a request that the steps need."""
    by_name = {tool.name: tool for tool in tools}
    patch = by_name.get(_PATCH)
    return Tools(
        shell=next((name for name in _SHELLS if name in by_name), None),
        patch=None if patch is None else type(patch),
        reader=_READER in by_name,
    )


def to_call(step: Step, tools: Tools, call_id: str) -> CallItem:
    """Turn a step into a call of a tool the session offers."""
    match step["tool"]:
        case "write" if tools.patch is not None:
            return _patch_call(step, tools, call_id)
        case "read" if tools.reader:
            return _function(_READER, {"path": step["path"]}, call_id)
        case "write":
            return _shell_call(_here_document(step), tools, call_id)
        case "read":
            return _shell_call(f"cat -- {_quoted(step['path'])}", tools, call_id)
        case _:
            return _shell_call(step["command"], tools, call_id)


def to_step(call: CallItem) -> dict[str, Any]:
    """Turn a stored call back into the step it came from; calls of other models as they read."""
    if call["type"] == "custom_tool_call":
        return _patch_step(call["name"], call["input"])
    try:
        arguments = json.loads(call["arguments"])
    except ValueError:
        arguments = {}
    name = call["name"]
    if name == _PATCH:
        return _patch_step(name, str(arguments.get("input", "")))
    if name == _READER:
        return {"tool": "read", "path": str(arguments.get("path", ""))}
    if name in _SHELLS:
        return _shell_step(str(arguments.get(_SHELLS[name], "")))
    return {"tool": name, **arguments}


def to_result(step: Mapping[str, Any], output: CallOutputItem) -> str:
    """Say in few words what a call gave; the model sees no headers, numbers or timings."""
    text = _text(output)
    found = _EXIT.search(text.partition("\nOutput:\n")[0])
    code = int(found[1]) if found else None
    _, has_header, body = text.partition("\nOutput:\n")
    body = body if has_header else text
    if code is not None and code != 0:
        return f"failed with exit code {code}\n{body}"
    if step["tool"] == "write":
        return "written" if code == 0 else f"failed: {body}".rstrip()
    if step["tool"] == "read" and not has_header:
        body = _LINE_NUMBER.sub("", body)
    if code is None and has_header:
        body = f"{body.rstrip()}\n(it still runs)"
    # With its last newline: without it the model does noticeably worse.
    return body or "(no output)"


def _patch_call(step: Step, tools: Tools, call_id: str) -> CallItem:
    lines = step["content"].split("\n")
    if not lines[-1]:
        lines.pop()
    added = "".join(f"+{line}\n" for line in lines)
    patch = f"*** Begin Patch\n*** Add File: {_one_line(step['path'])}\n{added}*** End Patch"
    if tools.patch is FreeformSchema:
        return {"type": "custom_tool_call", "call_id": call_id, "name": _PATCH, "input": patch}
    return _function(_PATCH, {"input": patch}, call_id)


def _patch_step(name: str, patch: str) -> dict[str, Any]:
    found = _ADDED.match(patch)
    if found is None:
        return {"tool": name, "input": patch}
    content = "".join(line[1:] for line in found["lines"].splitlines(True))
    return {"tool": "write", "path": found["path"], "content": content}


def _shell_call(command: str, tools: Tools, call_id: str) -> CallItem:
    name = cast("str", tools.shell)
    arguments: dict[str, object] = {_SHELLS[name]: command}
    if name == "exec_command":
        arguments["yield_time_ms"] = _YIELD_MS
    return _function(name, arguments, call_id)


def _shell_step(command: str) -> dict[str, Any]:
    if found := _HERE.match(command):
        return {"tool": "write", "path": _unquoted(found["path"]), "content": found["text"]}
    if found := _CAT.match(command):
        return {"tool": "read", "path": _unquoted(found["path"])}
    return {"tool": "run", "command": command}


def _here_document(step: Step) -> str:
    text = step["content"]
    if text and not text.endswith("\n"):
        text += "\n"
    end = "END"
    while f"\n{end}\n" in f"\n{text}":
        end += "_"
    return f"cat > {_quoted(step['path'])} <<'{end}'\n{text}{end}"


def _function(name: str, arguments: Mapping[str, object], call_id: str) -> CallItem:
    text = json.dumps(arguments, ensure_ascii=False)
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}


def _text(output: CallOutputItem) -> str:
    if isinstance(output["output"], str):
        return output["output"]
    return "\n".join(part.get("text", "") for part in output["output"])


def _one_line(path: str) -> str:
    return path.replace("\n", " ").strip()


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)


def _unquoted(path: str) -> str:
    import shlex

    try:
        return " ".join(shlex.split(path))
    except ValueError:
        return path
