"""Matchers: which tools, or which kinds of an event, a group of hooks is for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_NAMES: Final = re.compile(r"[A-Za-z0-9_-]+(\|[A-Za-z0-9_-]+)*")


class MatcherError(FerruleError):
    """A matcher is neither a name nor a regular expression."""


def matcher_of(text: str | None) -> Callable[[Iterable[str]], bool]:
    """Compile a matcher; the result is asked with every name a thing goes by.

    Nothing, an empty text and `*` match all; names joined by `|` match exactly; everything else is
    a regular expression that is searched for.

    Raises:
        MatcherError: It is no regular expression.
    """
    if text in (None, "", "*"):
        return lambda names: True
    if _NAMES.fullmatch(text):
        wanted = frozenset(text.split("|"))
        return lambda names: not wanted.isdisjoint(names)
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise MatcherError(f"{text!r} is no regular expression: {error}") from None
    return lambda names: any(pattern.search(name) for name in names)
