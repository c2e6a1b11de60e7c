"""What the plugins do in a test, and what they saw."""

from __future__ import annotations

from collections import deque

turns: deque[list[object]] = deque()
"""What the provider answers, request by request: model events, or an exception to raise."""
requests: list[object] = []
reviews: deque[object] = deque()
"""Decisions of the reviewer, or async functions that decide; an exception is raised, None hangs."""
review_requests: list[object] = []
hooks: dict[str, object] = {}
"""Answers of hooks, by name: a value, a callable or an exception."""
hook_calls: list[tuple[str, dict[str, object]]] = []
ran: list[object] = []
"""Calls that reached a tool."""
faults: dict[str, object] = {}
"""What the tool `faulty` and the provider's `aclose` raise, by the place; "hang" hangs."""
backends: list[str] = []
"""Which sandbox backends were looked at."""
closed: list[str] = []
"""What was closed, in order."""
warmed: list[object] = []
"""What the provider was asked to prepare."""
commands: list[object] = []
"""Commands that the sandbox backend was given."""
unenforced: set[str] = set()
"""What the sandbox backend does not enforce."""
waiting: list[object] = []
"""Events set when the tool `wait` has begun."""


def reset() -> None:
    """Forget everything."""
    parts = (turns, requests, reviews, review_requests, hooks, hook_calls, ran, faults, backends)
    for each in (*parts, closed, warmed, waiting, commands, unenforced):
        each.clear()
