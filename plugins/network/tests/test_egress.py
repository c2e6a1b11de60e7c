"""The proxy as a session's managed network: doors, attribution, questions, records, and the end."""

import socket
import threading
from contextlib import asynccontextmanager

import anyio
import pytest

from ferrule_hookspecs.egress import EgressAnswer, EgressRequest, HostAccess
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_network.egress import ProxyEgress
from ferrule_network.network_log import NetworkLog

pytestmark = pytest.mark.anyio

WORDS = ("curl", "http://127.0.0.1/")


class Background:
    """What a kernel does with background work of plugins."""

    def __init__(self, group):
        self._group = group

    def start(self, function, name):
        self._group.start_soon(function, name=name)


@pytest.fixture
async def origin():
    """A server that answers `origin` to whatever it is sent, until it is closed."""

    async def answer(stream):
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\norigin")

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, answer)
        yield listener.extra(anyio.abc.SocketAttribute.local_port)
        group.cancel_scope.cancel()


@asynccontextmanager
async def open_egress(home, **table):
    async with anyio.create_task_group() as group:
        table = {"enabled": True, "local_addresses": ["127.0.0.1"], **table}
        context = PluginContext(
            home, {"network": table}, thread_id="t1", admin=home, runtime=Background(group)
        )
        egress = ProxyEgress(context)
        try:
            yield egress
        finally:
            await egress.aclose()
            group.cancel_scope.cancel()


@pytest.fixture
def egress(tmp_path):
    """Opens a managed network: `async with egress(rules=...) as network`."""

    def make(**table):
        return open_egress(tmp_path, **table)

    return make


def listening():
    """A socket as a sandbox backend makes it in a command's own network."""
    return socket.create_server(("127.0.0.1", 0), backlog=100)


def get(port):
    return f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()


async def ask(where, data):
    async with await anyio.connect_tcp("127.0.0.1", where) as stream:
        await stream.send(data)
        await stream.send_eof()
        answer = b""
        with anyio.fail_after(120):
            try:
                while True:
                    answer += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return answer


async def until_ended(stream):
    with anyio.fail_after(120):
        try:
            while True:
                await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return


async def until_refused(port):
    """Wait until nobody listens at a port any more."""
    with anyio.fail_after(120):
        while True:
            try:
                async with await anyio.connect_tcp("127.0.0.1", port):
                    await anyio.sleep(0)
            except OSError:
                return


def allow(port, protocol="http"):
    return f"allow network protocol:{protocol} host:127.0.0.1 port:{port}"


async def test_whoever_comes_through_a_command_s_own_socket_is_that_command(
    egress, origin, tmp_path
):
    async with egress(rules=[allow(origin)]) as network:
        ports = {}
        for call in ("c1", "c2"):
            opened = await network.open(EgressRequest(WORDS, "t1", "u1", call))
            link = listening()
            ports[call] = link.getsockname()[1]
            thread = threading.Thread(target=opened.door.serve, args=(link.detach(),))
            thread.start()
            thread.join()
        for call, port in ports.items():
            assert b"origin" in await ask(port, get(origin)), call
        claims = get(origin).replace(b"\r\n\r\n", b"\r\nProxy-Authorization: Basic YTpi\r\n\r\n")
        assert b"origin" in await ask(ports["c2"], claims)

    allowed = [one["call"] for one in NetworkLog(tmp_path).read() if one["kind"] == "allowed"]
    assert allowed == ["c1", "c2", "c2"]


async def test_the_shared_port_serves_nobody_without_a_credential(egress, origin):
    async with egress(rules=[allow(origin)]) as network:
        opened = await network.open(EgressRequest(WORDS))
        url = opened.environment["HTTP_PROXY"]

        assert url.endswith(f"@127.0.0.1:{opened.door.port}")
        assert b" 407 " in await ask(opened.door.port, get(origin))


async def test_the_end_of_a_command_ends_its_socket_and_its_connections(egress, origin):
    async with egress(rules=[allow(origin)]) as network:
        opened = await network.open(EgressRequest(WORDS))
        link = listening()
        port = link.getsockname()[1]
        opened.door.serve(link.detach())
        async with await anyio.connect_tcp("127.0.0.1", port) as idle:
            await idle.send(b"GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n")
            await idle.receive()
            opened.close()
            await until_ended(idle)
        await until_refused(port)


async def test_a_socket_that_comes_after_the_end_of_its_command_is_closed(egress):
    async with egress() as network:
        opened = await network.open(EgressRequest(WORDS))
        opened.close()
        link = listening()
        port = link.getsockname()[1]
        opened.door.serve(link.detach())
        await until_refused(port)


async def test_rules_of_one_command_count_for_it_alone(egress, origin):
    async with egress() as network:
        first = await network.open(EgressRequest(WORDS, rules=(allow(origin),)))
        second = await network.open(EgressRequest(WORDS))
        answers = []
        for opened in (first, second):
            link = listening()
            port = link.getsockname()[1]
            opened.door.serve(link.detach())
            answers.append(await ask(port, get(origin)))

    assert b"origin" in answers[0]
    assert b" 403 " in answers[1]


@pytest.mark.parametrize(
    ("table", "is_ruled"),
    [({"unknown": "ask"}, False), ({"rules": ["ask network host:127.0.0.1"]}, True)],
    ids=["unknown", "rule"],
)
async def test_a_question_names_the_host_and_a_rule_is_offered_where_it_would_help(
    egress, origin, table, is_ruled
):
    questions, facts = [], []

    async def answer(question):
        questions.append(question)
        return EgressAnswer(accepted=False, reason="not today")

    async with egress(**table) as network:
        request = EgressRequest(WORDS, ask=answer, tell=facts.append)
        opened = await network.open(request)
        link = listening()
        port = link.getsockname()[1]
        opened.door.serve(link.detach())
        refusal = await ask(port, get(origin))
        await ask(port, b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")

    assert b" 403 " in refusal
    assert b"not today" in refusal
    assert questions[0].access == HostAccess("127.0.0.1", origin, "http")
    assert questions[0].is_ruled is is_ruled
    assert questions[0].amendments == ()
    if not is_ruled:
        assert questions[1].amendments == (("network_host", ("https", "a.test")),)
    assert [fact.kind for fact in facts] == ["refused", "refused"]


async def test_own_servers_of_a_command_are_left_to_it_unless_this_machine_s_are_opened(egress):
    async with egress() as opened, egress(local_addresses=[]) as closed:
        served = (await opened.open(EgressRequest(WORDS))).environment
        own = (await closed.open(EgressRequest(WORDS))).environment

    assert served["NO_PROXY"] == served["no_proxy"] == ""
    assert own["NO_PROXY"] == "localhost,127.0.0.1,::1"
    assert own["https_proxy"] == own["ALL_PROXY"] == own["FERRULE_NETWORK_PROXY"]
    assert own["NODE_USE_ENV_PROXY"] == "1"


async def test_after_its_end_it_opens_nothing(egress):
    async with egress() as network:
        await network.open(EgressRequest(WORDS))
    with pytest.raises(FerruleError, match="has ended"):
        await network.open(EgressRequest(WORDS))
