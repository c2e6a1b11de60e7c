"""Servers that change between the turns of an open session: their table, or their program."""

from __future__ import annotations

import sys

import anyio
import pytest

ECHO = "mcp__demo__echo"
WAITS = """\
    if arguments.get("text") == "wait":
        while not os.path.exists(option("--gate-of-call")):
            time.sleep(0.01)
"""


@pytest.fixture
def program(tmp_path, request):
    """The program of a server, which tests change."""
    path = tmp_path / "server.py"
    original = (request.path.parent / "servers" / "plain_server.py").read_text()
    head = "def call(request, name, arguments, token):\n"

    def write(word):
        text = original.replace(head, head + WAITS).replace('"echo: "', f'"{word}: "')
        path.write_text(f"#!{sys.executable}\n{text}")

    write("one")
    path.chmod(0o700)
    write.path = path
    return write


def answers(talk):
    return [item["result"]["content"][0]["text"] for item in talk.items()]


async def turns(talk, kernel, *steps, call=(ECHO, {"text": "x"})):
    session = await talk.open(kernel)
    for step in (lambda: None, *steps):
        step()
        talk.play(call)
        await talk.turn(session)
    await session.close()


def test_a_program_that_changed_is_started_anew_for_the_next_turn(talk, table, program):
    talk.configure(table("demo", server=program.path))

    talk.host().run(lambda kernel: turns(talk, kernel, lambda: program("two"), lambda: None))

    assert answers(talk) == ["one: x", "two: x", "two: x"]
    told = [each["message"] for each in talk.of("warning") if "has changed" in each["message"]]
    assert len(told) == 1
    assert "the program of the MCP server 'demo' has changed" in told[0]


def test_a_program_is_looked_for_where_it_is_started_from(
    talk, table, program, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    talk.configure(table("demo", command=f"~/{program.path.name}", args=[]))

    talk.host().run(lambda kernel: turns(talk, kernel, lambda: program("two")))

    assert answers(talk) == ["one: x", "two: x"]


def test_a_call_under_way_ends_with_the_process_it_began_with(talk, table, program, tmp_path):
    gate = tmp_path / "gate"
    talk.configure(table("demo", "--gate-of-call", gate, server=program.path))
    items = []

    async def main(kernel):
        first, second = await talk.open(kernel), await talk.open(kernel)
        talk.play((ECHO, {"text": "wait"}))
        async with anyio.create_task_group() as group:
            group.start_soon(talk.turn, first)
            with anyio.fail_after(120):
                while not any(e["method"] == "item/started" and is_call(e) for e in talk.events):
                    await anyio.sleep(0.01)
            program("two")
            talk.play((ECHO, {"text": "x"}))
            await talk.turn(second)
            items.extend(answers(talk))
            gate.touch()
        await first.close()
        await second.close()

    talk.host().run(main)

    assert items == ["two: x"]
    assert answers(talk) == ["two: x", "one: wait"]


def is_call(event):
    return event["params"]["item"]["type"] == "mcpToolCall"


@pytest.mark.slow
def test_servers_come_and_go_with_the_configuration(talk, table, starts):
    demo, more = table("demo", "--starts", starts), table("more")

    def tables(*given):
        return lambda: talk.configure(*given)

    tables(demo)()
    offers = []

    async def main(kernel):
        session = await talk.open(kernel)
        for step in (tables(demo), tables(demo, more), tables(more), tables()):
            step()
            talk.play()
            await talk.turn(session)
            servers = {name.split("__")[1] for name in talk.offered if name.startswith("mcp__")}
            offers.append(servers)
        await session.close()

    talk.host().run(main)

    assert offers == [{"demo"}, {"demo", "more"}, {"more"}, set()]
    assert len(starts.read_text().splitlines()) == 1


def test_a_table_that_changed_starts_another_server(talk, table, starts):
    def given(word):
        return lambda: talk.configure(table("demo", "--starts", starts, env={"WORD": word}))

    given("one")()

    talk.host().run(lambda kernel: turns(talk, kernel, given("two"), call=("mcp__demo__env", {})))

    assert ['"WORD": "one"' in text for text in answers(talk)] == [True, False]
    assert '"WORD": "two"' in answers(talk)[1]
