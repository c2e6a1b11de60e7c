"""Transcripts of Claude Code and threads of Codex are judged like threads of our own."""

import json

import pytest


def entry(role, part, **more):
    return {
        "type": role,
        "sessionId": "5f6b",
        "uuid": f"u-{part.get('id') or part.get('tool_use_id')}",
        "cwd": "/",
        "message": {"role": role, "content": [part]},
        **more,
    }


def use(id_, name, given):
    return entry("assistant", {"type": "tool_use", "id": id_, "name": name, "input": given})


def result(id_, text, is_error=False):
    part = {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": is_error}
    return entry("user", part)


TRANSCRIPT = [
    {"type": "summary", "summary": "Tidying up", "leafUuid": "u-1"},
    entry("user", {"type": "text", "text": "tidy up"}),
    use("t1", "Bash", {"command": "make all", "description": "Build"}),
    result("t1", "ok"),
    use("t2", "Bash", {"command": "echo hi"}),
    result("t2", "The user doesn't want to proceed with this tool use.", is_error=True),
    use("t3", "Edit", {"file_path": "/a.py", "old_string": "a", "new_string": "b"}),
    use("t4", "Write", {"file_path": "/b.py", "content": "x\n"}),
    use("t5", "Read", {"file_path": "/b.py"}),
]


@pytest.fixture
def write(tmp_path):
    def write(lines, name="past.jsonl"):
        file = tmp_path / name
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + "{cut off")
        return str(file)

    return write


def test_a_transcript_is_judged(rules, replay, write):
    rules("forbidden prefix make\n")

    found = replay(write(TRANSCRIPT))["decisions"]

    assert [one["tool"] for one in found] == [
        "exec_command",
        "exec_command",
        "apply_patch",
        "apply_patch",
    ]
    assert [one["now"]["decision"] for one in found] == ["deny", "allow", "allow", "allow"]
    assert found[1]["recorded"]["answer"] == "declined"
    assert not any(one["changed"] for one in found)


def test_two_policies_are_compared_on_a_transcript(rules, replay, write):
    first, second = rules("forbidden prefix make\n", "a"), rules("", "b")

    found = replay("--policy", first, "--against", second, write(TRANSCRIPT))

    assert found["changed"] == 1


def test_a_thread_of_codex_is_judged_by_what_its_shell_was_given(rules, replay, write):
    rules("forbidden prefix make\nforbidden prefix rm\n")
    context = {"cwd": "/", "approval_policy": "on-request", "sandbox_policy": {"mode": "read-only"}}
    call = {"type": "function_call", "name": "shell", "call_id": "c1"}
    wrapped = json.dumps({"command": ["bash", "-lc", "make all"]})
    local = {"type": "exec", "command": ["rm", "a b"]}
    records = [
        {"type": "session_meta", "payload": {"id": "x", "cwd": "/"}},
        {"type": "turn_context", "payload": context},
        {"type": "response_item", "payload": {**call, "arguments": wrapped}},
        {
            "type": "response_item",
            "payload": {"type": "local_shell_call", "call_id": "c2", "action": local},
        },
    ]

    found = replay(write(records))["decisions"]

    assert [one["command"] for one in found] == ["make all", "rm 'a b'"]
    assert [one["now"]["decision"] for one in found] == ["deny", "deny"]


def test_a_file_of_another_kind_is_named(ferrule_home, write):
    finished = ferrule_home.run("policy", "replay", write([{"a": 1}]))

    assert finished.returncode == 1
    assert "neither a rollout nor a transcript" in finished.stderr
