"""A home may hold anything: nothing leads out of it, stops the import, or is taken on trust."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

SECRET = "the secret of another folder"


def line(type_, payload, **more):
    stamp = "2026-01-02T03:04:05.000Z"
    return json.dumps({"timestamp": stamp, "type": type_, "payload": payload, **more})


def meta(thread_id, **more):
    known = {"id": thread_id, "timestamp": "2026-01-02T03:04:05Z", "cwd": "/w"}
    return line("session_meta", {**known, "history_mode": "paginated", **more})


def said(words):
    content = [{"type": "input_text", "text": words}]
    return line("response_item", {"type": "message", "role": "user", "content": content})


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.rules").write_text(SECRET)
    (folder / "rollout-2026-01-02T03-04-05-linked.jsonl").write_text(
        meta("linked") + "\n" + said(SECRET) + "\n"
    )
    (folder / "config.toml").write_text(f'model = "{SECRET}"\n')
    return folder


@pytest.fixture
def sessions(bare_home):
    folder = bare_home / "sessions/2026/01/02"
    folder.mkdir(parents=True)
    return folder


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_links_are_not_followed_and_told(
    bare_home, outside, sessions, fresh_ferrule, bring, statuses
):
    (bare_home / "config.toml").symlink_to(outside / "config.toml")
    (bare_home / "AGENTS.md").symlink_to(outside / "secret.rules")
    (bare_home / "rules").symlink_to(outside)
    (bare_home / "skills").mkdir()
    (bare_home / "skills" / "one").symlink_to(outside)
    (bare_home / "prompts").mkdir()
    (bare_home / "prompts" / "up.md").symlink_to("../../outside/secret.rules")
    (sessions / "rollout-2026-01-02T03-04-05-linked.jsonl").symlink_to(
        outside / "rollout-2026-01-02T03-04-05-linked.jsonl"
    )
    (bare_home / "archived_sessions").symlink_to(outside)
    report = bring(bare_home)
    told = {finding["name"]: finding["note"] for finding in report["findings"]}
    for name in ("config.toml", "AGENTS.md", "rules", "skills/one", "prompts/up.md"):
        assert "link" in told[name], name
    assert "link" in told["archived_sessions"]
    assert SECRET not in json.dumps(report)
    assert not [
        path
        for path in files_below(fresh_ferrule.path)
        if SECRET in path.read_text("utf-8", "replace")
    ]


def test_pipes_and_junk_neither_stop_it_nor_come_over(
    bare_home, sessions, bring, statuses, fresh_ferrule
):
    os.mkfifo(bare_home / "config.toml")
    (bare_home / "rules").mkdir()
    os.mkfifo(bare_home / "rules/pipe.rules")
    (sessions / "rollout-2026-01-02T03-04-05-junk.jsonl").write_bytes(os.urandom(5000))
    (sessions / "rollout-2026-01-02T03-04-05-empty.jsonl").write_bytes(b"")
    (sessions / "rollout-2026-01-02T03-04-05-zero.jsonl").write_bytes(b"\0" * 5000)
    (sessions / "rollout-2026-01-02T03-04-05-packed.jsonl.zst").write_bytes(b"(\xb5/\xfd")
    (sessions / "rollout-2026-01-02T03-04-05-deep.jsonl").write_text("[" * 100_000)
    report = bring(bare_home)
    assert not report["ok"]  # the configuration could not be read
    assert statuses(report, "rules") == {"rules/pipe.rules": "left"}
    assert set(statuses(report, "sessions").values()) == {"left"}
    assert not (fresh_ferrule.path / "sessions").exists()


def test_a_thread_cannot_choose_where_it_is_stored(
    bare_home, sessions, bring, statuses, ferrule_home
):
    bad_ids = ["../../../etc/x", "a/b", "", ".", "-x", "x\n", "é", 7, None, "x" * 300]
    for number, bad in enumerate(bad_ids):
        text = meta(bad) + "\n" + said("x") + "\n"
        (sessions / f"rollout-2026-01-02T03-04-05-{number}.jsonl").write_text(text)
    found = statuses(bring(bare_home), "sessions")
    assert list(found.values()) == ["left"] * len(bad_ids)
    assert not list(ferrule_home.path.rglob("*rollout*"))


def test_damaged_lines_are_left_out_and_named(bare_home, sessions, bring, go_on):
    text = "\n".join(
        [meta("t"), said("one"), '{"cut', said("two"), "\x00\x00", "nonsense", said("three")]
    )
    name = "rollout-2026-01-02T03-04-05-t.jsonl"
    (sessions / name).write_text(text)
    (finding,) = [each for each in bring(bare_home)["findings"] if each["name"] == "t"]
    assert finding["status"] == "damaged"
    assert f"{name}:3" in finding["note"]
    assert f"{name}:6" in finding["note"]
    words = [
        item["content"][0]["text"]
        for item in go_on("t", provider="scripted")
        if item["type"] == "message"
    ]
    assert [word for word in words if word in ("one", "two", "three")] == ["one", "two", "three"]


def test_a_call_whose_answer_is_lost_is_answered(bare_home, sessions, bring, go_on):
    call = {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{}"}
    stray = {"type": "function_call_output", "call_id": "other", "output": "x"}
    text = "\n".join(
        [meta("t"), said("one"), line("response_item", call), line("response_item", stray)]
    )
    (sessions / "rollout-2026-01-02T03-04-05-t.jsonl").write_text(text + "\n")
    bring(bare_home)
    items = go_on("t", provider="scripted")
    assert [item["call_id"] for item in items if item["type"] == "function_call_output"] == ["c"]


def test_records_of_any_shape_do_no_harm(bare_home, sessions, bring, statuses, run_ferrule):
    command = {"type": "CommandExecution", "id": "x", "command": 7, "cwd": [], "duration": 3}
    shapes = [
        {},
        {"type": 7},
        {"type": "item_completed"},
        {"type": "item_completed", "item": command},
        {"type": "item_completed", "item": {"type": "FileChange", "id": "x", "changes": []}},
        {"type": "token_count", "info": "?"},
        {"type": "task_complete"},
        {"type": "turn_aborted"},
        {"type": "thread_rolled_back", "num_turns": "all"},
        {"type": "message", "role": "user", "content": 5},
        {"type": "function_call_output", "output": {"content": 5}},
        {"replacement_history": [5, {}], "thread_token_usage": 5},
    ]
    types = ("event_msg", "response_item", "compacted", "turn_context", "token_usage_record", "?")
    for mode in ("paginated", "legacy"):
        for number, payload in enumerate(shapes):
            thread_id = f"{mode}-{number}"
            lines = [meta(thread_id, history_mode=mode), said("one")]
            lines += [line(type_, payload) for type_ in types]
            file = sessions / f"rollout-2026-01-02T03-04-05-{thread_id}.jsonl"
            file.write_text("\n".join(lines) + "\n")
    found = statuses(bring(bare_home), "sessions")
    assert set(found.values()) <= {"taken", "changed"}
    listed = json.loads(run_ferrule("threads", "list", "--all", "--json").stdout)
    assert len(listed) == 2 * len(shapes)
    assert run_ferrule("threads", "show", "legacy-3").returncode == 0


def test_forks_in_a_circle_and_forks_of_nothing_end(bare_home, sessions, bring, statuses):
    for one, other in (("a", "b"), ("b", "a"), ("c", "gone"), ("d", "d")):
        fork = {"forked_from_id": other, "forked_from_ordinal_exclusive": 5}
        text = meta(one, **fork) + "\n" + said(one) + "\n"
        (sessions / f"rollout-2026-01-02T03-04-05-{one}.jsonl").write_text(text)
    found = statuses(bring(bare_home), "sessions")
    assert found == dict.fromkeys("abcd", "damaged")


def test_a_fork_takes_of_its_ancestors_only_what_was_there(bare_home, sessions, bring, go_on):
    def write(thread_id, start, **fork):
        lines = [meta(thread_id, **fork)]
        lines += [said(f"{thread_id}{number}") for number in range(start + 1, start + 4)]
        records = [json.loads(each) for each in lines]
        for number, record in enumerate(records):
            record["ordinal"] = start + number
        text = "\n".join(json.dumps(record) for record in records)
        (sessions / f"rollout-2026-01-02T03-04-05-{thread_id}.jsonl").write_text(text + "\n")

    write("a", 0)
    write("b", 3, forked_from_id="a", forked_from_ordinal_exclusive=3)
    write("c", 5, forked_from_id="b", forked_from_ordinal_exclusive=5)
    write("d", 2, forked_from_id="c", forked_from_ordinal_exclusive=2)
    bring(bare_home)
    for thread_id, wanted in (
        ("c", ["a1", "a2", "b4", "c6", "c7", "c8"]),
        ("d", ["a1", "d3", "d4", "d5"]),
    ):
        items = go_on(thread_id, provider="scripted")
        words = [item["content"][0]["text"] for item in items if item["role"] == "user"]
        assert words[:-1] == wanted


def test_names_that_move_the_cursor_are_spelt_out(bare_home, run_ferrule):
    (bare_home / "rules").mkdir()
    (bare_home / "rules/\x1b[2Jx.txt").write_text("")
    (bare_home / os.fsdecode(b"\xff\xfe")).write_text("")
    done = run_ferrule("import", "codex", str(bare_home))
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "x.txt" in done.stdout


def test_the_source_cannot_be_the_target(bare_home, ferrule_home):
    for home in (bare_home, bare_home / "inner"):
        done = ferrule_home.run(
            "import", "codex", str(bare_home), environ={"FERRULE_HOME": str(home)}
        )
        assert done.returncode == 1
        assert "must not be changed" in done.stderr


def test_a_signal_ends_it_within_a_large_thread(bare_home, sessions, ferrule_home):
    large = sessions / "rollout-2026-01-02T03-04-05-large.jsonl"
    with large.open("w") as file:
        file.write(meta("large") + "\n")
        piece = (said("x" * 500) + "\n") * 1000
        for _ in range(300):  # far more than is read before the signal comes
            file.write(piece)
    process = subprocess.Popen(
        ferrule_home.command(["import", "codex", str(bare_home)]),
        cwd=ferrule_home.workspace,
        env=ferrule_home.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not (parts := list(ferrule_home.path.rglob(".*.part"))):
        assert time.monotonic() < deadline
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 128 + signal.SIGINT
    assert not parts[0].exists()
    assert not list(ferrule_home.path.rglob("rollout-*"))


def test_a_killed_import_is_gone_on_with(bare_home, sessions, ferrule_home, bring, statuses):
    count = 120
    for number in range(count):
        text = "\n".join([meta(f"t{number}"), *[said("x" * 2000)] * 20])
        (sessions / f"rollout-2026-01-02T03-04-05-t{number}.jsonl").write_text(text + "\n")
    process = subprocess.Popen(
        ferrule_home.command(["import", "codex", str(bare_home)]),
        cwd=ferrule_home.workspace,
        env=ferrule_home.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not list(ferrule_home.path.rglob("rollout-*.jsonl")):
        assert time.monotonic() < deadline
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = statuses(bring(bare_home), "sessions")
    assert set(found.values()) == {"taken", "present"}
    rollouts = list(ferrule_home.path.rglob("rollout-*.jsonl"))
    assert len(rollouts) == count
    assert not list(ferrule_home.path.rglob(".*.part"))
    assert {len(path.read_text().splitlines()) for path in rollouts} == {23}
