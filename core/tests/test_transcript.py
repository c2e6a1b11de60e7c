"""Records become a history a provider accepts and turns a client can show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.store import JsonlStore
from ferrule.transcript import copy_for_fork, read_history, read_turns, spent_so_far
from ferrule_hookspecs.errors import StoreError
from ferrule_hookspecs.plugins import PluginContext

EXAMPLES = Path(__file__).parents[2].parent / "shared/conformance/rollout/record_examples.jsonl"


def records(*entries):
    """Number (type, payload) pairs; a second apart, so that times can be told."""
    return [
        {
            "timestamp": f"2026-11-21T20:00:{number:02d}.250Z" if number < 60 else "",
            "ordinal": number,
            "type": type_,
            "payload": payload,
        }
        for number, (type_, payload) in enumerate(entries)
    ]


def event(type_, **fields):
    return "event_msg", {"type": type_, **fields}


def begin(turn="t1"):
    return event("task_started", turn_id=turn)


def end(turn="t1", **fields):
    return event("task_complete", turn_id=turn, **fields)


def says(text, role="user"):
    part = "output_text" if role == "assistant" else "input_text"
    content = [{"type": part, "text": text}]
    return "response_item", {"type": "message", "role": role, "content": content}


def item(text, kind="completed", turn="t1", **fields):
    message = {"type": "agentMessage", "id": text, "text": text} | fields
    return event(f"item_{kind}", turn_id=turn, item=message)


def call(call_id, type_="function_call"):
    return "response_item", {"type": type_, "call_id": call_id, "name": "n"}


def output(call_id, type_="function_call_output", text="done"):
    return "response_item", {"type": type_, "call_id": call_id, "output": text}


def compacted(*texts):
    return "compacted", {"message": "m", "replacement_history": [says(text)[1] for text in texts]}


def brief(history):
    """Return a history as words: texts of messages, `type:call_id` of the rest."""
    return [
        each["content"][0]["text"]
        if each["type"] == "message"
        else f"{each['type']}:{each['call_id']}"
        for each in history
    ]


def rollback(turns):
    return event("rollback", num_turns=turns)


def three_turns():
    return [
        says("context"),
        *(begin("t1"), says("one"), item("one"), end("t1")),
        *(begin("t2"), says("two"), item("two", turn="t2"), end("t2")),
        *(begin("t3"), says("three"), item("three", turn="t3"), end("t3")),
    ]


def test_history_is_the_response_items_in_order():
    stored = records(
        ("session_meta", {"id": "x"}), begin(), says("a"), ("turn_context", {}), says("b"), end()
    )
    assert brief(read_history(stored)) == ["a", "b"]


def test_compaction_replaces_everything_before_it():
    stored = records(says("a"), says("b"), compacted("summary"), says("c"))
    assert brief(read_history(stored)) == ["summary", "c"]


@pytest.mark.parametrize(
    ("turns", "left", "turn_ids"),
    [
        (0, ["context", "one", "two", "three"], ["t1", "t2", "t3"]),
        (1, ["context", "one", "two"], ["t1", "t2"]),
        (2, ["context", "one"], ["t1"]),
        (3, ["context"], []),
        (9, ["context"], []),
    ],
)
def test_rollback_drops_the_last_turns(turns, left, turn_ids):
    stored = records(*three_turns(), rollback(turns))
    assert brief(read_history(stored)) == left
    assert [turn["id"] for turn in read_turns(stored)] == turn_ids


def test_rollbacks_add_up_and_new_turns_follow_them():
    stored = records(
        *three_turns(),
        rollback(1),
        begin("t4"),
        says("four"),
        rollback(1),
        rollback(1),
        begin("t5"),
        says("five"),
    )
    assert brief(read_history(stored)) == ["context", "one", "five"]
    assert [turn["id"] for turn in read_turns(stored)] == ["t1", "t5"]


def test_rolling_back_a_turn_takes_back_its_compaction():
    stored = records(
        *(begin("t1"), says("one"), end("t1")),
        *(begin("t2"), says("two"), compacted("summary"), says("more"), end("t2")),
        *(begin("t3"), says("three"), end("t3")),
    )
    assert brief(read_history(stored)) == ["summary", "more", "three"]
    assert brief(read_history([*stored, *records(rollback(1))])) == ["summary", "more"]
    assert brief(read_history([*stored, *records(rollback(2))])) == ["one"]


ANSWERS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "function_call_output",
    "tool_search_call": "tool_search_output",
}


@pytest.mark.parametrize(("type_", "answer"), ANSWERS.items(), ids=ANSWERS)
def test_a_call_cut_short_is_answered_aborted_right_after_it(type_, answer):
    history = read_history(records(call("c", type_), says("next")))
    assert brief(history) == [f"{type_}:c", f"{answer}:c", "next"]
    if type_ == "tool_search_call":
        assert history[1]["tools"] == []
    else:
        assert history[1]["output"] == "aborted"


def test_the_output_of_a_parallel_call_may_come_later():
    stored = records(call("a"), call("b"), call("c"), output("b"), output("a"), says("next"))
    assert brief(read_history(stored)) == [
        *("function_call:a", "function_call:b", "function_call:c", "function_call_output:c"),
        *("function_call_output:b", "function_call_output:a", "next"),
    ]


@pytest.mark.parametrize(
    "stray",
    [
        [output("nobody")],
        [output("c"), call("c"), output("c")],
        [call("c"), output("c"), output("c")],
        [call("c"), output("c", "custom_tool_call_output"), output("c")],
    ],
    ids=["no call", "before its call", "twice", "of another kind"],
)
def test_outputs_without_a_call_are_dropped(stray):
    history = brief(read_history(records(says("a"), *stray)))
    assert history in (["a"], ["a", "function_call:c", "function_call_output:c"])


def test_a_search_the_provider_runs_needs_no_answer():
    hosted = ("response_item", {"type": "tool_search_call", "call_id": "c", "execution": "server"})
    assert len(read_history(records(hosted))) == 1


def test_mending_a_history_leaves_the_records_alone():
    stored = records(call("a"), says("b"))
    before = json.dumps(stored)
    read_history(stored)
    assert json.dumps(stored) == before


ENTRIES = st.one_of(
    st.sampled_from([begin(), end(), compacted("s"), rollback(1), rollback(2), says("m")]),
    st.builds(call, st.sampled_from("abc"), st.sampled_from(sorted(ANSWERS))),
    st.builds(output, st.sampled_from("abc"), st.sampled_from(sorted(set(ANSWERS.values())))),
)


@settings(deadline=None)
@given(st.lists(ENTRIES, max_size=25))
def test_any_records_give_a_well_formed_history(entries):
    history = read_history(records(*entries))
    waiting = []
    for each in history:
        if each["type"] in ANSWERS:
            waiting.append((ANSWERS[each["type"]], each["call_id"]))
        elif each["type"] in ANSWERS.values():
            waiting.remove((each["type"], each["call_id"]))
    assert waiting == []
    again = [("response_item", each) for each in history]
    assert read_history(records(*again)) == history


def test_turns_carry_their_items_status_and_times():
    command = {"type": "commandExecution", "id": "c", "status": "inProgress"}
    stored = records(
        begin("t1"),
        event("item_started", turn_id="t1", item=command),
        item("hello"),
        event("item_completed", turn_id="t1", item=command | {"status": "completed"}),
        end("t1", duration_ms=4000, error=None),
        begin("t2"),
        event("turn_aborted", turn_id="t2", reason="interrupted", duration_ms=1),
    )
    first, second = read_turns(stored)
    assert [each["id"] for each in first["items"]] == ["c", "hello"]
    assert first["items"][0]["status"] == "completed"
    assert (first["status"], first["error"], first["durationMs"]) == ("completed", None, 4000)
    assert first["completedAt"] - first["startedAt"] == 4
    assert (second["status"], second["items"]) == ("interrupted", [])


def test_a_turn_that_never_ended_was_interrupted_and_what_it_did_failed():
    command = {"type": "commandExecution", "id": "c", "status": "inProgress"}
    stored = records(
        begin(),
        event("item_started", turn_id="t1", item=command),
        item("half a wo", kind="started"),
    )
    (turn,) = read_turns(stored)
    assert (turn["status"], turn["completedAt"]) == ("interrupted", None)
    assert turn["items"] == [command | {"status": "failed"}]


@pytest.mark.parametrize(
    ("events", "status", "message"),
    [
        ([end(error={"message": "quota"})], "failed", "quota"),
        ([event("error", turn_id="t1", error={"message": "cut"}), end()], "failed", "cut"),
        (
            [event("error", turn_id="t1", error={"message": "cut"}, will_retry=True), end()],
            *("completed", None),
        ),
        (
            [event("error", turn_id="t1", error={"message": "cut"}), end(error=None)],
            *("completed", None),
        ),
    ],
    ids=["says so", "after an error", "after a retry", "recovered"],
)
def test_a_turn_fails_with_its_last_error(events, status, message):
    (turn,) = read_turns(records(begin(), *events))
    assert turn["status"] == status
    assert (turn["error"] or {}).get("message") == message


def test_usage_is_what_the_last_record_says():
    ours = {"thread": {"totalTokens": 7, "inputTokens": 5, "outputTokens": 2}}
    codex = {"thread_token_usage": {"total_tokens": 9, "input_tokens": 6}}
    assert spent_so_far([]).tokens["totalTokens"] == 0
    assert spent_so_far(records(("token_usage_record", ours))).tokens["inputTokens"] == 5
    both = records(("token_usage_record", ours), ("token_usage_record", codex))
    spent = spent_so_far(both).tokens
    assert (spent["totalTokens"], spent["outputTokens"]) == (9, 0)


def test_a_fork_is_a_whole_thread_of_its_own(tmp_path):
    store = JsonlStore(PluginContext(home=tmp_path, config={}))
    origin = {
        "id": "old",
        "name": "first",
        "cwd": "/w",
        "parent_thread_id": "p",
        "model_provider": "mock",
    }
    entries = [
        ("session_meta", origin),
        *three_turns(),
        event("thread_name", name="mine", thread_id="old"),
        event("note", thread_id="old"),
    ]
    writer = store.create("old", created_at=0)
    for type_, payload in entries:
        writer.append(type_, payload)
    writer.close()
    fork = store.create("new", created_at=0)
    for type_, payload in copy_for_fork(store.read("old"), "new", {"cwd": "/else"}):
        fork.append(type_, payload)
    fork.close()
    before = store.read("old")
    store.delete("old")
    copied = store.read("new")
    assert [record["ordinal"] for record in copied] == list(range(len(copied)))
    meta = copied[0]["payload"]
    assert (meta["id"], meta["forked_from_id"], meta["cwd"]) == ("new", "old", "/else")
    assert (meta["model_provider"], "parent_thread_id" in meta) == ("mock", False)
    assert read_history(copied) == read_history(before)
    assert [t["items"] for t in read_turns(copied)] == [t["items"] for t in read_turns(before)]
    assert copied[-1]["payload"]["thread_id"] == "new"
    assert store.find("new").name is None


@pytest.fixture(scope="module")
def codex_records():
    if not EXAMPLES.exists():
        pytest.skip(f"the recorded Codex rollouts are not at {EXAMPLES}")
    return [json.loads(line) for line in EXAMPLES.read_text().splitlines()]


def test_history_recorded_by_codex_is_read_without_its_private_notes(codex_records):
    history = read_history(codex_records)
    assert history
    types = {each["type"] for each in history}
    assert {"message", "reasoning", "custom_tool_call", "local_shell_call"} <= types
    assert "additional_tools" not in types
    assert "internal_chat_message_metadata_passthrough" not in json.dumps(
        [list(each) for each in history]
    )


def test_turns_recorded_by_codex_have_times_but_no_items_of_its_form(codex_records):
    for turn in read_turns(codex_records):
        assert turn["items"] == []
    assert spent_so_far(codex_records).tokens["totalTokens"] == 1050


def test_a_fork_made_by_codex_is_read_with_what_it_borrows(tmp_path):
    """Codex's forks hold no copy: two generations are joined, up to where each one left."""
    store = JsonlStore(PluginContext(home=tmp_path, config={}))

    def write(thread_id, meta, *entries, start=0):
        writer = store.create(thread_id, created_at=0)
        writer.append("session_meta", {"id": thread_id, **meta})
        writer.close()
        path = Path(store.find(thread_id).path)
        lines = [json.loads(path.read_text()), *records(*entries)]
        for ordinal, line in enumerate(lines, start=start):
            line["ordinal"] = ordinal
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    write("a", {"cwd": "/a"}, says("one"), says("two"), says("left out"))
    write("b", borrowed("a", 3), says("three"), says("left out"), start=3)
    write("c", borrowed("b", 5) | {"cwd": "/c"}, says("four"), start=5)
    assert brief(read_history(store.read("c"))) == ["one", "two", "three", "four"]
    assert store.read("c")[0]["payload"]["cwd"] == "/c"
    fork = list(copy_for_fork(store.read("c"), "d"))
    assert "forked_from_ordinal_exclusive" not in fork[0][1]
    store.delete("a")
    with pytest.raises(StoreError, match="continues thread a, which is not stored here"):
        store.read("c")


def borrowed(parent, until):
    return {"forked_from_id": parent, "forked_from_ordinal_exclusive": until}
