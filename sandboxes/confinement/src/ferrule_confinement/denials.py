"""Tells whether it probably was the sandbox, and not the command itself, that made a command fail.

Linux tells nobody which write to a read-only mount or which access Landlock refused: the process
gets an error number, and what it makes of it is all there is. So the words of the command say where
to look, and the policy says whether the sandbox refuses exactly that. docs/sandbox.md has the
reasons against listening to system calls.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.evaluator import decide
from ferrule_hookspecs.sandbox import CommandResult, Denial, ResolvedPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

_TAIL: Final = 64 * 1024
_BUSY: Final = "device or resource busy"  # of a name that holds something protected
_BAD_SYSTEM_CALL: Final = 128 + 31
_REFUSAL: Final = re.compile(
    r"(?P<before>[^\n]*?)(?P<reason>read-only file system|operation not permitted"
    rf"|permission denied|{_BUSY})(?P<after>[^\n]*)",
    re.IGNORECASE,
)
_PATH: Final = re.compile(r"(?:^|[\s'\"`:(\[=‘“])((?:/|\.{1,2}/|~/)?[\w@%+=.,\-/~]+)")
_NETWORK: Final = re.compile(
    r"could not resolve (?:host|proxy)|temporary failure in name resolution"
    r"|name or service not known|network is unreachable|getaddrinfo (?:enotfound|eai_again)"
    r"|nodename nor servname provided|failed to lookup address|no address associated with hostname"
    r"|failed to establish a new connection|dns error|enetunreach",
    re.IGNORECASE,
)


def classify(policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
    """Judge a command by its exit code, its last output, and what the policy really refuses."""
    if policy.unconfined or result.exit_code == 0:
        return None
    if result.exit_code == _BAD_SYSTEM_CALL:
        return Denial("syscall", "the sandbox ended the command for a system call it refuses")
    text = result.output[-_TAIL:].decode("utf-8", "replace")
    found = _refused_path(policy, text) or _refused_network(policy, text)
    return None if found is None else found._replace(is_inferred=True)


def _refused_network(policy: ResolvedPolicy, text: str) -> Denial | None:
    found = None if policy.network else _NETWORK.search(text)
    if found is None:
        return None
    return Denial("network", f"the network is off in the sandbox ({found.group().lower()})")


def _refused_path(policy: ResolvedPolicy, text: str) -> Denial | None:
    for line in _REFUSAL.finditer(text):
        reason = line["reason"].lower()
        for path in _paths(policy, line["before"] + " " + line["after"]):
            denial = _judge(policy, path, reason)
            if denial is not None:
                return denial
        if reason == "read-only file system":
            return Denial("write", "the command wrote where the sandbox is read-only")
    return None


def _paths(policy: ResolvedPolicy, line: str) -> Iterator[str]:
    """Find what may be a path in a line; relative ones are taken from the working directory."""
    for word in _PATH.findall(line):
        path = word.rstrip(".,:")
        if path and (path.startswith(("/", ".", "~")) or "/" in path or "." in path):
            yield os.path.normpath(os.path.join(policy.cwd, os.path.expanduser(path)))


def _judge(policy: ResolvedPolicy, path: str, reason: str) -> Denial | None:
    """Ask the evaluator about a path, and rule out that the file's own permissions refuse it."""
    denial = decide(policy, "read", path)
    if denial is not None:
        return denial
    denial = decide(policy, "rename" if reason == _BUSY else "write", path)
    if denial is None or denial.path is None or denial.path.startswith(("/dev/", "/proc/")):
        return None
    parent = os.path.dirname(denial.path)
    existing = denial.path if os.path.lexists(denial.path) else parent
    if reason == "permission denied" and not os.access(existing, os.W_OK):
        return None
    return denial if os.path.lexists(parent) else None
