"""A recorded conversation: the model's side of it, answer by answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ferrule_hookspecs.history import HistoryItem

Answer = list["HistoryItem"]


def read_conversation(path: Path) -> Sequence[Answer]:
    """Read a JSON file: a list of answers, each a list of Responses items.

    Raises:
        ConfigError: The file is missing or holds something else.
    """
    try:
        answers: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"the recorded conversation {str(path)!r} cannot be read: {error.strerror}; "
            "correct `settings.file` of the model provider"
        ) from None
    except ValueError as error:
        raise ConfigError(f"the recorded conversation {str(path)!r} is no JSON: {error}") from None
    if not isinstance(answers, list):
        raise ConfigError(f"the recorded conversation {str(path)!r} is not a list of answers")
    for number, answer in enumerate(cast("list[object]", answers), start=1):
        if not _is_answer(answer):
            raise ConfigError(
                f"answer {number} of the recorded conversation {str(path)!r} is not a list of "
                "items, each a table with a `type`"
            )
    return cast("list[Answer]", answers)


def _is_answer(answer: object) -> bool:
    return isinstance(answer, list) and all(
        isinstance(item, dict) and isinstance(cast("dict[str, object]", item).get("type"), str)
        for item in cast("list[object]", answer)
    )
