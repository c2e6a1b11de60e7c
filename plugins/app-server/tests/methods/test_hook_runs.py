"""Clients see the user's hooks run."""

from __future__ import annotations

import json

import pytest

from ferrule_testkit.model_items import message


@pytest.fixture
def prompt(client, model_server, ferrule_home):
    """Trust a hook of UserPromptSubmit that runs a script, and send a prompt past it."""

    def send(script: str) -> str:
        hook = {"type": "command", "command": script}
        file = ferrule_home.path / "hooks.json"
        file.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
        [entry] = client.call("hooks/list")["data"]
        [told] = entry["hooks"]
        trust = {told["key"]: {"trusted_hash": told["currentHash"]}}
        client.call(
            "config/value/write", keyPath="hooks.state", value=trust, mergeStrategy="upsert"
        )
        model_server.play([[message("hello")]])
        thread = client.call("thread/start")["thread"]["id"]
        text = [{"type": "text", "text": "hi"}]
        client.call("turn/start", threadId=thread, input=text)
        return thread

    return send


def test_a_hook_is_told_of_when_it_starts_and_ends(client, prompt):
    thread = prompt("echo from the hook")
    started = client.told("hook/started", threadId=thread)
    ended = client.told("hook/completed", threadId=thread)
    assert started["run"]["status"] == "running"
    assert (ended["run"]["id"], ended["turnId"]) == (started["run"]["id"], started["turnId"])
    assert (ended["run"]["eventName"], ended["run"]["status"]) == ("userPromptSubmit", "completed")
    assert ended["run"]["entries"] == [{"kind": "context", "text": "from the hook"}]


@pytest.mark.parametrize(
    ("script", "status", "kind"),
    [("echo no >&2; exit 2", "blocked", "feedback"), ("exit 3", "failed", "error")],
    ids=["refuses", "fails"],
)
def test_what_a_hook_did_is_told(client, prompt, script, status, kind):
    prompt(script)
    run = client.told("hook/completed")["run"]
    assert (run["status"], run["entries"][0]["kind"]) == (status, kind)
