"""Paths of requests, and the patterns of rules about them.

Servers read one path in many ways: they undo percent-encoding, step over `//`, follow `..`. A path
that might be read in two ways is *unclear*: no rule that allows by path speaks for it, and every
rule that restricts by path does.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes

_UNCLEAR: Final = re.compile(rb"//|\\|%(?:2f|5c|25|[01][0-9a-f]|7f)", re.IGNORECASE)
_PATTERN: Final = re.compile(r"/[!-~]*")
_STAR: Final = "*"


def is_pattern(written: str) -> bool:
    """Whether it can be the pattern of a rule: plain text from `/` on, with `*`."""
    return (
        _PATTERN.fullmatch(written) is not None
        and not any(sign in written for sign in "?#%,")
        and not is_unclear(written)
    )


def is_unclear(path: str) -> bool:
    """Whether two servers might understand different paths by it."""
    raw = path.encode("utf-8", "surrogateescape")
    segments = (part.partition(b";")[0] for part in unquote_to_bytes(raw).split(b"/"))
    return _UNCLEAR.search(raw) is not None or any(part in (b".", b"..") for part in segments)


def allows(pattern: str, path: str) -> bool:
    """Whether a pattern certainly means a path."""
    return bool(path) and not is_unclear(path) and _fits(pattern, _decoded(path))


def restricts(pattern: str, path: str) -> bool:
    """Whether a pattern may mean a path, however a server reads it."""
    return is_unclear(path) or _fits(pattern.casefold(), _decoded(path).casefold())


def _decoded(path: str) -> str:
    return unquote_to_bytes(path).decode("utf-8", "surrogateescape")


def _fits(pattern: str, path: str) -> bool:
    return _expression(pattern).fullmatch(path) is not None


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    """At the end, `*` means everything below; elsewhere it stays within one part."""
    is_open = pattern.endswith(_STAR)
    parts = pattern.removesuffix(_STAR).split(_STAR)
    inner = "[^/]*".join(map(re.escape, parts))
    return re.compile(inner + (".*" if is_open else ""), re.DOTALL)
