"""What clients of the app-server may ask about servers."""

from types import SimpleNamespace

import pytest

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.serving import RpcCall


@pytest.fixture
def ask(talk):
    """Ask methods one after the other, with `THREAD` standing for an open thread."""

    def run(*requests, opens=True):
        answers = []

        async def main(kernel):
            request = ConfigRequest(cwd=str(talk.home.workspace))
            config = kernel.config(request)
            methods = {method.name: method for method in await kernel.rpc_methods(config)}
            session = await talk.open(kernel) if opens else None
            for name, params in requests:
                given = dict(params)
                if given.get("threadId") == "THREAD":
                    given["threadId"] = session.thread["id"]
                nobody = SimpleNamespace(name="test", experimental=True)
                call = RpcCall(given, nobody, kernel, config, lambda *_: None, request)
                try:
                    answers.append(await methods[name].handler(call))
                except FerruleError as error:
                    answers.append(error)
            if session is not None:
                await session.close()

        talk.host().run(main)
        return answers

    return run


def test_servers_are_listed_with_what_they_offer(talk, table, ask):
    bad = table("gone", command="/nonexistent/mcp")
    talk.configure(table("demo", disabled_tools=["write"]), bad, table("off", enabled=False))

    (answer,) = ask(("mcpServerStatus/list", {"threadId": "THREAD"}))

    rows = {row["name"]: row for row in answer["data"]}
    assert answer["nextCursor"] is None
    assert rows["demo"]["runtimeStatus"] == "connected"
    assert rows["demo"]["serverInfo"] == {"name": "plain", "version": "1.0"}
    assert rows["demo"]["tools"]["echo"]["inputSchema"]["type"] == "object"
    assert "write" not in rows["demo"]["tools"]
    assert rows["demo"]["resources"] == [{"uri": "plain://one", "name": "one"}]
    assert rows["gone"]["runtimeStatus"] == "failed"
    assert "/nonexistent/mcp" in rows["gone"]["toolsError"]
    assert rows["off"]["runtimeStatus"] == "disabled"


def test_the_list_may_be_short_paged_and_of_one_server(talk, table, ask):
    talk.configure(table("a"), table("b"))

    short, first, second, one = ask(
        ("mcpServerStatus/list", {"detail": "toolsAndAuthOnly"}),
        ("mcpServerStatus/list", {"limit": 1}),
        ("mcpServerStatus/list", {"limit": 1, "cursor": "1"}),
        ("mcpServerStatus/list", {"serverName": "b"}),
        opens=False,
    )

    assert [row["resources"] for row in short["data"]] == [[], []]
    assert [row["name"] for row in first["data"]] == ["a"]
    assert first["nextCursor"] == "1"
    assert [row["name"] for row in second["data"]] == ["b"]
    assert [row["name"] for row in one["data"]] == ["b"]


def test_a_client_calls_tools_and_reads_resources_itself(talk, table, ask, starts):
    talk.configure(table("demo", "--starts", starts, trusted=False, disabled_tools=["env"]))
    server = {"threadId": "THREAD", "server": "demo"}

    called, read, off, unknown = ask(
        ("mcpServer/tool/call", {**server, "tool": "write", "arguments": {"text": "x"}}),
        ("mcpServer/resource/read", {**server, "uri": "plain://one"}),
        ("mcpServer/tool/call", {**server, "tool": "env"}),
        ("mcpServer/tool/call", {**server, "server": "nobody", "tool": "echo"}),
    )

    assert called["content"] == [{"type": "text", "text": "done: write"}]
    assert read["contents"] == [{"uri": "plain://one", "text": "a note"}]
    assert "switched off" in str(off)
    assert "no MCP server 'nobody'" in str(unknown)
    assert len(starts.read_text().split()) == 1


def test_reload_says_what_is_wrong_with_the_configuration(talk, table, ask):
    talk.configure(table("demo"))
    (fine,) = ask(("config/mcpServer/reload", {}), opens=False)
    talk.configure(table("demo", url="http://x.test"))
    (wrong,) = ask(("config/mcpServer/reload", {}), opens=False)

    assert fine == {}
    assert "mcp_servers.demo needs either" in str(wrong)


def test_prompts_are_chosen_by_the_client_and_a_change_needs_no_reload(talk, table, ask):
    talk.configure(table("demo"))
    demo = {"server": "demo", "threadId": "THREAD"}

    before, _, after, filled, unknown = ask(
        ("mcpServer/prompt/list", demo),
        ("mcpServer/tool/call", {**demo, "tool": "shrink"}),
        ("mcpServer/prompt/list", demo),
        ("mcpServer/prompt/get", {**demo, "name": "greet", "arguments": {"who": "Ada"}}),
        ("mcpServer/prompt/get", {**demo, "server": "nobody", "name": "greet"}),
    )

    assert [each["name"] for each in before["prompts"]] == ["greet"]
    assert [each["name"] for each in after["prompts"]] == ["greet", "more"]
    assert filled["messages"][0]["content"]["text"] == "Say hello to Ada."
    assert "there is no MCP server 'nobody'" in str(unknown)
