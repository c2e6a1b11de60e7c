"""Trimming leaves a history that every provider takes, whatever is cut."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule_compaction.trimming import trimmed
from ferrule_hookspecs.token_counts import estimate_tokens

PREFIX = [
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Begin."}]}
]
OUTPUT_OF = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}


def message(role, text):
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


@st.composite
def histories(draw):
    """Histories in which calls run in parallel and ids come again."""
    items, texts = [], st.text(max_size=400)
    for _ in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(["message", "reasoning", "calls", "images"]))
        if kind == "message":
            items.append(message(draw(st.sampled_from(["user", "assistant"])), draw(texts)))
        elif kind == "reasoning":
            items.append({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"})
        elif kind == "images":
            image = {"type": "input_image", "image_url": "data:" + "A" * draw(st.integers(0, 900))}
            items.append({"type": "message", "role": "user", "content": [image]})
        else:
            keys = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
            types = [draw(st.sampled_from(list(OUTPUT_OF))) for _ in keys]
            for type_, key in zip(types, keys, strict=True):
                field = "arguments" if type_ == "function_call" else "input"
                items.append({"type": type_, "call_id": f"c{key}", "name": "n", field: "{}"})
            for type_, key in zip(types, keys, strict=True):
                output = draw(texts) * draw(st.integers(1, 20))
                items.append({"type": OUTPUT_OF[type_], "call_id": f"c{key}", "output": output})
    return [*PREFIX, *items]


def is_well_formed(items):
    waiting = []
    for item in items:
        if item["type"] in OUTPUT_OF:
            waiting.append((OUTPUT_OF[item["type"]], item["call_id"]))
        elif item["type"] in OUTPUT_OF.values():
            if (item["type"], item["call_id"]) not in waiting:
                return False
            waiting.remove((item["type"], item["call_id"]))
    return not waiting


@settings(max_examples=200, deadline=None)
@given(histories(), st.integers(0, 3_000))
def test_every_call_keeps_its_output_after_any_trim(items, tokens):
    short = trimmed(items, 1, tokens)

    assert is_well_formed(short)
    assert short[0] is items[0]
    if len(items) > 1 and items[-1]["type"] == "message":
        assert short[-1]["type"] == "message"


@settings(max_examples=100, deadline=None)
@given(histories())
def test_what_fits_is_left_as_it_is(items):
    room = estimate_tokens(items) * 8 + 20_000
    assert trimmed(items, 1, room) == items


def test_a_trimmed_history_is_about_as_long_as_asked_for():
    items = [*PREFIX, *(message("user", "word " * 300) for _ in range(200))]
    short = trimmed(items, 1, 20_000)
    assert 15_000 < estimate_tokens(short) < 21_000


def test_one_output_that_is_too_long_is_cut_in_its_middle():
    call = {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "x" * 400_000}
    short = trimmed([*PREFIX, call, output], 1, 8_000)
    assert [item["type"] for item in short[1:]] == ["function_call", "function_call_output"]
    assert "tokens are left out here" in short[-1]["output"]
    assert estimate_tokens(short) < 8_000


def test_what_a_provider_sealed_is_never_trimmed_away_where_it_fits():
    sealed = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2Vh" * 1_000}
    words = [message("user", "word " * 300) for _ in range(200)]
    items = [*PREFIX, message("user", "Do it."), sealed, *words]

    assert sealed in trimmed(items, 1, 20_000)
    assert sealed not in trimmed(items, 1, 500)
