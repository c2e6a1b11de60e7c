"""The one JSON object of an answer."""

from __future__ import annotations

import json
from typing import Any, NoReturn, cast

from ferrule_hookspecs.errors import FerruleError


class AnswerError(FerruleError):
    """The answer cannot be taken for a verdict."""


def only_object(answer: str) -> dict[str, object]:
    """Read the one JSON object of an answer; prose around it does no harm.

    Raises:
        AnswerError: There is none, there are several, or a key stands twice.
    """
    begin, end = answer.find("{"), answer.rfind("}")
    if begin < 0 or end < begin:
        raise AnswerError("the answer holds no JSON object")
    try:
        # From the first brace to the last: two objects, or prose with braces, are no JSON.
        found: object = json.loads(
            answer[begin : end + 1], object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError):
        raise AnswerError("the answer is not exactly one JSON object") from None
    return cast("dict[str, object]", found)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key stands twice")
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
