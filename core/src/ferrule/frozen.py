"""Deep freezing of tool arguments, so that what was reviewed is what runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast


def freeze(value: object) -> object:
    """Return a read-only copy: mappings become proxies, lists become tuples."""
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return MappingProxyType({key: freeze(each) for key, each in items})
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(freeze(each) for each in cast("Sequence[object]", value))
    return value
