"""Streamable HTTP: who may come in, and that everything works as over stdin and stdout."""

import socket
import subprocess
from contextlib import contextmanager

import anyio
import httpx
import pytest
from mcp import Client

from ferrule_testkit.surroundings import free_port

ASKING = {"prompt": "go", "approval-policy": "on-request"}
TOKEN = "a-token-that-is-long-enough"
HEADERS = {"Accept": "application/json, text/event-stream"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tester", "version": "1"},
    },
}


@contextmanager
def listening(stage, *options, host="127.0.0.1"):
    """Run `ferrule mcp-server --http`; yields its URL."""
    command = stage.home.command(["mcp-server", "--http", f"{host}:0", *options])
    with subprocess.Popen(
        command,
        cwd=stage.home.workspace,
        env=stage.home.environ,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            lines = (line for line in process.stderr)
            yield next(line.split()[-1] for line in lines if "listening on" in line)
        finally:
            process.terminate()
            assert process.wait(120) == 0


@pytest.fixture
def token_file(tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    return str(file)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_approvals_are_asked_for_over_http(stage, escalated, mode):
    turns = [escalated, "accepted", "again", escalated, "declined", escalated]
    stage.play(*turns)

    async def conversation(url):
        answers = iter(
            [
                stage.say("accept", decision="approved"),
                stage.say("decline"),
                stage.say("cancel"),
            ]
        )

        async def elicit(context, params):
            return await next(answers)(context, params)

        async with Client(url, mode=mode, elicitation_callback=elicit) as client:
            one = await client.call_tool("codex", ASKING)
            thread_id = one.structured_content["threadId"]
            two = await client.call_tool("codex-reply", {"prompt": "x", "threadId": thread_id})
            three = await client.call_tool("codex", ASKING)
            four = await client.call_tool("codex", ASKING)

        said = [each.structured_content["content"] for each in (one, two, three, four)]
        assert said == ["accepted", "again", "declined", "The turn was interrupted."]
        assert [each.is_error for each in (one, two, three, four)] == [False, False, False, True]

    with listening(stage) as url:
        anyio.run(conversation, url)
    assert len(stage.asked) == 3


def test_pages_from_elsewhere_stay_outside(stage):
    allowed = "http://localhost:3000"
    stage.home.configure(tables=f'[transports.http]\nallowed_origins = ["{allowed}"]\n')

    with listening(stage) as url, httpx.Client(headers=HEADERS, timeout=120) as client:

        def status(**headers):
            return client.post(url, json=HELLO, headers=headers).status_code

        assert status() == 200
        assert status(Origin=allowed) == 200
        assert status(Origin="http://evil.example") == 403
        assert status(Host="evil.example") == 403
        assert client.get(url.replace("/mcp", "/other")).status_code == 404

        def preflight(origin):
            asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            asked["Access-Control-Request-Headers"] = "content-type, mcp-session-id"
            return client.options(url, headers=asked).headers.get("Access-Control-Allow-Origin")

        assert preflight(allowed) == allowed
        assert preflight("http://evil.example") is None
        answer = client.post(url, json=HELLO, headers={"Origin": allowed})
        assert answer.headers["Access-Control-Allow-Origin"] == allowed


def test_a_door_that_others_reach_needs_a_token(stage, token_file):
    refused = stage.home.run("mcp-server", "--http", "0.0.0.0:0")
    assert refused.returncode == 1
    assert "can be reached from other machines" in refused.stderr

    options = ("--ws-auth", "capability-token", "--ws-token-file", token_file)
    with (
        listening(stage, *options, host="0.0.0.0") as url,
        httpx.Client(headers=HEADERS, timeout=120) as client,
    ):
        url = url.replace("0.0.0.0", "127.0.0.1")

        def status(**headers):
            return client.post(url, json=HELLO, headers=headers).status_code

        assert status() == 401
        assert status(Authorization="Bearer wrong-token-of-some-length") == 401
        assert status(Authorization=f"Bearer {TOKEN}") == 200


@pytest.mark.slow
def test_sessions_have_an_end_and_cannot_be_guessed(stage):
    with listening(stage) as url, httpx.Client(headers=HEADERS, timeout=120) as client:
        session = client.post(url, json=HELLO).headers["mcp-session-id"]
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}

        def status(session_id):
            return client.post(url, json=ping, headers={"mcp-session-id": session_id}).status_code

        assert status(session) == 200
        assert status("0" * len(session)) == 404
        assert client.delete(url, headers={"mcp-session-id": session}).status_code == 200
        assert status(session) == 404


@pytest.mark.slow
def test_what_was_missed_is_sent_to_a_client_that_comes_back(stage):
    stage.play("the answer")

    async def conversation(url):
        async with httpx.AsyncClient(headers=HEADERS, timeout=120) as client:
            opened = await client.post(url, json=HELLO)
            session = {"mcp-session-id": opened.headers["mcp-session-id"]}
            call = {
                "jsonrpc": "2.0",
                "id": 7,
                "method": "tools/call",
                "params": {"name": "codex", "arguments": {"prompt": "go"}},
            }
            seen = None
            async with client.stream("POST", url, json=call, headers=session) as stream:
                async for line in stream.aiter_lines():
                    if line.startswith("id:"):
                        seen = line.partition(":")[2].strip()
                    if "session_configured" in line:
                        break  # the connection breaks here
            back = {**session, "Last-Event-ID": seen or ""}
            async with client.stream("GET", url, headers=back) as stream:
                async for line in stream.aiter_lines():
                    if '"id":7' in line.replace(" ", ""):
                        assert "the answer" in line
                        return

    with listening(stage) as url:
        anyio.run(conversation, url)


def test_a_token_without_a_door_is_a_mistake(stage, token_file):
    run = stage.home.run("mcp-server", "--ws-token-file", token_file)
    assert run.returncode == 2
    assert "--ws-token-file goes with --http" in run.stderr


@pytest.mark.slow
def test_a_place_that_is_taken_is_named(stage):
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        port = taken.getsockname()[1]
        run = stage.home.run("mcp-server", "--http", f"127.0.0.1:{port}")
    assert run.returncode == 1
    assert f"cannot listen at port {port} of 127.0.0.1" in run.stderr
