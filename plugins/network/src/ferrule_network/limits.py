"""The bounds of a proxy: nothing that a command does makes it wait or grow without end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds; times in seconds.

    Attributes:
        connections: How many there may be at once, and how many of them one command may hold.
        per_command: The part of one command.
        head_bytes: How large the head of a request or answer may be.
        head_s: How long a request may take until its head is there, however many bytes come.
        keep_s: How long a connection may wait for its next request.
        idle_s: How long a running exchange may be silent in both directions.
        resolve_s: How long a name may take to be looked up.
        connect_s: How long one address may take to answer.
        ask_s: How long whoever is asked may think.
    """

    connections: int = 1024
    per_command: int = 768
    head_bytes: int = 32 * 1024
    head_s: float = 10.0
    keep_s: float = 60.0
    idle_s: float = 300.0
    resolve_s: float = 10.0
    connect_s: float = 15.0
    ask_s: float = 300.0
