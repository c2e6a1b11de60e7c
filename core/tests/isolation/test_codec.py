"""What comes over the pipe is read strictly: it fits, or it is refused by name."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.isolation import codec
from ferrule.isolation.faults import fault_table, read_fault
from ferrule.isolation.frames import LIMIT, FrameError, FrameReader, encode
from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.permissions import AdditionalPermissions
from ferrule_hookspecs.review import Amendment
from ferrule_hookspecs.sandbox import Command, Denial, RemoveFile, ResolvedPolicy, WritableRoot
from ferrule_hookspecs.tools import FreeformSchema, Requirement, SandboxDeniedError, ToolResult

KEYS = ("kind", "reason", "output", "success", "permissions", "amendments", "value", "path", "argv")
ATOMS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
ANYTHING = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=12,
)
READERS = (
    codec.read_call,
    codec.read_denial,
    codec.read_edit,
    codec.read_item,
    codec.read_requirement,
    codec.read_result,
    codec.read_schema,
)
DENIAL = Denial("write", "not there", "/usr/x")
ROOT = WritableRoot("/w", ("/w/.git",), ("/w/.vscode",), ("/w/a",))
NEED = Requirement(
    "approval",
    "it writes",
    permissions=AdditionalPermissions(True, ("/r",), ("/w",)),
    amendments=(Amendment("command_prefix", ("git", "push")),),
    details={"n": 1},
)


def sent(value):
    return json.loads(json.dumps(codec.plain(value)))


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
@settings(max_examples=60, deadline=None)
@given(value=ANYTHING)
def test_anything_is_read_or_refused(read, value):
    with suppress(FrameError):
        read(value)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (
            codec.read_result,
            ToolResult("x", False, {"type": "plan", "id": "i"}, True, DENIAL, ("a",)),
        ),
        (codec.read_requirement, NEED),
        (codec.read_denial, DENIAL),
        (codec.read_edit, RemoveFile("/w/x")),
        (codec.read_command, Command(("a", "b"), "/w", {"A": "1"}, True, size=(3, 4))),
        (
            codec.read_policy,
            ResolvedPolicy("workspace-write", "/w", (ROOT,), ("/s",), readable_roots=("/r",)),
        ),
    ],
    ids=["result", "requirement", "denial", "edit", "command", "policy"],
)
def test_what_one_side_writes_the_other_side_reads(read, value):
    assert read(sent(value)) == value


def test_a_schema_keeps_its_form():
    schema = FreeformSchema("patch", "Patches.", "lark", "start: /x/")

    assert codec.read_schema(sent(codec.schema_table(schema))) == schema


@pytest.mark.parametrize(
    "error",
    [ToolArgumentError("no"), SandboxDeniedError(DENIAL), FileNotFoundError(2, "gone", "/x")],
    ids=lambda error: type(error).__name__,
)
def test_an_error_arrives_as_itself(error):
    found = read_fault(sent(fault_table(error)), "tool")

    assert (type(found), str(found)) == (type(error), str(error))


@settings(max_examples=60, deadline=None)
@given(
    messages=st.lists(st.dictionaries(st.text(max_size=3), ATOMS), max_size=4),
    size=st.integers(1, 9),
)
def test_messages_arrive_whole_however_the_stream_is_cut(messages, size):
    stream = b"".join(map(encode, messages))
    reader = FrameReader()

    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [found for piece in pieces for found in reader.feed(piece)] == messages


@settings(max_examples=60, deadline=None)
@given(noise=st.binary(min_size=4, max_size=40))
def test_noise_is_a_message_an_error_or_waits_for_more(noise):
    with suppress(FrameError):
        assert all(isinstance(found, dict) for found in FrameReader().feed(noise))


@pytest.mark.parametrize(("depth", "is_taken"), [(100, True), (300, False)])
def test_what_is_nested_too_deeply_to_be_recorded_is_refused(depth, is_taken):
    value = []
    for _ in range(depth):
        value = [value]
    stream = encode({"value": value})

    if is_taken:
        assert FrameReader().feed(stream) == [{"value": value}]
    else:
        with pytest.raises(FrameError, match="nested too deeply"):
            FrameReader().feed(stream)


@pytest.mark.parametrize("part", [{}, {"type": "output_text", "text": "x"}, {"type": "input_text"}])
def test_a_part_that_no_provider_takes_is_refused(part):
    with pytest.raises(FrameError):
        codec.read_result({"output": [part]})


def test_what_is_too_large_is_not_sent():
    with pytest.raises(FrameError, match="16 MiB"):
        encode({"value": "x" * LIMIT})
