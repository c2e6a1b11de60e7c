"""The answer of a program or a service: exactly one JSON object with known keys, or none at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NoReturn, cast

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule_hookspecs.review import Amendment, ReviewOutcome

LIMIT: Final = 64 * 1024
"""Most bytes of an answer."""
_DECISIONS: Final = ("accept", "acceptForSession", "decline", "cancel", "escalate")


class AnswerError(FerruleError):
    """There is no answer that counts; the message says why, to be read after who was asked."""


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, cast("Sequence[object]", value)))


def _is_amendment(value: object) -> bool:
    if not isinstance(value, dict) or cast("dict[str, object]", value).keys() != {"kind", "value"}:
        return False
    parts = cast("dict[str, object]", value)
    return _is_text(parts["kind"]) and _are_texts(parts["value"])


_KEYS: Final[dict[str, tuple[Callable[[object], bool], str]]] = {
    "decision": (lambda value: value in _DECISIONS, f"one of {', '.join(_DECISIONS)}"),
    "reason": (_is_text, "a text"),
    "rule": (_is_text, "a text"),
    "evidence": (_are_texts, "a list of texts"),
    "amendment": (_is_amendment, "an object of `kind` and `value`"),
}


def read_answer(data: bytes, reviewer: str, offered: Sequence[Amendment]) -> ReviewOutcome:
    """Read an answer.

    Raises:
        AnswerError: It is not exactly one object with known keys of the right types, or accepts an
            amendment that was not offered.
    """
    answer = _object(data)
    for key, value in answer.items():
        if key not in _KEYS:
            raise AnswerError(f"answered with an unknown key {key!r}")
        is_right, wanted = _KEYS[key]
        if not is_right(value):
            raise AnswerError(f"answered with {key!r} {_short(value)}, which is not {wanted}")
    for key in ("decision", "reason"):
        if key not in answer:
            raise AnswerError(f"answered without {key!r}")
    outcome: dict[str, object] = {"reviewer": reviewer, **answer}
    if answer["decision"] == "escalate":
        outcome |= {"decision": "decline", "escalates": True}
    if "amendment" in answer:
        amendment = cast("dict[str, object]", answer["amendment"])
        chosen = [amendment["kind"], *cast("list[str]", amendment["value"])]
        if chosen not in [[one.kind, *one.value] for one in offered]:
            raise AnswerError(f"accepted an amendment that was not offered: {_short(chosen)}")
        outcome["amendment"] = chosen
    return cast("ReviewOutcome", outcome)


def _object(data: bytes) -> dict[str, object]:
    try:
        value = json.loads(data.decode(), object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise AnswerError(
            f"did not answer with exactly one JSON object ({error}): {_short(data)}"
        ) from None
    if not isinstance(value, dict):
        raise AnswerError(f"did not answer with a JSON object: {_short(data)}")
    return cast("dict[str, object]", value)


def _no_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A key that stands twice means one thing to one reader and another to the next."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
