"""Runs the hooks of one event and gathers what they want."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ferrule_hooks.answers import Answer, AnswerError, failed, understood

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ferrule_hooks.handler import Handler
    from ferrule_hooks.payloads import Payload
    from ferrule_hooks.surroundings import Surroundings


async def run_all(
    handlers: Sequence[Handler], run: Callable[[Handler], Awaitable[Answer]]
) -> list[Answer]:
    """Run hooks at the same time; those that are sequential follow those before them in a group.

    A refusal keeps the hooks that follow in its sequence from running.

    Args:
        handlers: The hooks.
        run: Runs one of them.
    """
    from anyio import create_task_group

    answers: dict[Handler, Answer] = {}

    async def follow(sequence: Sequence[Handler]) -> None:
        for handler in sequence:
            answers[handler] = await run(handler)
            if answers[handler].decision == "deny":
                return

    async with create_task_group() as group:
        for sequence in _sequences(handlers):
            group.start_soon(follow, sequence)
    return [answers[handler] for handler in handlers if handler in answers]


def _sequences(handlers: Sequence[Handler]) -> list[list[Handler]]:
    sequences: list[list[Handler]] = []
    for handler in handlers:
        before = sequences[-1][-1] if sequences else None
        is_next = before is not None and (before.source, before.group) == (
            handler.source,
            handler.group,
        )
        if handler.is_sequential and is_next:
            sequences[-1].append(handler)
        else:
            sequences.append([handler])
    return sequences


async def run_one(handler: Handler, payload: Payload, around: Surroundings) -> Answer:
    """Run one hook within its time; whatever goes wrong becomes its answer."""
    from anyio import fail_after

    try:
        with fail_after(handler.timeout_s):
            return await _run(handler, payload, around)
    except TimeoutError:
        return failed(handler, f"did not end within {handler.timeout_s:g} s and was ended")
    except AnswerError as error:
        return failed(handler, str(error))


async def _run(handler: Handler, payload: Payload, around: Surroundings) -> Answer:
    if handler.kind == "python":
        from ferrule_hooks.function_run import run_function

        return await run_function(handler, payload)
    if handler.kind in ("prompt", "agent"):
        from ferrule_hooks.model_run import ask_model

        return await ask_model(handler, payload, around)
    if handler.kind == "mcp_tool":
        from ferrule_hooks.tool_run import run_tool

        return understood(handler, await run_tool(handler, payload, around))
    data = json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
    if handler.kind == "http":
        from ferrule_hooks.http_run import run_http

        return understood(handler, await run_http(handler, data, environ=around.environ))
    from ferrule_hooks.command_run import run_command

    raw = await run_command(handler, data, cwd=around.cwd, environ=around.environ)
    return understood(handler, raw)
