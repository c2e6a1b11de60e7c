"""Reads a Seatbelt profile and says what it would allow, where there is no macOS to ask.

This is what the profile language is documented and known to mean: the last rule that matches
decides, `subpath` is a folder and all below it, `literal` one path, `regex` is searched for. It
knows the words that our profiles use and refuses any other, so that a slip of the pen is found.
"""

from __future__ import annotations

import fnmatch
import os
import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.evaluator import canonical, is_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ferrule_testkit.access_table import Case

_TOKEN: Final = re.compile(r'\s*(?:([()])|"((?:[^"\\]|\\.)*)"|([^\s()";]+))', re.DOTALL)
_OPERATIONS: Final = frozenset(
    (
        *("default", "process-exec", "process-fork", "process-info*", "signal", "pseudo-tty"),
        *("file-map-executable", "file-read*", "file-read-metadata", "file-test-existence"),
        *("file-write-acl", "file-write-create", "file-write-data", "file-write-flags"),
        *("file-write-mode", "file-write-owner", "file-write-times", "file-write-unlink"),
        *("file-write-xattr", "file-ioctl", "sysctl-read", "mach-lookup", "user-preference-read"),
        *("ipc-posix-sem", "ipc-posix-shm*", "ipc-posix-shm-read*", "system-socket"),
        *("network-outbound", "network-inbound", "network-bind"),
    )
)
_OF_OTHER_THINGS: Final = frozenset(
    (
        *("target", "sysctl-name", "sysctl-name-prefix", "global-name", "ipc-posix-name"),
        *("ipc-posix-name-prefix", "extension", "remote", "local", "socket-domain"),
        "socket-protocol",
    )
)
"""Filters that no path satisfies."""


class Text(str):
    """A string of a profile, as opposed to a word."""

    __slots__ = ()


Node = str | list["Node"]


class Rule(NamedTuple):
    """One line of a profile: without filters it holds for everything."""

    decision: str
    operations: tuple[str, ...]
    filters: tuple[Node, ...]


class ProfileReader:
    """A profile with its parameters."""

    def __init__(self, text: str, parameters: Mapping[str, str]) -> None:
        """Read the text; a word that is not known raises ValueError."""
        self._parameters = parameters
        self.rules = [_rule(node) for node in parse(text) if node != ["version", "1"]]

    def allows(self, operation: str, path: str) -> bool:
        """Whether an operation on a path is allowed; the last rule that matches decides."""
        decision = "deny"
        for rule in self.rules:
            if any(_covers(pattern, operation) for pattern in rule.operations) and (
                not rule.filters or any(self._matches(node, path) for node in rule.filters)
            ):
                decision = rule.decision
        return decision == "allow"

    def permits(self, case: Case) -> bool:
        """Whether an operation of the evaluator could be done under the profile."""
        path = canonical(case.path, case.operation)
        return all(self.allows(step, at) for step, at in _steps(case, path))

    def _matches(self, node: Node, path: str) -> bool:
        if isinstance(node, str):
            raise TypeError(f"{node!r} is no filter")
        kind, *rest = node
        match kind:
            case "require-all":
                return all(self._matches(each, path) for each in rest)
            case "require-any":
                return any(self._matches(each, path) for each in rest)
            case "require-not":
                return not self._matches(rest[0], path)
            case "literal":
                return path == self._value(rest[0])
            case "subpath":
                return is_inside(path, self._value(rest[0]))
            case "regex":
                return _pattern(self._value(rest[0])).search(path) is not None
            case _ if kind in _OF_OTHER_THINGS:
                return False
            case _:
                raise ValueError(f"{kind!r} is a filter that is not known here")

    def _value(self, node: Node) -> str:
        if isinstance(node, Text):
            return str(node)
        if isinstance(node, list) and node[0] == "param" and isinstance(node[1], Text):
            return self._parameters[node[1]]
        raise ValueError(f"{node!r} is no path")


def parse(text: str) -> list[Node]:
    """Read expressions; what is not one raises ValueError."""
    stack: list[list[Node]] = [[]]
    position = 0
    while text[position:].strip():
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(f"no expression at {text[position : position + 40]!r}")
        position = found.end()
        if found[1] == "(":
            stack.append([])
        elif found[1] == ")":
            done = stack.pop()
            stack[-1].append(done)
        elif found[3] is not None:
            stack[-1].append(found[3])
        else:
            stack[-1].append(Text(re.sub(r"\\(.)", r"\1", found[2], flags=re.DOTALL)))
    if len(stack) != 1:
        raise ValueError("an expression is not closed")
    return stack[0]


def _rule(node: Node) -> Rule:
    if isinstance(node, str) or node[0] not in ("allow", "deny"):
        raise ValueError(f"{node!r} is no rule")
    operations = [each for each in node[1:] if isinstance(each, str)]
    unknown = set(operations) - _OPERATIONS
    if unknown or not operations:
        raise ValueError(f"operations that are not known here: {unknown}")
    filters = [each for each in node[1:] if not isinstance(each, str)]
    return Rule(str(node[0]), tuple(operations), tuple(filters))


def _covers(pattern: str, operation: str) -> bool:
    return pattern == "default" or fnmatch.fnmatchcase(operation, pattern)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Seatbelt's `$` is the end of the path, not the end of a line in it."""
    return re.compile(re.sub(r"\$(?=\)|$)", r"\\Z", text), re.DOTALL)


def _steps(case: Case, path: str) -> Iterator[tuple[str, str]]:
    """What Seatbelt is asked about when an operation is done."""
    match case.operation:
        case "read":
            yield "file-read-data", path
        case "write":
            yield "file-write-data", path
            if not os.path.lexists(path):
                yield "file-write-create", path
        case "create":
            yield "file-write-create", path
        case "remove":
            yield "file-write-unlink", path
        case "rename":
            yield "file-write-unlink", path
            yield "file-write-create", f"{path}.moved"
        case _:
            raise ValueError(f"{case.operation} is not about files")


def parameters_of(argv: Sequence[str]) -> dict[str, str]:
    """The parameters in the words that start `sandbox-exec`."""
    before = list(argv)[: list(argv).index("--")]
    given = [before[at + 1] for at, word in enumerate(before) if word == "-D"]
    return dict(word.split("=", 1) for word in given)
