"""Endpoints are read strictly, and a taken port is said."""

from __future__ import annotations

import asyncio
import socket
from contextlib import closing

import pytest

from ferrule_gate.limits import Limits, limits_from, refuse_unknown
from ferrule_gate.place import PlaceError, listen, parse_place
from ferrule_gate.throttle import Throttle
from ferrule_hookspecs.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("ws://127.0.0.1:4500", ("127.0.0.1", 4500)),
        ("ws://localhost:0/", ("127.0.0.1", 0)),
        ("ws://[::1]:1", ("::1", 1)),
        ("ws://0.0.0.0:1", ("0.0.0.0", 1)),
    ],
)
def test_an_endpoint_is_an_address_and_a_port(url, place):
    assert parse_place(url, "ws") == place


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ws://127.0.0.1", "write ws://IP:PORT"),
        ("ws://:80", "write ws://IP:PORT"),
        ("ws://127.0.0.1:99999", "write ws://IP:PORT"),
        ("ws://127.0.0.1:1/path", "write ws://IP:PORT"),
        ("ws://me@127.0.0.1:1", "write ws://IP:PORT"),
        ("http://127.0.0.1:1", "write ws://IP:PORT"),
        ("ws://build.example:1", "is no IP address"),
        ("wss://127.0.0.1:1", "the work of a proxy in front"),
    ],
)
def test_anything_else_is_an_error_that_says_what_to_write(url, said):
    with pytest.raises(PlaceError, match=said):
        parse_place(url, "ws")


def test_port_0_takes_a_free_one_and_a_taken_one_is_an_error():
    listener, place = listen(parse_place("ws://127.0.0.1:0", "ws"))
    with listener:
        assert place.port > 0
        assert place.url("ws") == f"ws://127.0.0.1:{place.port}"
        with pytest.raises(PlaceError, match=rf"port {place.port} of 127\.0\.0\.1.*another port"):
            listen(place)


def test_what_is_written_to_a_client_does_not_wait_for_more():
    async def serve():
        listener, place = listen(parse_place("ws://127.0.0.1:0", "ws"))
        waits = asyncio.get_running_loop().create_future()

        async def connected(reader, writer):
            accepted = writer.get_extra_info("socket")
            waits.set_result(not accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(connected, sock=listener):
            reader, writer = await asyncio.open_connection(place.host, place.port)
            with closing(writer):
                await reader.read()
                return await waits

    assert not asyncio.run(serve())


def test_limits_have_usual_values_and_only_numbers_change_them():
    assert limits_from({}, "t") == Limits()
    assert limits_from({"max_connections": 3}, "t").max_connections == 3
    for wrong in (0, -1, True, "3", 1.5):
        with pytest.raises(ConfigError, match=r"t\.max_connections must be a whole number"):
            limits_from({"max_connections": wrong}, "t")


def test_a_limit_misspelt_is_an_error():
    with pytest.raises(ConfigError, match="t has no key 'max_conections'"):
        refuse_unknown({"max_conections": 3}, set(Limits._fields), "t")


def test_a_throttle_lets_a_burst_through_and_then_the_rate():
    now = [0.0]
    throttle = Throttle(2, lambda: now[0])

    assert [throttle.take() for _ in range(5)] == [0, 0, 0, 0, 0.5]
    now[0] = 0.5
    assert throttle.take() == 0
    assert throttle.take() > 0
