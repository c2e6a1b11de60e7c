"""Data between lines that nothing inside of it can write."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def fresh_nonce() -> str:
    """Draw a number nobody can guess."""
    return secrets.token_hex(16)


def nonce_for(lines: Sequence[str], draw: Callable[[], str] = fresh_nonce) -> str:
    """Draw a number that occurs in none of the lines."""
    payload = "\n".join(lines)
    nonce = draw()
    while nonce in payload:
        nonce = draw()
    return nonce


def fenced(title: str, lines: Sequence[str], nonce: str) -> str:
    """Put lines between two that carry the number."""
    return "\n".join([f"-----BEGIN {title} {nonce}", *lines, f"-----END {title} {nonce}"])
