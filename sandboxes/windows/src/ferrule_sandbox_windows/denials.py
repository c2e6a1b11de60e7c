"""Tells whether it probably was the sandbox, and not the command itself, that made a command fail.

Windows tells nobody what it refused a process either, so the words of the command say where to
look, and the policy says whether the sandbox refuses exactly that.
"""

from __future__ import annotations

import ntpath
import re
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.sandbox import Denial
from ferrule_sandbox_windows.places import lies_in_any, protected_places, writable_roots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_hookspecs.sandbox import CommandResult, ResolvedPolicy

_TAIL: Final = 64 * 1024
_REFUSAL: Final = re.compile(
    r"access is denied|permission denied|operation not permitted|unauthorizedaccess"
    r"|access to the path|eacces|eperm|winerror 5\b",
    re.IGNORECASE,
)
_PATH: Final = re.compile(r"[A-Za-z]:[\\/][^\"'<>|*?\r\n]*|[\w.@+\-]+(?:[\\/][\w.@+\-]+)+")
_NETWORK: Final = re.compile(
    r"could not resolve (?:host|proxy)|getaddrinfo|no such host is known|wsaeacces|winerror 10013"
    r"|network is unreachable|connection attempt was .*forbidden|127\.0\.0\.1(?: port |:)9\b",
    re.IGNORECASE,
)


def classify(policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
    """Judge a command by its exit code, its last output, and what the policy really refuses."""
    if policy.unconfined or result.exit_code == 0:
        return None
    text = result.output[-_TAIL:].decode("utf-8", "replace")
    for line in text.splitlines():
        if _REFUSAL.search(line):
            for path in _paths(policy, line):
                reason = _refusal(policy, path)
                if reason is not None:
                    return Denial("write", reason, path, is_inferred=True)
    found = None if policy.network else _NETWORK.search(text)
    if found is None:
        return None
    reason = f"the network is off in the sandbox ({found.group().lower()})"
    return Denial("network", reason, is_inferred=True)


def _paths(policy: ResolvedPolicy, line: str) -> Iterator[str]:
    """Find what may be a path in a line; relative ones are taken from the working directory."""
    for word in _PATH.findall(line):
        name: str = re.split(r":(?=\s|$)", word)[0].rstrip(" .,;:)]")
        yield ntpath.normpath(ntpath.join(policy.cwd, name))


def _refusal(policy: ResolvedPolicy, path: str) -> str | None:
    if not lies_in_any(path, writable_roots(policy)):
        return f"{path} may not be written: it lies outside of the writable folders"
    if lies_in_any(path, protected_places(policy)):
        return f"{path} may not be written: it is protected"
    return None
