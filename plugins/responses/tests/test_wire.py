"""Bytes may be cut anywhere: blocks and chunks come out the same. Channels do the same, too."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule_hookspecs.provider import Completed, ItemDone
from ferrule_testkit.model_items import message
from ferrule_wire.channel import BrokenLineError
from ferrule_wire.chunked import ChunkedBody
from ferrule_wire.sse import BlockSplitter, event_data, event_type

LINES = st.sampled_from(
    [b"data: a", b"data:b", b"event: e", b": c", b"id: 1", b"data", "ü".encode()]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def cut(data, places):
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def reference_blocks(data):
    """The same by the book: line by line, an empty line ends a block."""
    text = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    blocks, lines = [], []
    for line in text.split(b"\n")[:-1]:
        if line:
            lines.append(line)
        elif lines:
            blocks.append(b"\n".join(lines))
            lines = []
    return blocks


@given(
    lines=st.lists(st.tuples(st.one_of(LINES, st.just(b"")), ENDS), max_size=30),
    places=st.lists(st.integers(0, 10_000), max_size=12),
)
def test_blocks_are_the_same_however_the_bytes_are_cut(lines, places):
    data = b"".join(line + end for line, end in lines) + b": end\n\n"
    splitter = BlockSplitter()
    blocks = [block for piece in cut(data, places) for block in splitter.feed(piece)]
    assert blocks == reference_blocks(data)


@pytest.mark.parametrize(
    ("block", "type_", "data"),
    [
        (b'event: x\ndata: {"a": 1}', b"x", b'{"a": 1}'),
        (b"event:x\ndata:1\ndata:  2", b"x", b"1\n 2"),
        (b"data: 1", None, b"1"),
        (b": event: x", None, b""),
        (b"event: x", b"x", b""),
    ],
    ids=["usual", "several-lines", "no-type", "comment", "no-data"],
)
def test_fields_of_a_block(block, type_, data):
    assert (event_type(block), event_data(block)) == (type_, data)


def test_a_byte_order_mark_is_left_out():
    assert BlockSplitter().feed(b"\xef\xbb\xbfdata: 1\n\n") == [b"data: 1"]


@given(
    chunks=st.lists(st.binary(min_size=1, max_size=50), max_size=10),
    places=st.lists(st.integers(0, 10_000), max_size=12),
    extension=st.sampled_from([b"", b";name=value"]),
    trailers=st.sampled_from([b"", b"x-sum: 1\r\n"]),
)
def test_a_chunked_body_is_the_same_however_the_bytes_are_cut(chunks, places, extension, trailers):
    wire = b"".join(b"%x%b\r\n%b\r\n" % (len(chunk), extension, chunk) for chunk in chunks)
    body = ChunkedBody()
    pieces = cut(wire + b"0\r\n" + trailers + b"\r\n", places)
    assert b"".join(body.feed(piece) for piece in pieces) == b"".join(chunks)
    assert body.is_complete


@pytest.mark.parametrize("wire", [b"-1\r\n", b"zz\r\n", b"\r\n", b"2\r\nabcd\r\n", b"1" * 2000])
def test_a_body_that_is_not_chunked_is_refused(wire):
    with pytest.raises(BrokenLineError):
        ChunkedBody().feed(wire)


@pytest.fixture
def proxied(monkeypatch):
    """Have every request take the way over httpx, although its proxy is left out for our host."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.usefixtures("proxied")
class TestOverHttpx:
    """What differs between the channels is not seen outside."""

    def test_an_answer_arrives(self, model_server, talk, make_request):
        model_server.play([[message("a")], [message("b")]])
        heard = talk(make_request(), make_request(), query_params={"q": "1"})
        assert [one.of(ItemDone)[0].item for one in heard] == [message("a"), message("b")]
        assert isinstance(heard[1].events[-1], Completed)
        assert {request.path for request in model_server.requests} == {"/v1/responses?q=1"}
        assert len({request.connection for request in model_server.requests}) == 1

    @pytest.mark.parametrize(
        ("turn", "words"),
        [
            ({"items": [message("a b")], "cut_after": 2}, "error decoding response body"),
            ({"items": [message("a b")], "hang": True}, "idle timeout waiting for SSE"),
            ({"drop": True}, "ended before an answer"),
            ({"status": 404}, "unexpected status 404 Not Found: scripted error, url: http://127"),
        ],
        ids=["cut", "idle", "dropped", "status"],
    )
    def test_failures_read_the_same(self, model_server, talk, turn, words):
        model_server.play([turn])
        error = talk(request_max_retries=0, stream_idle_timeout_ms=400).error
        assert words in str(error)

    def test_a_server_that_is_not_there(self, talk):
        error = talk(base_url="http://127.0.0.1:1/v1").error
        assert "connection refused" in str(error)


def test_a_proxy_that_is_configured_is_used(model_server, talk, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{model_server.port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    model_server.play([[message("by proxy")]])
    heard = talk(base_url="http://model.invalid/v1")
    assert heard.of(ItemDone)[0].item == message("by proxy")
    assert model_server.requests[0].headers["host"] == "model.invalid"
