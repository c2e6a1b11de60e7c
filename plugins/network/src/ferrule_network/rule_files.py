"""Rules about the network in files of rules, in both languages such files are written in.

Those files are the rules plugin's, which reads and lists everything in them; here only what is said
about hosts counts. Plain lines are read as they are. Of Starlark, whose syntax is a part of
Python's, the calls of `network_rule` with plain values at the top of a file are read and nothing is
run: a file that makes such rules in another way counts as one that may restrict.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import ConfigError
from ferrule_network.rule import NetworkRule, build_rule, parse_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_hookspecs.plugins import PluginContext

_LINE: Final = re.compile(
    r"[ \t]*(?:(?:allow|prompt|forbidden|deny)[ \t]+(?:prefix|exact|network)\b|executable[ \t]+\w)"
)
_NETWORK_LINE: Final = re.compile(r"[ \t]*(?:\w+)[ \t]+network\b")
_CALL: Final = "network_rule"
_PARTS: Final = ("host", "protocol", "decision", "justification")
_LARGEST: Final = 4 * 1024 * 1024


class FileRules(NamedTuple):
    """What files say.

    Attributes:
        rules: The rules; from a file with a flaw only those that restrict.
        flaws: What is wrong.
    """

    rules: tuple[NetworkRule, ...] = ()
    flaws: tuple[str, ...] = ()


def rule_folders(context: PluginContext) -> list[Path]:
    """The folders that count: the administrator's, the user's, and that of a trusted project."""
    folders = [context.admin / "rules", context.home / "rules"]
    if context.is_trusted and context.project_root:
        root = Path(context.project_root)
        name = next((name for name in (".ferrule", ".codex") if (root / name).is_dir()), None)
        folders += [root / name / "rules"] if name else []
    return folders


def read_folders(folders: list[Path]) -> FileRules:
    """Read every `*.rules` file of some folders."""
    read = [_read(folder / name) for folder in folders for name in _names(folder)]
    return FileRules(
        tuple(rule for found in read for rule in found.rules),
        tuple(flaw for found in read for flaw in found.flaws),
    )


def _names(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".rules"))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read(path: Path) -> FileRules:
    try:
        if path.stat().st_size > _LARGEST:
            return FileRules(flaws=(f"the rules file {path} is too large to be read",))
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return FileRules(flaws=(f"the rules file {path} cannot be read: {error}",))
    read = _from_lines if _is_lines(text) else _from_starlark
    rules: list[NetworkRule] = []
    flaws: list[str] = []
    for found in read(text, str(path)):
        (flaws if isinstance(found, str) else rules).append(found)  # pyright: ignore[reportArgumentType]
    if flaws:
        rules = [rule for rule in rules if rule.decision != "allow"]
    return FileRules(tuple(rules), tuple(flaws))


def _is_lines(text: str) -> bool:
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return _LINE.match(line) is not None
    return False


def _from_lines(text: str, path: str) -> Iterator[NetworkRule | str]:
    for number, line in enumerate(text.splitlines(), 1):
        if _NETWORK_LINE.match(line):
            try:
                yield parse_rule(line, f"{path}:{number}")
            except ConfigError as error:
                yield str(error)


def _from_starlark(text: str, path: str) -> Iterator[NetworkRule | str]:
    if _CALL not in text and not re.search(r"\bload\s*\(", text):
        return
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield f"the rules file {path} cannot be read"
        return
    seen = 0
    for statement in body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == _CALL:
            seen += 1
            yield _rule(call, f"{path}:{call.lineno}")
    named = sum(
        isinstance(node, ast.Name) and node.id == _CALL for node in ast.walk(ast.Module(body, []))
    )
    if named > seen or re.search(r"\bload\s*\(", text):
        yield f"the rules file {path} makes rules about the network in a way that is not read here"


def _rule(call: ast.Call, place: str) -> NetworkRule | str:
    try:
        values = dict(zip(_PARTS, map(ast.literal_eval, call.args), strict=False))
        values |= {word.arg or "": ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, TypeError):
        return f"{place}: a rule about the network whose values are computed is not read here"
    host, protocol, decision = (str(values.get(name) or "") for name in _PARTS[:3])
    options = {"host": host.rpartition(":")[0] if host.count(":") == 1 else host}
    options["protocol"] = protocol
    if values.get("justification"):
        options["because"] = str(values["justification"])
    try:
        return build_rule(decision, options, place)
    except ConfigError as error:
        return str(error)
