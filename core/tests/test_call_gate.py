"""Calls of one response: parallel ones overlap, any other call runs alone and in order."""

import anyio
from hypothesis import given
from hypothesis import strategies as st

from ferrule.call_gate import CallGate


async def run_calls(kinds):
    """Run calls of the given kinds; returns the order of begin and end marks."""
    gate, marks = CallGate(), []

    async def call(number, ticket):
        async with gate.turn_of(ticket):
            marks.append(("begin", number))
            await anyio.lowlevel.checkpoint()
            marks.append(("end", number))

    async with anyio.create_task_group() as group:
        for number, is_parallel in enumerate(kinds):
            group.start_soon(call, number, gate.admit(is_parallel=is_parallel))
    return marks


@given(st.lists(st.booleans(), max_size=12))
def test_a_call_that_is_not_parallel_never_overlaps_and_keeps_its_place(kinds):
    marks = anyio.run(run_calls, kinds)

    for number, is_parallel in enumerate(kinds):
        if is_parallel:
            continue
        begin, end = marks.index(("begin", number)), marks.index(("end", number))
        assert end == begin + 1
        assert all(mark < number for _, mark in marks[:begin])
        assert all(mark > number for _, mark in marks[end + 1 :])


def test_parallel_calls_overlap():
    marks = anyio.run(run_calls, [True, True, True])

    assert [kind for kind, _ in marks[:3]] == ["begin"] * 3


def test_a_call_that_is_cancelled_frees_its_place():
    async def main():
        gate = CallGate()
        first, second = gate.admit(is_parallel=False), gate.admit(is_parallel=False)
        with anyio.CancelScope() as scope:
            async with gate.turn_of(first):
                scope.cancel()
                await anyio.sleep_forever()
        async with gate.turn_of(second):
            return "second ran"

    assert anyio.run(main) == "second ran"
