"""What the launcher is told: one command, written to a private file for it."""

from __future__ import annotations

import json
from typing import NamedTuple, cast


class StartOrder(NamedTuple):
    """A command and its bounds.

    Attributes:
        command_line: What is to be run, in one text.
        cwd: Its working directory.
        env: Its whole environment.
        sid: The identity that its writable places grant writing to.
        max_processes: Bound on its processes, None for no bound.
        max_memory_bytes: Bound on its memory, None for no bound.
    """

    command_line: str
    cwd: str
    env: dict[str, str]
    sid: str
    max_processes: int | None = None
    max_memory_bytes: int | None = None


def write_order(path: str, order: StartOrder) -> None:
    """Write an order down; lone surrogates, which names on Windows may hold, are kept."""
    with open(path, "x", encoding="ascii") as file:
        json.dump(order._asdict(), file)


def read_order(path: str) -> StartOrder:
    """Read an order; what is none raises `ValueError`, `TypeError` or `OSError`."""
    with open(path, encoding="ascii") as file:
        told: object = json.load(file)
    if not isinstance(told, dict):
        raise TypeError("the order is no object")
    return StartOrder(**cast("dict[str, object]", told))  # pyright: ignore[reportArgumentType] -- written by write_order
