"""How often a command is prepared whose sandbox could not be set up for what changed meanwhile."""

from __future__ import annotations

from typing import Final

STARTS: Final = 10
CHANGING: Final = (
    "the sandbox cannot be set up: what it covers, such as sockets of services, keeps changing;"
    " try again"
)
