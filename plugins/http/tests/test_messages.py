"""Messages are posted, and everything comes back on one stream that can be taken up again."""

from __future__ import annotations

import json

import anyio
import httpx
import pytest

from ferrule_testkit.echo_server import EchoServer

pytestmark = pytest.mark.anyio


async def take(events, count):
    return [await anext(events) for _ in range(count)]


async def test_a_message_is_taken_and_answered_on_the_stream(serve):
    async with serve() as served:
        client = await served.open()
        async with served.events(client) as events:
            response = await served.send(client, {"id": 1, "method": "echo", "params": "Grüße 🦀"})
            answer = await anext(events)

    assert (response.status_code, response.content) == (202, b"")
    assert answer.data == {"id": 1, "result": "Grüße 🦀"}
    assert (answer.id, answer.kind) == (1, "message")


async def test_the_connection_is_a_secret_that_is_told_once(serve):
    async with serve() as served:
        response = await served.web.post("/connection")

    assert response.status_code == 201
    assert response.headers["Ferrule-Connection"] == response.json()["connection"]
    assert len(response.json()["connection"]) >= 43


async def test_events_before_the_first_reader_wait_for_it(serve):
    async with serve() as served:
        client = await served.open()
        for number in range(3):
            await served.echo(client, number)
        async with served.events(client) as events:
            got = await take(events, 3)

    assert [(event.id, event.data["result"]) for event in got] == [(1, 0), (2, 1), (3, 2)]


async def test_a_stream_is_taken_up_behind_the_last_event_seen(serve):
    async with serve() as served:
        client = await served.open()
        async with served.events(client) as events:
            for number in range(4):
                await served.echo(client, number)
            await take(events, 4)
        async with served.events(client, seen=2) as events:
            got = await take(events, 2)

    assert [(event.id, event.data["result"]) for event in got] == [(3, 2), (4, 3)]


async def test_events_that_are_no_longer_kept_are_said_to_be_missing(serve):
    async with serve(replay_events=3) as served:
        client = await served.open()
        async with served.events(client) as events:
            for number in range(10):
                await served.echo(client, number)
                await anext(events)
        async with served.events(client, seen=2) as events:
            gap, *kept = await take(events, 4)

    assert gap.kind == "gap"
    assert gap.id is None
    assert gap.data == {"firstMissing": 3, "lastMissing": 7}
    assert [event.id for event in kept] == [8, 9, 10]


async def test_events_that_were_not_sent_are_never_dropped(serve):
    async with serve(replay_events=3) as served:
        client = await served.open()
        await served.send(client, {"method": "flood", "params": {"count": 100, "size": 10}})
        async with served.events(client) as events:
            got = await take(events, 100)

    assert [event.data["params"]["n"] for event in got] == list(range(100))
    assert [event.id for event in got] == list(range(1, 101))


async def test_bytes_kept_are_bounded_and_one_large_event_still_comes(serve):
    async with serve(replay_bytes=1000) as served:
        client = await served.open()
        async with served.events(client) as events:
            await served.echo(client, "x" * 5000)
            await served.echo(client, "small")
            large, small = await take(events, 2)

    assert len(large.data["result"]) == 5000
    assert small.data["result"] == "small"


@pytest.mark.parametrize("seen", ["1", "-1", "x", "9" * 30, "½"])
async def test_an_event_there_was_not_is_a_bad_request(serve, seen):
    async with serve() as served:
        client = await served.open()
        headers = {**client, "Last-Event-ID": seen.encode()}
        response = await served.web.get("/events", headers=headers)

    assert response.status_code == 400
    assert "Last-Event-ID" in response.text


async def test_the_latest_reader_takes_over(serve):
    async with serve() as served:
        client = await served.open()
        async with served.events(client) as old:
            await served.echo(client, 1)
            await anext(old)
            async with served.events(client, seen=1) as new:
                with pytest.raises(StopAsyncIteration):
                    await anext(old)
                await served.echo(client, 2)

                assert (await anext(new)).data["result"] == 2


async def test_a_silent_stream_says_that_it_is_alive(serve):
    async with serve(keep_alive_s=1) as served:
        client = await served.open()
        async with served.events(client) as events:
            assert (await anext(events)).is_comment


async def test_a_closed_connection_ends_its_stream_and_is_forgotten(serve):
    async with serve() as served:
        client = await served.open()
        async with served.events(client) as events:
            assert (await served.web.delete("/connection", headers=client)).status_code == 204
            with pytest.raises(StopAsyncIteration):
                await anext(events)
        with anyio.fail_after(120):
            await served.server.until_nobody_is_left()

        assert (await served.send(client, {})).status_code == 404


async def test_a_server_that_ends_a_connection_ends_its_stream(serve):
    async with serve() as served:
        client = await served.open()
        async with served.events(client) as events:
            await served.send(client, {"method": "close"})
            with pytest.raises(StopAsyncIteration):
                await anext(events)


async def test_a_client_that_neither_reads_nor_sends_is_forgotten(serve):
    async with serve(idle_timeout_s=1) as served:
        idle, reading = await served.open(), await served.open()
        async with served.events(reading) as events:
            with anyio.fail_after(120):
                while len(served.server.clients) > 1:
                    await served.server.clients_changed()
            await served.echo(reading, "still here")
            assert (await anext(events)).data["result"] == "still here"

        assert (await served.send(idle, {})).status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/rpc"), ("GET", "/events"), ("DELETE", "/connection")],
)
async def test_an_unknown_connection_is_not_found(serve, method, path):
    async with serve() as served:
        for headers in ({}, {"Ferrule-Connection": "x" * 43}):
            response = await served.web.request(method, path, headers=headers)

            assert response.status_code == 404
            assert "POST /connection" in response.text


async def test_clients_do_not_hear_each_other(serve):
    async with serve() as served:
        one, other = await served.open(), await served.open()
        await served.echo(one, "one")
        await served.echo(other, "other")
        async with served.events(one) as first, served.events(other) as second:
            assert (await anext(first)).data["result"] == "one"
            assert (await anext(second)).data["result"] == "other"


async def test_a_fault_of_the_server_ends_one_client_and_no_other(serve, caplog):
    async with serve() as served:
        broken, other = await served.open(), await served.open()
        async with served.events(broken) as events:
            await served.send(broken, {"method": "fail"})
            with pytest.raises(StopAsyncIteration):
                await anext(events)
        await served.echo(other, "lives")
        async with served.events(other) as events:
            assert (await anext(events)).data["result"] == "lives"
    assert "asked to fail" in caplog.text


async def test_cancelling_ends_streams_and_frees_the_port(serve):
    async with serve() as served:
        client = await served.open()
        stream = served.events(client)
        events = await stream.__aenter__()
        await served.echo(client, 1)
        await anext(events)
    with pytest.raises((StopAsyncIteration, httpx.HTTPError)):
        await anext(events)

    assert not served.server.clients
    async with serve(f"http://127.0.0.1:{served.port}") as again:
        assert await again.echoes()


async def test_what_is_no_request_gets_no_answer_and_harms_nothing(serve):
    async with serve() as served:
        client = await served.open()
        for body in (b"", b"no json", b"\xff\x00", b"[1]", b"null", b'{"a":1}\n{"b":2}'):
            assert (await served.send(client, body)).status_code == 202
        await served.echo(client, "after")
        async with served.events(client) as events:
            assert (await anext(events)).data["result"] == "after"


async def test_a_slow_reader_holds_the_server_back_and_loses_nothing(serve):
    size, count = 10_000, 3000
    async with serve(replay_bytes=1_000_000) as served:
        client = await served.open()
        await served.send(client, {"method": "flood", "params": {"count": count, "size": size}})
        async with served.events(client) as events:
            await held_back(served)
            (server_side,) = served.server.clients
            # What was sent and what is kept, and not the 30 MB there are.
            assert server_side.produced * size < 16 * 1024 * 1024
            assert await served.echoes()
            got = await take(events, count)

    assert [event.data["params"]["n"] for event in got] == list(range(count))


async def held_back(served):
    """Wait until the server has come to a stand: it has produced nothing for a while."""
    seen, unchanged = -1, 0
    with anyio.fail_after(120):
        while unchanged < 20:
            await anyio.sleep(0.01)
            now = sum(client.produced for client in served.server.clients)
            unchanged = unchanged + 1 if now == seen and now else 0
            seen = now


async def test_json_over_several_lines_is_one_event(serve):
    class Wordy(EchoServer):
        """Answers with ends of lines between the tokens."""

        def connect(self, peer):
            connection = super().connect(peer)
            give = connection.messages

            async def pretty():
                async for message in give():
                    yield json.dumps(json.loads(message), indent=1).replace("\n", "\r\n").encode()

            connection.messages = pretty
            return connection

    async with serve(server=Wordy()) as served:
        assert await served.echoes()
