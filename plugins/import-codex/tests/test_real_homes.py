"""A home that the real Codex made comes over: its threads continue, and it is not touched."""

from __future__ import annotations

import json
import tomllib

import pytest


def texts(items, role=None):
    """What messages say, in order."""
    return [
        part.get("text", "")
        for item in items
        if item["type"] == "message" and role in (None, item["role"])
        for part in item["content"]
    ]


def well_formed(items):
    calls = [item["call_id"] for item in items if item["type"].endswith("_call")]
    outputs = [item["call_id"] for item in items if item["type"].endswith("_call_output")]
    return sorted(calls) == sorted(outputs)


def in_order(words, *wanted):
    places = [next(at for at, word in enumerate(words) if want in word) for want in wanted]
    return places == sorted(places)


@pytest.fixture
def brought(codex_home, fresh_ferrule, bring):
    report = bring(codex_home.path)
    assert report["ok"], report
    return codex_home


def test_every_thread_comes_over_and_nothing_of_the_source_changes(
    codex_home, fresh_ferrule, bring, statuses, fingerprint
):
    before = fingerprint(codex_home.path)
    report = bring(codex_home.path)
    assert fingerprint(codex_home.path) == before
    found = statuses(report, "sessions")
    assert {found[thread] for thread in codex_home.threads.values()} == {"taken"}


def test_a_thread_with_tools_goes_on_with_all_the_model_saw(brought, go_on):
    items = go_on(brought.threads["tools"])
    assert items[0]["role"] == "developer"
    assert "Codex" in texts(items[:1])[0]
    assert in_order(texts(items), "remember apples", "Done: apples.", "remember pears", "Pears.")
    assert texts(items)[-1] == "go on"
    assert well_formed(items)
    names = [item["name"] for item in items if item["type"].endswith("_call")]
    assert names == ["exec_command", "update_plan", "apply_patch"]
    assert (
        "hello" in next(each for each in items if each["type"] == "function_call_output")["output"]
    )
    assert not any("internal_chat_message_metadata_passthrough" in item for item in items)


def test_the_same_provider_gets_its_encrypted_reasoning_back(brought, go_on):
    items = go_on(brought.threads["tools"])
    (found,) = [item for item in items if item["type"] == "reasoning"]
    assert found["encrypted_content"] == "c2VhbGVk"


def test_another_provider_gets_no_reasoning_it_cannot_read(codex_home, bring, go_on, statuses):
    report = bring(codex_home.path, "--only", "sessions")
    thread = codex_home.threads["tools"]
    assert statuses(report, "sessions")[thread] == "changed"
    items = go_on(thread, provider="scripted")
    assert not [item for item in items if item["type"] == "reasoning"]
    assert "Done: apples." in texts(items)
    assert well_formed(items)


def test_a_fork_of_a_fork_holds_all_it_descends_from(brought, go_on, ferrule_home):
    items = go_on(brought.threads["fork"])
    said = texts(items)
    assert in_order(said, "remember apples", "Pears.", "remember plums", "Plums.", "remember figs")
    assert said.count("remember apples") == 1
    assert "remember kiwis" not in said  # its parent went on after the fork
    assert well_formed(items)


def test_a_compacted_thread_goes_on_from_its_summary(brought, go_on):
    items = go_on(brought.threads["compacted"])
    said = texts(items)
    assert "Codex" in said[0]
    assert any("SUMMARY" in words for words in said)
    assert in_order(said, "long work", "SUMMARY", "On I go.", "go on")
    assert not [item for item in items if item["type"] == "function_call"]


def test_an_archived_thread_stays_archived(brought, ferrule_home):
    thread = brought.threads["archived"]
    assert thread not in ferrule_home.run("threads", "list", "--all").stdout
    assert thread in ferrule_home.run("threads", "list", "--all", "--archived").stdout
    assert "archived" in ferrule_home.run("exec", "resume", thread, "go on").stderr


def test_listings_show_times_names_and_tokens(codex_home, fresh_ferrule, bring, ferrule_home):
    thread = codex_home.threads["compacted"]
    index = codex_home.path / "session_index.jsonl"
    index.write_text(json.dumps({"id": thread, "thread_name": "The long one"}) + "\n")
    bring(codex_home.path)
    listed = json.loads(ferrule_home.run("threads", "list", "--all", "--json").stdout)
    (found,) = [each for each in listed if each["thread_id"] == thread]
    (rollout,) = (codex_home.path / "sessions").rglob(f"*{thread}.jsonl")
    last = json.loads(rollout.read_text().splitlines()[-1])
    assert found["name"] == "The long one"
    assert found["preview"] == "long work"
    assert found["cwd"] == str(codex_home.workspace)
    assert found["total_tokens"] == 300_270
    assert found["model"] == "gpt-5.5"
    assert last["timestamp"].startswith("20")
    assert found["updated_at"] - found["created_at"] < 60


def test_transcripts_show_what_happened(brought, ferrule_home):
    shown = json.loads(
        ferrule_home.run("threads", "show", "--json", brought.threads["tools"]).stdout
    )
    turns = shown["turns"] if isinstance(shown, dict) else shown
    kinds = [item["type"] for item in turns[0]["items"]]
    assert kinds[0] == "userMessage"
    assert {"reasoning", "commandExecution", "fileChange", "agentMessage"} <= set(kinds)
    assert [turn["status"] for turn in turns] == ["completed"] * 3
    (command,) = [item for item in turns[0]["items"] if item["type"] == "commandExecution"]
    assert (command["exitCode"], command["aggregatedOutput"]) == (0, "hello\n")


def test_a_second_import_finds_everything_there(codex_home, fresh_ferrule, bring, statuses):
    bring(codex_home.path)
    config = (fresh_ferrule.path / "config.toml").read_bytes()
    rollouts = {path: path.read_bytes() for path in fresh_ferrule.path.rglob("*.jsonl")}
    again = bring(codex_home.path)
    assert set(statuses(again, "sessions").values()) == {"present"}
    assert (fresh_ferrule.path / "config.toml").read_bytes() == config
    assert {path: path.read_bytes() for path in fresh_ferrule.path.rglob("*.jsonl")} == rollouts
    assert not list(fresh_ferrule.path.rglob("*backup*"))


def test_files_come_over_byte_for_byte(brought, ferrule_home):
    for name in ("rules/default.rules", "skills/greet/SKILL.md", "prompts/review.md", "AGENTS.md"):
        assert (ferrule_home.path / name).read_bytes() == (brought.path / name).read_bytes()
    assert (ferrule_home.path / "skills/greet/run.sh").stat().st_mode & 0o100
    assert not (ferrule_home.path / "skills/.system").exists()
    assert not (ferrule_home.path / "hooks.json").exists()
    assert (ferrule_home.path / "hooks.json.imported").exists()


def test_credentials_stay_where_they_are(brought, ferrule_home):
    assert (brought.path / "auth.json").exists()
    kept = [path for path in ferrule_home.path.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"sk-not-a-real-key" in path.read_bytes()]


def test_the_configuration_keeps_its_comments_and_holds_profiles_and_servers(brought, ferrule_home):
    text = (ferrule_home.path / "config.toml").read_text()
    assert "# the one I like" in text
    values = tomllib.loads(text)
    assert values["mcp_servers"]["web"]["bearer_token_env_var"] == "WEB_TOKEN"
    assert values["projects"][str(brought.workspace)]["trust_level"] == "trusted"
    profile = tomllib.loads((ferrule_home.path / "work.config.toml").read_text())
    assert profile == {"model_reasoning_effort": "high"}
    assert (ferrule_home.path / "config.toml").stat().st_mode & 0o077 == 0


def test_the_report_names_every_key_and_no_secret(codex_home, fresh_ferrule, bring):
    report = bring(codex_home.path)
    named = {finding["name"] for finding in report["findings"]}
    assert {
        "model",
        "model_providers.mock.base_url",
        "tools.update_plan.enabled",
        f'projects."{codex_home.workspace}".trust_level',
        "mcp_servers.demo.command",
        "mcp_servers.demo.env.TOKEN",
        "mcp_servers.web.url",
        "work.config.toml: model_reasoning_effort",
    } <= named
    assert "auth.json" in named
    assert "sekret-value" not in json.dumps(report)
    (written,) = fresh_ferrule.path.glob("import-report-*.json")
    assert json.loads(written.read_text()) == report


def test_a_dry_run_tells_the_same_and_writes_nothing(codex_home, fresh_ferrule, bring, fingerprint):
    before = fingerprint(fresh_ferrule.path)
    told = bring(codex_home.path, "--dry-run")
    new = {path.name for path in fresh_ferrule.path.rglob("*") if str(path) not in before}
    assert new <= {"origins.json", "index.sqlite", "index.sqlite.lock"}  # derived by the kernel
    done = bring(codex_home.path)
    assert told["findings"] == done["findings"]


def test_single_areas_can_be_brought_over(codex_home, fresh_ferrule, bring):
    report = bring(codex_home.path, "--only", "mcp,rules")
    values = tomllib.loads((fresh_ferrule.path / "config.toml").read_text())
    assert set(values) == {"mcp_servers"}
    assert {finding["area"] for finding in report["findings"]} == {"mcp", "rules", "other"}
    assert not (fresh_ferrule.path / "sessions").exists()


def test_the_newest_threads_can_be_brought_over_alone(codex_home, fresh_ferrule, bring, statuses):
    report = bring(codex_home.path, "--only", "sessions", "--limit", "1")
    taken = [name for name, status in statuses(report, "sessions").items() if status != "left"]
    assert taken == [codex_home.threads["archived"]]
    later = bring(codex_home.path, "--only", "sessions", "--since", "2099-01-01")
    assert set(statuses(later, "sessions").values()) == {"left"}
