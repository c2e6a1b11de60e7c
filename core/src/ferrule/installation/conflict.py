"""Reads from what pip or uv say why they could not resolve, when the cause is a part of Ferrule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ferrule.compatibility import is_below
from ferrule.versions import satisfies

if TYPE_CHECKING:
    from collections.abc import Mapping

_WISH: Final = re.compile(
    r"(?P<who>[A-Za-z0-9][\w.-]*?)(?:(?:==|\s+)(?P<version>\d[\w.]*))?\s+depends?\s+on\s+"
    r"(?P<part>ferrule-?[a-z-]*)(?:\[[^\]]*\])?"
    r"\s*(?P<range>(?:[<>=!~]=?\s*[\w.*]+\s*(?:,|and(?=\s*[<>=!~]))?\s*)+)"
)


def conflict_in_words(told: str, installed: Mapping[str, str]) -> str:
    """Say which distribution wants another version of which part, and which side to upgrade.

    Args:
        told: All that the installer said.
        installed: Versions by name.
    """
    for match in _WISH.finditer(" ".join(told.split())):
        part, version = match["part"], installed.get(match["part"])
        wish = match["range"].replace("and", ",").replace(" ", "").rstrip(",")
        if version is None:
            continue
        try:
            if satisfies(version, wish):
                continue
            is_old = is_below(version, wish)
        except ValueError:  # what cannot be read is left to the installer's own words
            continue
        who = " ".join(filter(None, (match["who"], match["version"])))
        side = (
            "upgrade Ferrule (how, says: ferrule update-check)"
            if is_old
            else f"ask its publisher for a newer {match['who']}"
        )
        return f"{who} needs {part}{wish}, installed is {version}; {side}"
    return ""
