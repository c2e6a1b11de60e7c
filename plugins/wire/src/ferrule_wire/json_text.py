"""JSON from others that ought to be an object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping


def json_object(text: str) -> Mapping[str, object]:
    """Read an object; anything else, such as no JSON at all, counts as an empty one."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}
