"""Servers of the network, made with the SDK; and the SDK's own server on stdin and stdout."""

import json

import anyio


def entry(url, **keys):
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"url": url, **keys}.items()]
    return "\n".join(["[mcp_servers.net]", "trusted = true", *lines, ""])


def texts(items):
    return [item["result"]["content"][0]["text"] for item in items]


def test_a_server_is_spoken_with_over_http(talk, http, port):
    with http(port) as url:
        talk.configure(entry(url))
        talk.answers["form"] = {"action": "accept", "content": {"name": "Ada"}}

        items = talk.run(
            ("mcp__net__echo", {"text": "hi"}),
            ("mcp__net__greet", {}),
            ("mcp__net__count", {}),
            ("mcp__net__add", {"a": 1, "b": 2}),
            ("read_mcp_resource", {"server": "net", "uri": "sdk://note"}),
        )

    assert texts(items[:3]) == ["echo: hi", "hello Ada", "counted"]
    assert [each["message"] for each in talk.of("item/mcpToolCall/progress")] == ["one", "two"]
    assert items[3]["result"]["structuredContent"] == {"total": 3}
    assert "a note of the SDK" in texts(items)[4]


def test_the_sdk_server_works_on_stdin_and_stdout_too(talk, table):
    talk.configure(table("sdk", "stdio", server="sdk_server.py"))
    talk.answers["form"] = {"action": "decline"}

    items = talk.run(("mcp__sdk__echo", {"text": "hi"}), ("mcp__sdk__greet", {}))

    assert texts(items) == ["echo: hi", "(decline)"]


def test_the_bearer_token_comes_from_a_variable(talk, http, port):
    talk.home.environ["NET_TOKEN"] = "tok-123"
    with http(port) as url:
        talk.configure(entry(url, bearer_token_env_var="NET_TOKEN"))

        (item,) = talk.run(("mcp__net__headers", {}))

    assert texts([item]) == ["Bearer tok-123"]
    kept = "".join(file.read_text() for file in (talk.home.path / "cache" / "mcp").iterdir())
    assert "tok-123" not in kept


def test_a_variable_that_is_not_set_is_named(talk, port):
    talk.configure(entry(f"http://127.0.0.1:{port}/mcp", bearer_token_env_var="NET_TOKEN"))

    talk.run()

    assert any("names the variable NET_TOKEN" in each["message"] for each in talk.of("warning"))


def test_a_server_that_is_not_there_is_named_and_the_run_goes_on(talk, port):
    talk.configure(entry(f"http://127.0.0.1:{port}/mcp"))

    talk.run()

    assert talk.of("turn/completed")[0]["turn"]["status"] == "completed"
    assert any("'net' is not there" in each["message"] for each in talk.of("warning"))


def test_a_server_that_was_restarted_is_reached_again(talk, http, port):
    async def main(kernel):
        with http(port) as url:
            talk.configure(entry(url))
            session = await talk.open(kernel)
            talk.play(("mcp__net__echo", {"text": "one"}))
            await talk.turn(session)
        with http(port):
            for text in ("two", "three"):
                talk.play(("mcp__net__echo", {"text": text}))
                await talk.turn(session)
                await anyio.sleep(0)
        await session.close()

    talk.host().run(main)

    assert talk.items()[0]["status"] == "completed"
    assert talk.items()[-1]["result"]["content"][0]["text"] == "echo: three"


def test_a_call_that_may_have_run_is_not_made_again_because_the_session_is_lost(
    talk, http, port, tmp_path
):
    calls = tmp_path / "calls"
    with http(port, "forgetful.py", port, calls) as url:
        talk.configure(entry(url))
        broken, after = talk.run(("mcp__net__pay", {}), ("mcp__net__pay", {}))

    assert "'net' ended during the call" in broken["error"]["message"]
    assert after["status"] == "completed"
    assert calls.read_text().splitlines() == ["called", "called"]
