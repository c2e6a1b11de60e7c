"""Amounts of memory as people write them in a configuration."""

from __future__ import annotations

import re
from typing import Final

_SIZE: Final = re.compile(r"(?P<number>[1-9][0-9]*) ?(?P<unit>[KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_LEAST: Final = 16 << 20  # below it no shell starts


def parse_bytes(value: object) -> int:
    """Read an amount: a number of bytes, or a text such as `512M` and `4 GiB`.

    Raises:
        ValueError: It is none, or too little for any program.
    """
    match = _SIZE.fullmatch(str(value).strip())
    if match is None or isinstance(value, bool):
        raise ValueError(f"{value!r} is no amount of memory; write it as in '512M' or '4G'")
    amount = int(match["number"]) << _UNITS[match["unit"].upper()]
    if amount < _LEAST:
        raise ValueError(f"{value!r} is too little for any program; give at least '16M'")
    return amount
