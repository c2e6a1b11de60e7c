"""What the plugins do in a test, and what they saw."""

from __future__ import annotations

from collections import deque

turns: deque[list[object]] = deque()
"""What the provider answers, request by request: model events, or an exception to raise."""
requests: list[object] = []
reviews: deque[object] = deque()
"""Decisions of the reviewer; an exception is raised, None hangs."""
review_requests: list[object] = []
hooks: dict[str, object] = {}
"""Answers of hooks, by name: a value, a callable or an exception."""
hook_calls: list[tuple[str, dict[str, object]]] = []
ran: list[object] = []
"""Calls that reached a tool."""
waiting: list[object] = []
"""Events set when the tool `wait` has begun."""


def reset() -> None:
    """Forget everything."""
    for each in (turns, requests, reviews, review_requests, hooks, hook_calls, ran, waiting):
        each.clear()
