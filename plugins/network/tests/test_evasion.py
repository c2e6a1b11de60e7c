"""Ways around the proxy, each of which must end before a host is reached."""

from __future__ import annotations

import re

import anyio
import pytest

from ferrule_network.host import TargetError, canonical_host
from ferrule_network.limits import Limits

pytestmark = pytest.mark.anyio

_TRAP = ["127.0.0.1"]

SPELLINGS = {
    "capitals": "EVIL.Test",
    "dot-at-end": "evil.test.",
    "percent-letter": "%65vil.test",
    "percent-dot": "evil%2Etest",
    "percent-all": "%65%76%69%6c%2e%74%65%73%74",
    "percent-twice": "%2565vil.test",
    "fullwidth-letters": "%EF%BD%85vil.test",
    "ideographic-dot": "evil%E3%80%82test",
    "soft-hyphen": "ev%C2%ADil.test",
    "zero-width-space": "ev%E2%80%8Bil.test",
    "circled-letter": "%E2%93%94vil.test",
    "nul": "evil.test%00.good.test",
    "empty-label": "evil..test",
    "two-dots-at-end": "evil.test..",
    "space": "evil.test%20",
    "backslash": "evil.test%5C.good.test",
    "slash": "evil.test%2F.good.test",
    "at": "good.test%40evil.test",
    "colon": "evil.test%3A80",
    "question": "evil.test%3F.good.test",
    "hash": "evil.test%23.good.test",
    "line-break": "evil.test%0d%0aX-Y:z",
}


@pytest.mark.parametrize("way", ["http", "connect", "socks"])
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
async def test_a_denied_name_is_denied_however_it_is_spelled(network, spelling, way):
    rules = (
        "allow network host:** port:{port}",
        "allow network protocol:socks5_tcp host:** port:{port}",
        "deny network host:evil.test",
    )
    names = dict.fromkeys(["evil.test", "evil.test.", spelling, spelling.lower()], _TRAP)
    async with network(*rules, names=names) as world:
        port = world.origin.port
        if way == "socks":
            stream, reply = await world.socks(spelling, port)
            await stream.aclose()
            assert reply[1] != 0
        else:
            first = {
                "http": f"GET http://{spelling}:{port}/ HTTP/1.0",
                "connect": f"CONNECT {spelling}:{port} HTTP/1.0",
            }[way]
            assert re.match(rb"HTTP/1.1 40[03] ", await world.exchange(world.request(first)))
        assert world.origin.connections == 0
        assert world.events[-1].kind == "refused"


ADDRESSES = {
    "dotted": "127.0.0.1",
    "hex": "0x7f000001",
    "hex-parts": "0x7f.0x0.0x0.0x1",
    "hex-capitals": "0X7F.1",
    "octal": "0177.0.0.1",
    "octal-long": "000177.0.0.01",
    "one-number": "2130706433",
    "two-parts": "127.1",
    "three-parts": "127.0.1",
    "mixed": "0x7f.0.1",
    "other-loopback": "127.8.8.8",
    "dot-at-end": "127.0.0.1.",
    "fullwidth": "%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1",
    "ideographic-dots": "127%E3%80%820%E3%80%820%E3%80%821",
    "percent": "%3127.0.0.1",
    "zero": "0",
    "zeros": "0.0.0.0",
    "too-large": "4294967297",
    "part-too-large": "127.0.0.257",
    "broken-octal": "0187.0.0.1",
    "five-parts": "127.0.0.0.1",
    "v6-loopback": "[::1]",
    "v6-any": "[::]",
    "v6-long": "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "v6-mapped": "[::ffff:127.0.0.1]",
    "v6-mapped-hex": "[::ffff:7f00:1]",
    "v6-compatible": "[::127.0.0.1]",
    "v6-nat64": "[64:ff9b::7f00:1]",
    "v6-nat64-local": "[64:ff9b:1::7f00:1]",
    "v6-6to4": "[2002:7f00:1::]",
    "v6-teredo": "[2001:0:7f00:1::]",
    "v6-isatap": "[2600::5efe:7f00:1]",
    "v6-zone": "[fe80::1%25lo]",
    "v6-link-local": "[fe80::1]",
    "metadata": "169.254.169.254",
    "metadata-number": "2852039166",
    "metadata-mapped": "[::ffff:169.254.169.254]",
    "private": "10.0.0.1",
    "carrier": "100.64.0.1",
    "multicast": "224.0.0.1",
    "broadcast": "255.255.255.255",
}


@pytest.mark.parametrize("way", ["http", "connect"])
@pytest.mark.parametrize("spelling", ADDRESSES.values(), ids=ADDRESSES)
async def test_an_inner_address_is_refused_even_with_a_rule_for_it(network, spelling, way):
    try:
        named = canonical_host(spelling).text
    except TargetError:
        named = "127.0.0.1"
    rules = (f"allow network host:{named} port:{{port}}", "allow network host:** port:{port}")
    async with network(*rules, local=()) as world:
        first = {"http": "GET http://%s:{port}/ HTTP/1.0", "connect": "CONNECT %s:{port} HTTP/1.0"}
        answer = await world.exchange(world.request(first[way] % spelling))
        assert re.match(rb"HTTP/1.1 40[03] ", answer)
        assert world.origin.connections == 0
        assert world.lookups == []


POINTING = {
    "loopback": ["127.0.0.1"],
    "loopback-v6": ["::1"],
    "mapped": ["::ffff:127.0.0.1"],
    "metadata": ["169.254.169.254"],
    "metadata-v6": ["fd00:ec2::254"],
    "metadata-containers": ["169.254.170.2"],
    "metadata-carrier": ["100.100.100.200"],
    "metadata-public-looking": ["168.63.129.16"],
    "metadata-special": ["192.0.0.192"],
    "metadata-nat64": ["64:ff9b::a9fe:a9fe"],
    "metadata-6to4": ["2002:a9fe:a9fe::1"],
    "private-10": ["10.1.2.3"],
    "private-172": ["172.31.255.255"],
    "private-192": ["192.168.0.1"],
    "unique-local": ["fc00::1"],
    "site-local": ["fec0::1"],
    "link-local": ["fe80::1"],
    "carrier": ["100.127.255.255"],
    "multicast": ["239.1.1.1"],
    "multicast-v6": ["ff02::1"],
    "benchmark": ["198.18.0.1"],
    "documentation": ["2001:db8::1"],
    "public-first": ["8.8.8.8", "127.0.0.1"],
    "public-last": ["127.0.0.1", "8.8.8.8"],
    "one-of-many": [*(f"8.8.8.{n}" for n in range(20)), "10.0.0.1"],
}


@pytest.mark.parametrize("addresses", POINTING.values(), ids=POINTING)
async def test_an_allowed_name_does_not_lead_inside(network, addresses):
    rule = "allow network host:good.test port:{port}"
    async with network(rule, names={"good.test": addresses}, local=()) as world:
        answer = await world.exchange(world.request("GET http://good.test:{port}/ HTTP/1.0"))
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b"local_addresses" in answer
        assert world.origin.connections == 0


GOOD = "GET http://good.test:{port}/ HTTP/1.1"
POST = "POST http://good.test:{port}/ HTTP/1.1"
HOST = "Host: good.test:{port}"
REQUESTS = {
    "other-port": ("GET http://good.test:81/ HTTP/1.1", "Host: good.test:81"),
    "no-port": ("GET http://good.test/ HTTP/1.1", "Host: good.test"),
    "other-host-header": (GOOD, "Host: evil.test:{port}"),
    "host-header-without-port": (GOOD, "Host: good.test"),
    "other-port-in-host-header": (GOOD, "Host: good.test:81"),
    "two-host-headers": (GOOD, HOST, "Host: evil.test"),
    "no-host-header": (GOOD,),
    "user-before-host": ("GET http://good.test:{port}@evil.test/ HTTP/1.1", "Host: evil.test"),
    "user-before-good-host": ("GET http://evil.test@good.test:{port}/ HTTP/1.1", HOST),
    "https-without-tunnel": ("GET https://good.test:{port}/ HTTP/1.1", HOST),
    "ftp": ("GET ftp://good.test:{port}/ HTTP/1.1", HOST),
    "path-only": ("GET / HTTP/1.1", HOST),
    "asterisk": ("OPTIONS * HTTP/1.1", HOST),
    "authority-with-get": ("GET good.test:{port} HTTP/1.1", HOST),
    "fragment": ("GET http://good.test:{port}/#@evil.test HTTP/1.1", HOST),
    "backslash": ("GET http://good.test:{port}\\@evil.test/ HTTP/1.1", HOST),
    "no-slashes": ("GET http:good.test:{port}/ HTTP/1.1", HOST),
    "no-host": ("GET http:///path HTTP/1.1", HOST),
    "small-method": ("get http://good.test:{port}/ HTTP/1.1", HOST),
    "small-connect": ("connect good.test:{port} HTTP/1.1", HOST),
    "connect-other-port": ("CONNECT good.test:22 HTTP/1.1", "Host: good.test:22"),
    "connect-no-port": ("CONNECT good.test HTTP/1.1", "Host: good.test"),
    "connect-port-0": ("CONNECT good.test:0 HTTP/1.1", "Host: good.test:0"),
    "connect-port-too-large": ("CONNECT good.test:65616 HTTP/1.1", "Host: good.test:65616"),
    "connect-port-plus": ("CONNECT good.test:+{port} HTTP/1.1", HOST),
    "connect-port-underscore": ("CONNECT good.test:4_43 HTTP/1.1", HOST),
    "connect-other-host-header": ("CONNECT good.test:{port} HTTP/1.1", "Host: evil.test:{port}"),
    "connect-url": ("CONNECT http://good.test:{port}/ HTTP/1.1", HOST),
    "connect-user": ("CONNECT good.test:{port}@evil.test:443 HTTP/1.1", HOST),
    "connect-two-hosts": ("CONNECT good.test:{port},evil.test:443 HTTP/1.1", HOST),
    "connect-with-length": ("CONNECT good.test:{port} HTTP/1.1", HOST, "Content-Length: 4"),
    "connect-chunked": ("CONNECT good.test:{port} HTTP/1.1", HOST, "Transfer-Encoding: chunked"),
    "length-and-coding": (POST, HOST, "Content-Length: 5", "Transfer-Encoding: chunked"),
    "coding-and-length": (POST, HOST, "Transfer-Encoding: chunked", "Content-Length: 5"),
    "two-lengths": (POST, HOST, "Content-Length: 5", "Content-Length: 6"),
    "two-lengths-in-one": (POST, HOST, "Content-Length: 5, 6"),
    "length-plus": (POST, HOST, "Content-Length: +5"),
    "length-negative": (POST, HOST, "Content-Length: -5"),
    "length-hex": (POST, HOST, "Content-Length: 0x5"),
    "length-huge": (POST, HOST, "Content-Length: " + "9" * 40),
    "two-codings": (POST, HOST, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    "coding-list": (POST, HOST, "Transfer-Encoding: gzip, chunked"),
    "coding-unknown": (POST, HOST, "Transfer-Encoding: xchunked"),
    "coding-with-1.0": (
        "POST http://good.test:{port}/ HTTP/1.0",
        HOST,
        "Transfer-Encoding: chunked",
    ),
    "space-before-colon": (POST, HOST, "Content-Length : 5"),
    "space-in-name": (GOOD, HOST, "X Y: z"),
    "no-colon": (GOOD, HOST, "nonsense"),
    "folded-first": (GOOD, " folded: x", HOST),
    "nul-in-value": (GOOD, HOST, "X-Y: a\0b"),
    "carriage-return-in-value": (GOOD, HOST, "X-Y: a\rX-Z: b"),
    "space-in-target": ("GET http://good.test:{port}/ /x HTTP/1.1", HOST),
    "tab-in-request-line": ("GET\thttp://good.test:{port}/\tHTTP/1.1", HOST),
    "letters-in-target": ("GET http://good.test:{port}/\xff HTTP/1.1", HOST),
    "no-version": ("GET http://good.test:{port}/", HOST),
    "version-2": ("GET http://good.test:{port}/ HTTP/2.0", HOST),
    "version-1.2": ("GET http://good.test:{port}/ HTTP/1.2", HOST),
    "http2-preface": ("PRI * HTTP/2.0",),
    "large-header": (GOOD, HOST, "X-Y: " + "a" * 100_000),
    "many-headers": (GOOD, HOST, *(f"X-{n}: y" for n in range(8000))),
    "large-target": ("GET http://good.test:{port}/" + "a" * 100_000 + " HTTP/1.1", HOST),
    "two-credentials": (GOOD, HOST, "Proxy-Authorization: Basic eDp5"),
}


@pytest.mark.parametrize("lines", REQUESTS.values(), ids=REQUESTS)
async def test_a_request_with_two_meanings_reaches_nobody(network, lines):
    rule = "allow network host:good.test port:{port}"
    names = {"good.test": _TRAP, "evil.test": _TRAP}
    async with network(rule, names=names) as world:
        answer = await world.exchange(world.request(*lines, body=b"12345"))
        assert re.match(rb"HTTP/1.1 (4\d\d|501|505) ", answer)
        assert world.origin.connections == 0
        assert world.events[-1].kind == "refused"


SHOWN = {
    "none": "X: y",
    "other-scheme": "Proxy-Authorization: Bearer abc",
    "not-base64": "Proxy-Authorization: Basic !!",
    "nobody": "Proxy-Authorization: Basic eDp5",
    "right-user-wrong-secret": "Proxy-Authorization: Basic Y2FsbC0xOng=",
    "origin-header": "Authorization: Basic Y2FsbC0xOng=",
}


@pytest.mark.parametrize("header", SHOWN.values(), ids=SHOWN)
async def test_without_a_commands_credential_nothing_is_reached(network, header):
    async with network("allow network host:good.test port:{port}", names={"good.test": _TRAP}) as w:
        head = f"GET http://good.test:{w.origin.port}/ HTTP/1.1\r\nHost: good.test:{w.origin.port}"
        answer = await w.exchange(f"{head}\r\n{header}\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 407 ")
        assert w.origin.connections == 0


SOCKS = {
    "no-credential": {"methods": b"\x00"},
    "gssapi-only": {"methods": b"\x01"},
    "wrong-secret": {"shown": ("call-1", "x")},
    "wrong-user": {"shown": ("call-2", "x")},
    "bind": {"command": 2},
    "udp": {"command": 3},
    "unknown-command": {"command": 9},
    "other-port": {"port": 22},
    "port-0": {"port": 0},
    "name-not-allowed": {"host": "evil.test"},
    "name-with-nul": {"host": b"good.test\0.evil.test"},
    "name-not-utf-8": {"host": b"good.test\xff"},
    "address-not-allowed": {"host": b"\x01\x7f\x00\x00\x01"},
    "address-mapped": {"host": b"\x04" + bytes(10) + b"\xff\xff\x7f\x00\x00\x01"},
    "unknown-address-type": {"host": b"\x09\x00"},
}


@pytest.mark.parametrize("case", SOCKS.values(), ids=SOCKS)
async def test_socks_lets_through_what_a_rule_names_only(network, case):
    rule = "allow network protocol:socks5_tcp host:good.test port:{port}"
    names = {"good.test": _TRAP, "evil.test": _TRAP}
    async with network(rule, names=names) as world:
        options = {"host": "good.test", "port": world.origin.port, **case}
        stream, reply = await world.socks(**options)
        await stream.aclose()
        assert reply == b"" or reply[1] != 0
        assert world.origin.connections == 0


@pytest.mark.parametrize(
    "data",
    [
        b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\x00",
        b"\r\n" * 40,
    ],
    ids=["socks4", "tls", "nul", "blank-lines"],
)
async def test_other_protocols_are_not_spoken(network, data):
    async with network("allow network host:127.0.0.1 port:80") as world:
        answer = await world.exchange(data)
        assert not answer.startswith(b"HTTP/1.1 2")
        assert world.origin.connections == 0


async def test_a_name_that_changes_its_mind_is_looked_up_once(network):
    answers = iter([["127.0.0.1"], ["169.254.169.254"], ["127.0.0.1"]])
    rule = "allow network host:good.test port:{port}"
    async with network(rule, names={"good.test": lambda: next(answers)}) as world:
        request = world.request("GET http://good.test:{port}/ HTTP/1.0")
        assert (await world.exchange(request)).startswith(b"HTTP/1.1 200 ")
        assert world.lookups == ["good.test"]
        assert (await world.exchange(request)).startswith(b"HTTP/1.1 403 ")
        assert world.origin.connections == 1


async def test_a_redirect_is_a_request_of_its_own(network):
    rule = "allow network host:good.test port:{port}"
    names = {"good.test": _TRAP, "evil.test": _TRAP}
    async with network(rule, names=names) as world:
        world.origin.answers[b"/go"] = (
            b"HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nContent-Length: 0\r\n\r\n"
        )
        good = world.request("GET http://good.test:{port}/go HTTP/1.1", HOST)
        evil = world.request("GET http://evil.test:{port}/ HTTP/1.1", "Host: evil.test:{port}")
        answer = await world.exchange(good + evil)
        assert re.findall(rb"HTTP/1.1 (\d+) ", answer) == [b"302", b"403"]
        assert world.origin.connections == 1


async def test_a_body_hides_no_second_request(network):
    rule = "allow network host:good.test port:{port}"
    async with network(rule, names={"good.test": _TRAP}) as world:
        hidden = b"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(hidden), hidden)
        request = world.request(POST, HOST, "Transfer-Encoding: chunked", body=body)
        answer = await world.exchange(request)
        assert re.findall(rb"HTTP/1.1 (\d+) ", answer) == [b"200"]
        assert hidden in world.origin.bodies[0]


CHUNKS = {
    "size-not-hex": b"zz\r\nhello\r\n0\r\n\r\n",
    "size-prefixed": b"0x5\r\nhello\r\n0\r\n\r\n",
    "size-negative": b"-5\r\nhello\r\n0\r\n\r\n",
    "size-huge": b"f" * 40 + b"\r\nhello",
    "no-line-end": b"5\r\nhelloXX0\r\n\r\n",
    "cut-off": b"5\r\nhel",
}


@pytest.mark.parametrize("body", CHUNKS.values(), ids=CHUNKS)
async def test_a_broken_body_is_never_completed_for_the_host(network, body):
    rule = "allow network host:good.test port:{port}"
    async with network(rule, names={"good.test": _TRAP}) as world:
        request = world.request(POST, HOST, "Transfer-Encoding: chunked", body=body)
        answer = await world.exchange(request)
        assert not answer.startswith(b"HTTP/1.1 200")
        assert world.origin.bodies == []


async def test_headers_between_neighbours_stay_between_them(network):
    rule = "allow network host:good.test port:{port}"
    async with network(rule, names={"good.test": _TRAP}) as world:
        more = (
            "Connection: keep-alive, X-Secret, Host, Content-Length",
            "X-Secret: 1",
            "Upgrade: h2c",
            "TE: trailers",
            "Proxy-Connection: keep-alive",
            "Content-Length: 2",
            "X-Kept: 1",
        )
        await world.exchange(world.request(POST, HOST, *more, body=b"ab"))
        head = world.origin.heads[0].lower()
        for gone in (b"proxy-", b"x-secret", b"upgrade", b"te:", b"keep-alive"):
            assert gone not in head
        assert head.count(b"host:") == 1
        assert b"content-length: 2" in head
        assert b"x-kept: 1" in head


@pytest.mark.parametrize(
    "start",
    [b"", b"G", b"GET http://good.test/ HTTP/1.1\r\nX: y\r\n", b"\x05", b"\x05\x01\x02\x01\x06ca"],
    ids=["silent", "letter", "half-a-head", "socks", "half-a-name"],
)
async def test_who_never_finishes_a_head_is_closed(network, to_end, start):
    limits = Limits(head_s=0.2)
    async with network("allow network host:good.test", limits=limits) as world:
        async with await world.open() as stream:
            if start:
                await stream.send(start)
            answer = await to_end(stream)
        assert not answer.startswith(b"HTTP/1.1 2")


async def test_a_head_that_trickles_is_closed_at_the_same_time(network):
    limits = Limits(head_s=0.3)
    async with network("allow network host:x", limits=limits) as w, await w.open() as stream:
        await stream.send(b"GET http://good.test/ HTTP/1.1\r\nX: ")
        with pytest.raises((anyio.BrokenResourceError, anyio.EndOfStream)):
            await _trickle(stream)


async def _trickle(stream):
    with anyio.fail_after(120):
        while True:
            await stream.send(b"y")
            with anyio.move_on_after(0.05):
                await stream.receive()
