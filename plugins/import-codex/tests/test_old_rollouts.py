"""Rollouts of old versions come over as well; the files under `rollouts/` are recorded ones."""

from __future__ import annotations

import json

import pytest


def said(items):
    return [
        part.get("text", "")
        for item in items
        if item["type"] == "message"
        for part in item["content"]
    ]


@pytest.fixture
def shown(ferrule_home):
    def shown(thread_id):
        told = json.loads(ferrule_home.run("threads", "show", "--json", thread_id).stdout)
        return told["turns"] if isinstance(told, dict) else told

    return shown


@pytest.mark.parametrize("version", ["0.22.0", "0.98.0"])
def test_it_goes_on_from_all_that_was_said(bare_home, bring, old_rollout, go_on, version):
    thread_id = old_rollout(bare_home, version)
    assert bring(bare_home)["ok"]
    items = go_on(thread_id, provider="scripted")
    words = said(items)
    assert items[0]["role"] == "developer"
    assert words.index("remember cherries") < words.index("go on")
    calls = [item["call_id"] for item in items if item["type"].endswith("_call")]
    outputs = [item["call_id"] for item in items if item["type"].endswith("_call_output")]
    assert calls
    assert sorted(calls) == sorted(outputs)
    assert not [item for item in items if "id" in item and item["id"] is None]
    assert not [item for item in items if item["type"] == "reasoning"]


def test_the_base_prompt_is_the_one_it_was_begun_with(bare_home, bring, old_rollout, go_on):
    thread_id = old_rollout(bare_home, "0.98.0")
    bring(bare_home)
    assert said(go_on(thread_id, provider="scripted"))[0] == "BASE PROMPT OF 0.98"


def test_turns_and_items_are_made_of_the_messages(bare_home, bring, old_rollout, shown):
    thread_id = old_rollout(bare_home, "0.98.0")
    bring(bare_home)
    first, second = shown(thread_id)
    assert [item["type"] for item in first["items"]] == [
        "userMessage",
        "reasoning",
        "commandExecution",
        "commandExecution",
        "dynamicToolCall",
        "dynamicToolCall",
        "agentMessage",
    ]
    commands = [item for item in first["items"] if item["type"] == "commandExecution"]
    assert [command["exitCode"] for command in commands] == [3, 3]
    assert second["items"][-1]["text"] == "Second: dates."
    assert {first["status"], second["status"]} == {"completed"}


def test_the_first_version_has_its_folder_and_its_turn(
    bare_home, bring, old_rollout, shown, run_ferrule
):
    thread_id = old_rollout(bare_home, "0.22.0")
    bring(bare_home)
    (listed,) = json.loads(run_ferrule("threads", "list", "--all", "--json").stdout)
    assert (listed["preview"], listed["thread_id"]) == ("remember cherries", thread_id)
    assert listed["cwd"] == "/work/project"
    (turn,) = shown(thread_id)
    assert turn["items"][0]["type"] == "userMessage"


def test_tokens_are_counted_from_the_events(bare_home, bring, old_rollout, run_ferrule):
    old_rollout(bare_home, "0.98.0")
    bring(bare_home)
    (listed,) = json.loads(run_ferrule("threads", "list", "--all", "--json").stdout)
    assert listed["total_tokens"] == 550


META = {
    "id": "old-1",
    "timestamp": "2025-01-02T03:04:05Z",
    "cwd": "/w",
    "originator": "codex_cli_rs",
}


def user(words):
    content = [{"type": "input_text", "text": words}]
    return [
        ("response_item", {"type": "message", "role": "user", "content": content}),
        ("event_msg", {"type": "user_message", "message": words}),
    ]


def agent(words):
    content = [{"type": "output_text", "text": words}]
    return [
        ("event_msg", {"type": "agent_message", "message": words}),
        ("response_item", {"type": "message", "role": "assistant", "content": content}),
    ]


@pytest.fixture
def write(bare_home):
    """Write a rollout in the old form."""

    def write(*records, meta=META):
        folder = bare_home / "sessions/2025/01/02"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            json.dumps({"timestamp": META["timestamp"], "type": type_, "payload": payload})
            for type_, payload in [("session_meta", meta), *records]
        ]
        file = folder / f"rollout-2025-01-02T03-04-05-{meta['id']}.jsonl"
        file.write_text("\n".join(lines) + "\n")

    return write


def test_a_rolled_back_turn_is_forgotten(bare_home, bring, go_on, write):
    back = ("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    write(*user("first"), *agent("one"), *user("second"), *agent("two"), back, *user("third"))
    bring(bare_home)
    words = said(go_on("old-1", provider="scripted"))
    assert {"first", "one", "third"} <= set(words)
    assert not {"second", "two"} & set(words)


def test_a_compaction_without_a_history_keeps_what_the_user_said(bare_home, bring, go_on, write):
    write(*user("first"), *agent("one"), ("compacted", {"message": "IN SHORT"}), *user("second"))
    bring(bare_home)
    words = said(go_on("old-1", provider="scripted"))
    assert "one" not in words
    assert words.index("first") < words.index("IN SHORT") < words.index("second")


def test_a_compaction_that_cannot_be_read_is_undone(bare_home, bring, go_on, write, statuses):
    sealed = [{"type": "compaction", "encrypted_content": "c2VhbGVk"}]
    compacted = ("compacted", {"message": "", "replacement_history": sealed})
    write(*user("first"), *agent("one"), compacted, *user("second"))
    assert statuses(bring(bare_home), "sessions") == {"old-1": "changed"}
    words = said(go_on("old-1", provider="scripted"))
    assert [word for word in words if word in ("first", "one", "second")] == [
        "first",
        "one",
        "second",
    ]


def test_a_subagent_is_no_thread_of_its_own_in_listings(bare_home, bring, write, run_ferrule):
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "old-0", "depth": 1}}}
    write(*user("sub"), meta={**META, "source": spawned})
    bring(bare_home)
    assert json.loads(run_ferrule("threads", "list", "--all", "--json").stdout) == []
    assert run_ferrule("threads", "show", "old-1").returncode == 0
