"""Lasting rules that are offered with a question, and their keeping once one was accepted."""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.programs import INTERPRETERS, LAUNCHERS, RUNNING_COMMANDS, SHELLS
from ferrule_hookspecs.review import Amendment
from ferrule_rules.rule_file import is_line_syntax
from ferrule_rules.sources import AMENDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ferrule_rules.judgement import Judgement, Segment

_CODE: Final = INTERPRETERS | SHELLS
_LARGE: Final = ["git", "uv", "docker", "make", "npm", "cargo", "rm", "curl", "wget"]
_BROAD: Final = frozenset(
    {(name,) for name in (*_CODE, *LAUNCHERS, *_LARGE)}
    | {(name, option) for name in _CODE for option in ("-c", "-lc", "-e", "-", "-m", "-r")}
    | {("bash", "-l"), ("sh", "-l"), ("sudo", "-E"), ("env", "-i"), ("rm", "-rf")}
    | {("node", "--eval"), ("pwsh", "-Command"), ("powershell", "-Command")}
    | {("git", "-C"), ("git", "-c")}
    | RUNNING_COMMANDS
)
"""Prefixes that would allow nearly anything; never offered."""
_LONGEST: Final = 2000
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./=@%+,-]+")


def proposal(
    found: Judgement, wanted: Sequence[str], *, leaves_sandbox: bool
) -> tuple[Amendment, ...]:
    """Return the rule to offer: the model's where it is sound, else the very command.

    Nothing is offered that would be too broad, that would not answer the question, or that comes
    from a script which is not understood word for word.
    """
    if not found.segments or found.restrictions:
        return ()
    open_ones = [one for one in found.segments if _is_open(one, found, leaves_sandbox)]
    if not open_ones or any(one.command.redirects for one in open_ones):
        return ()
    prefix = tuple(wanted)
    fits = all(one.command.argv[: len(prefix)] == prefix for one in open_ones)
    if prefix and fits and not is_broad(prefix):
        return (Amendment("command_prefix", prefix),)
    words = open_ones[0].command.argv
    if any(one.command.argv != words for one in open_ones) or is_broad(words):
        return ()
    return (Amendment("command_prefix", words),) if sum(map(len, words)) < _LONGEST else ()


def _is_open(segment: Segment, found: Judgement, leaves_sandbox: bool) -> bool:
    if segment.standing == "safe":
        return leaves_sandbox
    return segment.standing == "none"


def is_broad(words: Sequence[str]) -> bool:
    """Whether a prefix says next to nothing about what would run."""
    if not words or not all(word.strip() for word in words[:1]):
        return True
    name = words[0].rpartition("/")[2]
    return (name, *words[1:]) in _BROAD or re.fullmatch(
        r"(python|pypy)[0-9.]*", name + "".join(words[1:])
    ) is not None


def keep(amendment: Amendment, home: Path) -> None:
    """Append a rule to the user's own file, unless it stands there already.

    Raises:
        FerruleError: The file cannot be written.
    """
    file = home / "rules" / AMENDED
    try:
        append(file, starlark_line(amendment), plain_line(amendment))
    except OSError as error:
        raise FerruleError(f"the rule could not be added to {file}: {error}") from error


def starlark_line(amendment: Amendment) -> str:
    """Write an amendment as a call."""
    if amendment.kind == "network_host":
        protocol, host = amendment.value[:2]
        return (
            f"network_rule(host={_text(host)}, protocol={_text(protocol)}, "
            f'decision="allow", justification={_text(f"Allow {protocol} access to {host}")})'
        )
    words = ", ".join(map(_text, amendment.value))
    return f'prefix_rule(pattern=[{words}], decision="allow")'


def plain_line(amendment: Amendment) -> str:
    """Write an amendment as a plain line."""
    if amendment.kind == "network_host":
        protocol, host = amendment.value[:2]
        return f"allow network protocol:{protocol} host:{host}"
    return f"allow prefix {' '.join(map(quoted, amendment.value))}"


def quoted(word: str) -> str:
    """Write a word so that a plain line means just that word."""
    if _PLAIN.fullmatch(word) and ":" not in word:
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _text(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)


def append(file: Path, starlark: str, plain: str) -> bool:
    """Append a rule in the language of the file; False where it stands there already."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+b") as opened, _locked(opened.fileno()):
        opened.seek(0)
        text = opened.read().decode("utf-8", "replace")
        line = plain if is_line_syntax(text) else starlark
        if line in text.splitlines():
            return False
        start = "\n" if text and not text.endswith("\n") else ""
        opened.write(f"{start}{line}\n".encode())
        opened.flush()
        os.fsync(opened.fileno())
    return True


@contextlib.contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Keep other writers of the file away."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
        try:
            yield
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield  # closing the file gives the lock back
