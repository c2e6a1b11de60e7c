"""Room for temporary files where a policy lets no temporary folder be written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.evaluator import is_inside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.sandbox import ResolvedPolicy

_NAMES: Final = ("TMPDIR", "TMP", "TEMP")
_DEFAULT: Final = "/tmp"  # noqa: S108  # what programs take when nothing is named


def has_scratch(policy: ResolvedPolicy, env: Mapping[str, str], *more: str) -> bool:
    """Whether the temporary folder of a command may be written; `more` may be, too."""
    folder = os.path.realpath(env.get("TMPDIR") or _DEFAULT)
    places = (*more, *(root.path for root in policy.writable_roots))
    return any(is_inside(folder, place) for place in places)


def with_scratch(env: Mapping[str, str], folder: str) -> dict[str, str]:
    """Name a temporary folder in an environment."""
    renamed = {name: folder for name in _NAMES if name in env}
    return {**env, **renamed, "TMPDIR": folder}
