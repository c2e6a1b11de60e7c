"""What of a command's run names something that the sandbox refused it.

The managed network tells what it refuses. Of files and of a network that is off nobody tells; there
the command's own words show where to look, and the policy says whether the sandbox refuses just
that. Called by `ferrule sandbox explain`.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule_hookspecs.evaluator import decide
from ferrule_hookspecs.sandbox import CommandResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ferrule_hookspecs.egress import EgressFact
    from ferrule_hookspecs.sandbox import Denial, ResolvedPolicy, SandboxBackend

_LINES: Final = 4000
_LINE: Final = 4096
_BAD_SYSTEM_CALL: Final = 128 + 31
_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ssh": 22, "ftp": 21}
_ADDRESS: Final = re.compile(
    r"(?P<scheme>https?|wss?|ssh|ftp)://(?:[^@/\s]*@)?(?P<host>\[[0-9a-fA-F:]+\]|[\w.-]+)"
    r"(?::(?P<port>\d+))?"
    r"|host='(?P<pool>[\w.-]+)', port=(?P<pool_port>\d+)"
    r"|(?:resolve (?:host|hostname)|lookup|enotfound|eai_again)[:=]? ['\"]?(?P<name>[\w.-]+\w)",
    re.IGNORECASE,
)
_WRITING: Final = re.compile(
    r"\b(?:mkdir|creat\w*|writ\w+|renam\w+|sav\w+|lock\w*|copy\w*)\b[^/\n]*?(/[\w./@+-]+)",
    re.IGNORECASE,
)
_SOCKET: Final = re.compile(r"(?:unix://)?(/[\w./+@-]+)")
_LOCAL: Final = re.compile(r"(127\.0\.0\.1|localhost|::1)(?:\]?:|['\"]?,? port[ =:]*)(\d{1,5})\b")
_UNREACHED: Final = re.compile(
    r"connect|no such file|permission denied|refused|enoent|eacces|is the docker daemon running",
    re.IGNORECASE,
)


class Refusal(NamedTuple):
    """Something that was refused, or most likely was.

    Attributes:
        kind: What was touched.
        reason: One sentence in plain words.
        subject: The path, `host:port` or socket; empty where nothing names it.
        protocol: Of a connection through the managed network.
        is_inferred: Whether it was concluded from what the command said.
    """

    kind: Literal["read", "write", "network", "socket", "syscall", "unknown"]
    reason: str
    subject: str = ""
    protocol: str = ""
    is_inferred: bool = True


class Run(NamedTuple):
    """How a command went: its exit code, the last of what it said, and its connections."""

    exit_code: int
    text: str
    connections: Sequence[EgressFact] = ()


def find_refusals(policy: ResolvedPolicy, backend: SandboxBackend, run: Run) -> list[Refusal]:
    """Return what was refused, each once, in the order it happened."""
    found = list(_of_connections(run.connections))
    if run.exit_code == _BAD_SYSTEM_CALL:
        reason = "the sandbox ended the command for a system call that it refuses"
        found.append(Refusal("syscall", reason, is_inferred=False))
    for line in run.text.splitlines()[-_LINES:]:
        found += _of_line(policy, backend, line[:_LINE])
        if run.exit_code:
            found += _writes(policy, line[:_LINE])
    return _without_repeats(found)


def _of_connections(facts: Iterable[EgressFact]) -> Iterator[Refusal]:
    for fact in facts:
        if fact.kind == "refused" and fact.access is not None:
            access = fact.access
            subject = f"{access.host}:{access.port}"
            reason = f"the managed network refused {subject}: {fact.reason}"
            yield Refusal("network", reason, subject, access.protocol, is_inferred=False)


def _of_line(policy: ResolvedPolicy, backend: SandboxBackend, line: str) -> Iterator[Refusal]:
    if policy.unconfined:
        return
    if _UNREACHED.search(line):
        yield from _sockets(policy, line)
        yield from _services(policy, line)
    denial = backend.classify(policy, CommandResult(1, line.encode("utf-8", "replace")))
    if denial is None:
        return
    if denial.kind == "network":
        yield from _addresses(denial, line)
    else:
        yield Refusal(denial.kind, denial.reason, denial.path or "")


def _writes(policy: ResolvedPolicy, line: str) -> Iterator[Refusal]:
    """Name what a failed command says it writes, whatever error it makes of the refusal."""
    for path in _WRITING.findall(line):
        denial = decide(policy, "write", path.rstrip("."))
        if denial is not None and denial.kind == "write":
            yield Refusal("write", denial.reason, denial.path or "")


def _addresses(denial: Denial, line: str) -> Iterator[Refusal]:
    """Name the hosts of a line that complains about the network."""
    matches = list(_ADDRESS.finditer(line))
    for match in matches:
        host = match["host"] or match["pool"] or match["name"]
        port = (
            match["port"] or match["pool_port"] or _PORTS.get((match["scheme"] or "").lower(), 443)
        )
        subject = f"{host}:{port}"
        yield Refusal("network", f"the network is off, {subject} is out of reach", subject)
    if not matches:
        yield Refusal("network", denial.reason)


def _sockets(policy: ResolvedPolicy, line: str) -> Iterator[Refusal]:
    for path in _SOCKET.findall(line):
        try:
            is_socket = stat.S_ISSOCK(os.stat(path.rstrip(".")).st_mode)
        except OSError:
            continue
        denial = decide(policy, "connect_unix", path.rstrip(".")) if is_socket else None
        if denial is not None:
            yield Refusal("socket", denial.reason, os.path.realpath(path.rstrip(".")))


def _services(policy: ResolvedPolicy, line: str) -> Iterator[Refusal]:
    """Name servers of this machine that the command looked for on a loopback of its own."""
    for host, port in () if policy.network else _LOCAL.findall(line):
        if int(port) in _listening_ports():
            subject = f"{host}:{port}"
            reason = f"{subject} is the sandbox's own there, not the server of this machine"
            yield Refusal("network", reason, subject)


def _listening_ports() -> set[int]:
    """Ports of this machine on which a server waits, where the system tells."""
    found: set[int] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError), open(table, encoding="ascii") as lines:
            fields = [line.split() for line in lines][1:]
            found |= {int(each[1].rpartition(":")[2], 16) for each in fields if each[3] == "0A"}
    return found


def _without_repeats(found: Iterable[Refusal]) -> list[Refusal]:
    """Keep each once; one that names nothing says nothing beside one of its kind that does."""
    each = list({(one.kind, one.subject): one for one in reversed(list(found))}.values())[::-1]
    named = {one.kind for one in each if one.subject}
    return [one for one in each if one.subject or one.kind not in named]
