"""Output of any size: what is kept, what the model reads, what clients are told meanwhile."""

from __future__ import annotations

import resource

import pytest

MIB = 1024 * 1024


def body(result) -> str:
    return result.output.split("Output:\n", 1)[1]


@pytest.mark.anyio
async def test_more_than_the_budget_loses_its_middle(open_shell):
    async with open_shell() as shell:
        result = await shell.exec("seq 1 5000", max_output_tokens=100)
    whole = "".join(f"{number}\n" for number in range(1, 5001))
    assert "Original token count: 5974\n" in result.output
    assert body(result) == (
        "Warning: truncated output (original token count: 5974)\n"
        "Total output lines: 5000\n\n"
        f"{whole[:200]}…5874 tokens truncated…{whole[-200:]}"
    )
    assert result.item["aggregatedOutput"] == whole


@pytest.mark.anyio
async def test_the_sessions_limit_bounds_the_whole_reply(open_shell):
    async with open_shell() as shell:
        shell.context.output_token_limit = 50
        plain = await shell.exec("seq 1 5000")
        asked = await shell.exec("seq 1 5000", max_output_tokens=5000)
    assert body(plain) == body(asked)
    assert body(plain) == (
        "Warning: truncated output (original token count: 5974)\n"
        "Total output lines: 5000\n\n"
        "1\n2\n3\n4\n5\n6\n…5968 tokens truncated…8\n4999\n5000\n"
    )


@pytest.mark.anyio
async def test_more_than_a_mebibyte_is_kept_at_both_ends(open_shell):
    async with open_shell() as shell:
        result = await shell.exec("seq 1 200000", max_output_tokens=100)
    whole = "".join(f"{number}\n" for number in range(1, 200_001))
    assert "Original token count: 322224\n" in result.output
    assert body(result) == (
        "Warning: truncated output (original token count: 322224)\n"
        "... 240319 bytes omitted ...\n\n"
        f"{whole[:200]}…262052 tokens truncated…{whole[-200:]}"
    )
    assert result.item["aggregatedOutput"] == (
        f"{whole[: MIB // 2]}\n... 240319 bytes omitted ...\n{whole[-MIB // 2 :]}"
    )


@pytest.mark.anyio
async def test_characters_are_not_cut(open_shell):
    async with open_shell() as shell:
        result = await shell.exec("printf 'ä%.0s' $(seq 1000); echo -n x", max_output_tokens=25)
        long = await shell.exec("printf x; yes € | head -c 3000000 | tr -d '\\n'")
    head, _, tail = body(result).split("\n\n")[1].partition("…476 tokens truncated…")
    assert (set(head), set(tail)) == ({"ä"}, {"ä", "x"})
    kept = long.item["aggregatedOutput"]
    assert "\ufffd" not in kept[:-1]  # `head` itself may cut the last one
    assert len(kept.encode()) <= MIB + 64


@pytest.mark.anyio
async def test_14_megabytes_are_read_in_little_memory_and_few_events(open_shell):
    async with open_shell() as shell:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result = await shell.exec("yes 0123456789abcdef | head -c 14000000; exit 1")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        deltas = shell.told("item/commandExecution/outputDelta")
    assert "Original token count: 3500000\n" in result.output
    assert f"... {14_000_000 - MIB} bytes omitted ...\n" in body(result)
    assert len(body(result).encode()) < 40_200
    assert grown < 24 * 1024  # KiB
    assert 0 < len(deltas) <= 64
    assert sum(len(delta["delta"]) for delta in deltas) < 2 * MIB


@pytest.mark.anyio
async def test_endless_output_does_not_fill_memory(open_shell):
    async with open_shell({"background_terminal_max_timeout": 1000}) as shell:
        await shell.exec("yes | head -c 50000000")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result = await shell.exec("yes | head -c 1000000000", yield_time_ms=30_000)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert "Original token count: 250000000\n" in result.output
    assert grown < 8 * 1024  # KiB


@pytest.mark.anyio
async def test_clients_see_output_while_it_comes(open_shell):
    async with open_shell() as shell:
        await shell.exec(r"printf 'a\xc3'; sleep 0.3; printf '\xa9b'; sleep 0.3; echo c")
        deltas = [told["delta"] for told in shell.told("item/commandExecution/outputDelta")]
        ids = {told["itemId"] for told in shell.told("item/commandExecution/outputDelta")}
    assert "".join(deltas) == "aébc\n"
    assert len(deltas) == 3
    assert ids == {"call_1"}


@pytest.mark.anyio
async def test_many_small_pieces_are_told_together(open_shell):
    async with open_shell() as shell:
        await shell.exec("for i in $(seq 3000); do echo $i; done; sleep 0.1")
        deltas = [told["delta"] for told in shell.told("item/commandExecution/outputDelta")]
    assert "".join(deltas) == "".join(f"{number}\n" for number in range(1, 3001))
    assert len(deltas) < 100
