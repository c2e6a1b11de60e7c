"""What the proxy does for commands that keep to the rules."""

from __future__ import annotations

import re

import anyio
import pytest

from ferrule_hookspecs.egress import EgressAnswer
from ferrule_network.limits import Limits

pytestmark = pytest.mark.anyio

GOOD = "GET http://good.test:{port}/ HTTP/1.1"
HOST = "Host: good.test:{port}"
RULES = (
    "allow network host:good.test port:{port}",
    "allow network protocol:socks5_tcp host:good.test port:{port}",
)
NAMES = {"good.test": ["127.0.0.1"]}


async def test_a_request_is_forwarded_in_origin_form(network):
    async with network(*RULES, names=NAMES) as world:
        request = world.request("GET http://GOOD.test.:{port}/a?b=c HTTP/1.1", HOST)
        answer = await world.exchange(request)
        assert answer == b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\norigin"
        head = world.origin.heads[0]
        assert head.startswith(b"GET /a?b=c HTTP/1.1\r\n")
        assert b"Host: good.test:%d\r\n" % world.origin.port in head


async def test_bodies_of_both_kinds_arrive(network):
    async with network(*RULES, names=NAMES) as world:
        post = "POST http://good.test:{port}/ HTTP/1.1"
        await world.exchange(world.request(post, HOST, "Content-Length: 5", body=b"hello"))
        chunked = world.request(
            post, HOST, "Transfer-Encoding: chunked", body=b"5\r\nhello\r\n0\r\n\r\n"
        )
        await world.exchange(chunked)
        assert world.origin.bodies == [b"hello", b"5\r\nhello\r\n0\r\n\r\n"]


async def test_pipelined_requests_are_answered_in_order(network):
    async with network(*RULES, names=NAMES) as world:
        for name in (b"one", b"two", b"three"):
            world.origin.answers[b"/" + name] = (
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(name), name)
            )
        wanted = ("one", "two", "three")
        requests = [
            world.request(f"GET http://good.test:{{port}}/{name} HTTP/1.1", HOST) for name in wanted
        ]
        answer = await world.exchange(b"".join(requests))
        assert re.findall(rb"\r\n\r\n(one|two|three)", answer) == [b"one", b"two", b"three"]


async def test_a_refusal_names_host_port_rule_and_mend_and_the_connection_goes_on(network):
    async with network(*RULES, "deny network host:bad.test because:leaks", names=NAMES) as world:
        none = world.request("GET http://other.test/x HTTP/1.1", "Host: other.test")
        bad = world.request("GET http://bad.test/x HTTP/1.1", "Host: bad.test")
        answer = (await world.exchange(none + bad + world.request(GOOD, HOST))).decode()
        assert re.findall(r"HTTP/1.1 (\d+) ", answer) == ["403", "403", "200"]
        assert (
            "GET other.test:80 is refused: no rule allows it; to allow it, add 'allow network "
            "protocol:http host:other.test port:80' to `rules` of [network] in config.toml\n"
        ) in answer
        assert "the rule 'deny network host:bad.test' of test denies it: leaks" in answer
        assert "X-Proxy-Error: blocked-by-allowlist" in answer
        assert "X-Proxy-Error: blocked-by-denylist" in answer


async def test_a_refused_tunnel_says_why_on_its_status_line(network):
    async with network(*RULES, names=NAMES) as world:
        answer = await world.exchange(
            world.request("CONNECT other.test:443 HTTP/1.1", host="other.test:443")
        )
        assert answer.startswith(b"HTTP/1.1 403 CONNECT other.test:443 is refused: no rule allows")


async def test_answers_of_unknown_length_and_to_head_keep_their_shape(network):
    async with network(*RULES, names=NAMES) as world:
        world.origin.answers[b"/open"] = b"HTTP/1.1 200 OK\r\n\r\nuntil the end"
        world.origin.answers[b"/chunked"] = (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"4\r\nfour\r\n0\r\n\r\n"
        )
        world.origin.answers[b"/head"] = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
        first = "{} http://good.test:{{port}}/{} HTTP/1.1"
        opened = await world.exchange(world.request(first.format("GET", "open"), HOST))
        assert opened.endswith(b"\r\n\r\nd\r\nuntil the end\r\n0\r\n\r\n")
        chunked = await world.exchange(world.request(first.format("GET", "chunked"), HOST))
        assert b"ontent-" not in chunked
        assert chunked.endswith(b"4\r\nfour\r\n0\r\n\r\n")
        head = await world.exchange(world.request(first.format("HEAD", "head"), HOST))
        assert head == b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"


async def test_an_answer_that_breaks_off_is_not_completed(network):
    async with network(*RULES, names=NAMES) as world:
        world.origin.answers[b"/"] = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
        answer = await world.exchange(world.request(GOOD, HOST))
        assert answer.endswith(b"Content-Length: 100\r\n\r\nhalf")


@pytest.mark.parametrize(
    "said",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 400_000,
        b"",
    ],
    ids=["nonsense", "other-protocol", "two-lengths", "large-head", "nothing"],
)
async def test_an_answer_that_cannot_be_read_is_a_bad_gateway(network, said):
    async with network(*RULES, names=NAMES) as world:
        world.origin.answers[b"/"] = said
        assert (await world.exchange(world.request(GOOD, HOST))).startswith(b"HTTP/1.1 502 ")


LARGE = bytes(range(256)) * 4 * 5_003  # more than the system's buffers hold, and no round number


@pytest.mark.parametrize("can_splice", [True, False], ids=["inside-the-system", "copied"])
@pytest.mark.parametrize("way", ["connect", "http"])
async def test_a_large_answer_arrives_whole(network, to_end, monkeypatch, way, can_splice):
    if not can_splice:
        monkeypatch.delattr("os.splice")
    async with network(*RULES, names=NAMES) as world:
        whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(LARGE) + LARGE
        world.origin.answers[b"/large"] = whole
        request = world.request("GET http://good.test:{port}/large HTTP/1.1", HOST)
        if way == "http":
            small = world.request(GOOD, HOST)
            answer = await world.exchange(request + small)
            rest = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\norigin"
        else:
            head = world.request("CONNECT good.test:{port} HTTP/1.1", HOST)
            answer = await world.exchange(head + b"GET /large HTTP/1.1\r\n\r\n")
            answer, rest = answer.removeprefix(b"HTTP/1.1 200 Connection established\r\n\r\n"), b""
        assert answer == whole + rest
        closed = next(event for event in world.events if event.kind == "closed")
        assert closed.received == len(whole)


async def test_a_large_answer_that_breaks_off_or_goes_on_stays_what_it_is(network):
    async with network(*RULES, names=NAMES) as world:
        request = world.request("GET http://good.test:{port}/large HTTP/1.1", HOST)
        for said, arrives in ((len(LARGE) + 5, len(LARGE)), (len(LARGE) - 5, len(LARGE) - 5)):
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % said
            world.origin.answers[b"/large"] = head + LARGE
            assert await world.exchange(request) == head + LARGE[:arrives]


async def test_a_command_that_waits_for_100_continue_gets_it(network, to_end):
    async with network(*RULES, names=NAMES) as world, await world.open() as stream:
        post = "POST http://good.test:{port}/ HTTP/1.1"
        await stream.send(world.request(post, HOST, "Content-Length: 2", "Expect: 100-continue"))
        assert (await stream.receive()).startswith(b"HTTP/1.1 100 ")
        await stream.send(b"ok")
        await stream.send_eof()
        assert (await to_end(stream)).startswith(b"HTTP/1.1 200 ")
        assert world.origin.bodies == [b"ok"]


@pytest.mark.parametrize("way", ["connect", "socks"])
async def test_a_tunnel_lets_each_side_end_on_its_own(network, to_end, way):
    async def echo_at_the_end(stream):
        async with stream:
            await stream.send((await to_end(stream))[::-1])

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, echo_at_the_end)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        rules = (
            f"allow network host:good.test port:{port}",
            f"allow network protocol:socks5_tcp host:good.test port:{port}",
        )
        async with network(*rules, names=NAMES) as world:
            if way == "socks":
                stream, reply = await world.socks("good.test", port)
                assert reply[1] == 0
                await stream.send(b"early late")
            else:
                stream = await world.open()
                head = world.request(f"CONNECT good.test:{port} HTTP/1.1", host=f"good.test:{port}")
                await stream.send(head + b"early late")
                assert (await stream.receive(39)) == b"HTTP/1.1 200 Connection established\r\n\r\n"
            async with stream:
                await stream.send_eof()
                assert await to_end(stream) == b"etal ylrae"
            await _until(lambda: world.events[-1].kind == "closed")
            assert (world.events[-1].sent, world.events[-1].received) == (10, 10)
            assert world.events[-1].address == "127.0.0.1"
        group.cancel_scope.cancel()


async def test_records_say_which_command_did_what(network):
    async with network(*RULES, names=NAMES) as world:
        first = world.credential
        with world.proxy.admit("call 2: ä") as second:
            world.credential = second
            await world.exchange(
                world.request("GET http://good.test:{port}/p?secret=1 HTTP/1.1", HOST)
            )
            await world.exchange(
                world.request("GET http://other.test/ HTTP/1.1", "Host: other.test")
            )
        world.credential = first
        await world.exchange(world.request(GOOD, HOST))
        told = [(event.kind, event.command, event.target.path) for event in world.events]
        assert told == [
            ("allowed", "call 2: ä", "/p"),
            ("closed", "call 2: ä", "/p"),
            ("refused", "call 2: ä", "/"),
            ("allowed", "call-1", "/"),
            ("closed", "call-1", "/"),
        ]


async def test_the_end_of_a_command_ends_its_connections_and_its_credential(network, to_end):
    async with network(*RULES, names=NAMES) as world:
        with world.proxy.admit("call-2") as world.credential:
            stream, reply = await world.socks("good.test", world.origin.port)
            assert reply[1] == 0
        async with stream:
            assert await to_end(stream) == b""
        answer = await world.exchange(world.request(GOOD, HOST))
        assert answer.startswith(b"HTTP/1.1 407 ")


@pytest.mark.parametrize(("says", "status"), [(True, b"200"), (False, b"403")], ids=["yes", "no"])
async def test_a_question_is_asked_once_for_each_command(network, says, status):
    questions = []

    async def ask(question):
        questions.append(question)
        await anyio.sleep(0)
        return EgressAnswer(says, "" if says else "not today")

    rule = "ask network host:good.test port:{port} because:'partners only'"
    async with network(rule, names=NAMES, ask=ask) as world:
        answers = []

        async def exchange():
            answers.append(await world.exchange(world.request(GOOD, HOST)))

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(exchange)
        assert {answer[9:12] for answer in answers} == {status}
        assert [question.command for question in questions] == ["call-1"]
        assert "partners only" in questions[0].reason
        assert all((b"not today" in answer) is not says for answer in answers)


async def test_where_nobody_can_be_asked_or_answers_in_time_ask_means_no(network):
    async with network("ask network host:good.test port:{port}", names=NAMES) as world:
        assert (await world.exchange(world.request(GOOD, HOST))).startswith(b"HTTP/1.1 403 ")

    async def think(question):
        await anyio.sleep_forever()

    limits = Limits(ask_s=0.05)
    rule = "ask network host:good.test port:{port}"
    async with network(rule, names=NAMES, ask=think, limits=limits) as world:
        assert (await world.exchange(world.request(GOOD, HOST))).startswith(b"HTTP/1.1 403 ")


async def test_an_approval_opens_no_inner_address(network):
    async def ask(question):
        return EgressAnswer(accepted=True)

    rule = "ask network host:good.test port:{port}"
    async with network(rule, names=NAMES, ask=ask, local=()) as world:
        assert b"local_addresses" in await world.exchange(world.request(GOOD, HOST))
        assert world.origin.connections == 0


async def test_an_allowed_host_that_is_not_there_is_a_bad_gateway(network):
    async with network("allow network host:nobody.test", names=NAMES) as world:
        answer = await world.exchange(world.request("GET http://nobody.test/ HTTP/1.0"))
        assert b"502" in answer[:12]
        assert b"it cannot be found" in answer
        assert [event.kind for event in world.events] == ["failed"]


async def test_five_hundred_connections_at_once(network):
    async with network(*RULES, names=NAMES) as world:
        streams = []

        async def connect():
            stream, reply = await world.socks("good.test", world.origin.port)
            assert reply[1] == 0
            streams.append(stream)

        async with anyio.create_task_group() as group:
            for _ in range(500):
                group.start_soon(connect)
        assert len(streams) == 500
        for stream in streams:
            await stream.send(b"GET / HTTP/1.1\r\n\r\n")
        for stream in streams:
            assert (await stream.receive()).endswith(b"origin")
            await stream.aclose()


async def test_a_command_with_too_many_connections_leaves_room_for_others(network):
    async with network(*RULES, names=NAMES, limits=Limits(per_command=2)) as world:
        held = [await world.socks("good.test", world.origin.port) for _ in range(2)]
        answer = await world.exchange(world.request(GOOD, HOST))
        assert answer.startswith(b"HTTP/1.1 429 ")
        with world.proxy.admit("call-2") as world.credential:
            answer = await world.exchange(world.request(GOOD, HOST))
            assert answer.startswith(b"HTTP/1.1 200 ")
        for stream, _ in held:
            await stream.aclose()


async def test_a_full_proxy_says_so(network, to_end):
    async with network(*RULES, names=NAMES, limits=Limits(connections=1)) as world:
        stream, _ = await world.socks("good.test", world.origin.port)
        async with await world.open() as more:
            assert (await to_end(more)).startswith(b"HTTP/1.1 503 ")
        await stream.aclose()


async def test_a_silent_tunnel_is_closed(network, to_end):
    async with network(*RULES, names=NAMES, limits=Limits(idle_s=0.1)) as world:
        stream, reply = await world.socks("good.test", world.origin.port)
        assert reply[1] == 0
        async with stream:
            assert await to_end(stream) == b""


async def test_it_listens_on_a_unix_socket_of_the_user_alone(network, to_end, tmp_path):
    path = tmp_path / "proxy.sock"
    async with network(*RULES, names=NAMES) as world:
        await world.proxy.listen_unix(str(path))
        assert path.stat().st_mode & 0o777 == 0o600
        async with await anyio.connect_unix(str(path)) as stream:
            await stream.send(world.request(GOOD, HOST))
            await stream.send_eof()
            assert (await to_end(stream)).startswith(b"HTTP/1.1 200 ")


async def test_a_fault_of_the_audit_ends_one_connection_and_lets_nothing_through(network, caplog):
    async with network(*RULES, names=NAMES) as world:
        world.broken = True
        assert await world.exchange(world.request(GOOD, HOST)) == b""
        assert world.origin.connections == 0
        world.broken = False
        assert (await world.exchange(world.request(GOOD, HOST))).startswith(b"HTTP/1.1 200 ")
    assert "failed to serve a connection" in caplog.text


async def _until(is_so):
    with anyio.fail_after(120):
        while not is_so():
            await anyio.sleep(0.01)
