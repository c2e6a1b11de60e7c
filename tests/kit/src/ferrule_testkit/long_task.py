"""A scripted task with hundreds of calls and many compactions, and what its requests should show.

Each response calls three tools: a command that leaves a line in a log, a patch that adds a file and
a command that reads that file. The counts that the model reports grow until the history is due to
be shortened, and begin low again. For tests and measurements of compactors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ferrule_testkit.model_items import Item, freeform_call, function_call, message

LIMIT: Final = 100_000
"""`model_auto_compact_token_limit` of the task."""
CALLS_PER_RESPONSE: Final = 3
MARK: Final = "Write the checkpoint of the long task."
"""`compact_prompt` of the task, by which its checkpoint requests are known."""
SETTINGS: Final = (
    f'compact_prompt = "{MARK}"\nmodel_auto_compact_token_limit = {LIMIT}\n'
    "model_context_window = 272000"
)


class LongTask(NamedTuple):
    """A task.

    Attributes:
        responses: How many responses call tools.
        window: How many of them there are between two compactions.
    """

    responses: int = 100
    window: int = 11

    @property
    def compactions(self) -> int:
        """How often the history is due to be shortened."""
        return self.responses // self.window

    @property
    def commands(self) -> list[str]:
        """The commands that leave a line each, in order."""
        return [f"echo step-{number} >> steps.log" for number in range(self.responses)]

    def script(self, checkpoints: Sequence[object]) -> dict[str, object]:
        """Return the script; `checkpoints` are the turns of the requests for a summary."""
        turns = [self._turn(number) for number in range(self.responses)]
        end = {"items": [message("All steps are done.")], "usage": _usage(1_000)}
        return {
            "routes": [{"contains": MARK, "turns": list(checkpoints)}],
            "turns": [*turns, end],
        }

    def summaries(self) -> list[object]:
        """Return as many good summaries as are needed, and some more."""
        count = self.compactions + 4
        return [[message(f"Note {number}: steps go on in order.")] for number in range(count)]

    def _turn(self, number: int) -> Mapping[str, object]:
        place = number % self.window
        tokens = LIMIT + 1_000 if place == self.window - 1 else 20_000 + 5_000 * place
        return {"items": _calls(number), "usage": _usage(tokens)}


def _calls(number: int) -> list[Item]:
    patch = f"*** Begin Patch\n*** Add File: part_{number}.txt\n+part {number}\n*** End Patch\n"
    log = {"cmd": f"echo step-{number} >> steps.log"}
    read = {"cmd": f"cat part_{number}.txt"}
    return [
        function_call("exec_command", log, call_id=f"log_{number}"),
        freeform_call("apply_patch", patch, call_id=f"add_{number}"),
        function_call("exec_command", read, call_id=f"read_{number}"),
    ]


def _usage(tokens: int) -> dict[str, object]:
    return {"input_tokens": tokens - 50, "output_tokens": 50, "total_tokens": tokens}


class SharedBytes(NamedTuple):
    """How much of a request's input and tools stood at the beginning of the request before."""

    is_checkpoint: bool
    total: int
    shared: int


def shared_bytes(bodies: Sequence[Mapping[str, Any]]) -> Iterator[SharedBytes]:
    """Compare each request with the one before, as a provider's cache of prefixes does."""
    before = b""
    for body in bodies:
        now = _cacheable(body)
        same = _common(before, now)
        yield SharedBytes(is_checkpoint(body), len(now), same)
        before = now


def is_checkpoint(body: Mapping[str, Any]) -> bool:
    """Whether a request asks for a summary."""
    return MARK in json.dumps(body["input"][-1])


def _cacheable(body: Mapping[str, Any]) -> bytes:
    """What a provider reads, in its order: the tools, then the input."""
    return json.dumps([body["tools"], *body["input"]]).encode()


def _common(first: bytes, second: bytes) -> int:
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == second[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
