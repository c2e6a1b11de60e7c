"""Tools of servers: what models are offered, what a call gives, and how it is shown."""

import json
import re

import pytest


def test_tools_of_a_server_are_offered_under_its_name_and_called(talk, table):
    talk.configure(table("demo"))

    run = talk.exec(("mcp__demo__echo", {"text": "hi"}))

    (call,) = run.items("mcp_tool_call")
    assert (call["server"], call["tool"], call["status"]) == ("demo", "echo", "completed")
    assert call["result"]["content"] == [{"type": "text", "text": "echo: hi"}]
    head, text = talk.outputs()[0]
    assert re.fullmatch(r"Wall time: \d+\.\d{4} seconds\nOutput:", head["text"])
    assert text == {"type": "input_text", "text": "echo: hi"}
    assert "mcp__demo__write" in talk.offered
    assert not run.survivors


def test_the_form_with_a_namespace_is_understood(talk, table):
    talk.configure(table("demo"))
    call = {"type": "function_call", "id": "f", "call_id": "c", "arguments": '{"text": "x"}'}
    first = [{**call, "name": "echo", "namespace": "mcp__demo"}]
    talk.model.play({"turns": [first, []]})

    (item,) = talk.home.run("exec", "--json", "go").items("mcp_tool_call")

    assert item["result"]["content"][0]["text"] == "echo: x"


CALLS = {
    "structured": ("completed", [{"type": "input_text", "text": '{"n":1}'}]),
    "fail": ("failed", [{"type": "input_text", "text": "it failed"}]),
    "image": ("completed", [{"type": "input_image", "image_url": "data:image/png;base64,aGk="}]),
}


@pytest.mark.parametrize("tool", CALLS)
def test_what_a_call_gives_reaches_the_model_in_its_form(talk, table, tool):
    status, parts = CALLS[tool]
    talk.configure(table("demo"))

    (item,) = talk.run((f"mcp__demo__{tool}", {}))

    assert item["status"] == status
    assert talk.outputs()[0][1:] == parts
    assert item["durationMs"] >= 0


def test_a_refusal_of_the_server_names_server_tool_and_reason(talk, table):
    talk.configure(table("demo"))

    (item,) = talk.run(("mcp__demo__refuse", {}))

    assert item["status"] == "failed"
    assert item["result"] is None
    assert all(word in item["error"]["message"] for word in ("'demo'", "'refuse'", "not today"))
    assert talk.outputs()[0] == item["error"]["message"]


def test_huge_output_is_cut_for_the_model_and_for_clients(talk, table):
    talk.configure(table("demo"))

    (item,) = talk.run(("mcp__demo__huge", {}))

    assert len(talk.outputs()[0][1]["text"]) < 50_000
    assert "bytes left out" in talk.outputs()[0][1]["text"]
    assert len(json.dumps(item)) < 1_100_000


def test_only_chosen_tools_are_offered(talk, table):
    some = table("some", enabled_tools=["echo", "write"], disabled_tools=["write"])
    talk.configure(some, table("off", enabled=False))
    talk.run()

    offered = [name for name in talk.offered if name.startswith("mcp__")]

    assert offered == ["mcp__some__echo"]


def test_names_no_model_api_takes_are_replaced(talk, table):
    talk.configure(table('"my.own server"'.replace(" ", "/"), enabled_tools=["echo"]))
    talk.run()

    (name,) = [name for name in talk.offered if name.startswith("mcp__")]

    assert name.startswith("mcp__my_own_server__echo_")


def test_the_order_of_the_offered_tools_never_changes(talk, table):
    talk.configure(table("b"), table("a"))
    talk.run()
    first = talk.offered
    talk.run()

    assert talk.offered == first
    ours = [name for name in first if "mcp" in name]
    assert ours == sorted(ours)


def test_progress_of_a_call_is_told(talk, table):
    talk.configure(table("demo"))

    talk.run(("mcp__demo__progress", {}))

    told = talk.of("item/mcpToolCall/progress")
    assert [each["message"] for each in told] == ["step 1", "step 2"]
    assert {each["itemId"] for each in told} == {"call_0"}


def test_resources_are_listed_and_read(talk, table):
    talk.configure(table("demo"))

    items = talk.run(
        ("list_mcp_resources", {}),
        ("list_mcp_resource_templates", {"server": "demo"}),
        ("read_mcp_resource", {"server": "demo", "uri": "plain://one"}),
        ("read_mcp_resource", {"server": "nobody", "uri": "plain://one"}),
    )

    found = [json.loads(item["result"]["content"][0]["text"]) for item in items[:3]]
    assert found[0]["resources"] == [{"server": "demo", "uri": "plain://one", "name": "one"}]
    assert found[1]["resourceTemplates"][0]["uriTemplate"] == "plain://{x}"
    assert found[2]["contents"] == [{"uri": "plain://one", "text": "a note"}]
    assert [item["server"] for item in items] == ["codex", "demo", "demo", "nobody"]
    assert "there is no MCP server 'nobody'; there are: demo" in items[3]["error"]["message"]


def test_a_server_that_cannot_be_asked_hides_the_resources_of_no_other(talk, table):
    talk.configure(table("demo"), '[mcp_servers.gone]\ncommand = "/nowhere/at/all"\n')

    every, one = talk.run(
        ("list_mcp_resources", {}),
        ("list_mcp_resources", {"server": "gone"}),
    )

    found = json.loads(every["result"]["content"][0]["text"])
    assert [each["name"] for each in found["resources"]] == ["one"]
    assert "'gone' cannot be used" in found["errors"]["gone"]
    assert one["error"]["message"] == found["errors"]["gone"]


def test_without_servers_there_are_no_resource_tools(talk):
    talk.configure()
    talk.run()

    assert not [name for name in talk.offered if "mcp" in name]


def test_a_table_that_cannot_be_obeyed_is_named_and_the_others_work(talk, table):
    talk.configure(table("good"), "[mcp_servers.bad]\nargs = []\n")

    (item,) = talk.run(("mcp__good__echo", {"text": "x"}))

    assert item["status"] == "completed"
    warnings = [each["message"] for each in talk.of("warning")]
    assert any("mcp_servers.bad needs either `command` or `url`" in each for each in warnings)


def test_what_a_server_logs_by_the_protocol_is_in_its_log(talk, table):
    talk.configure(table("demo"))

    talk.run(("mcp__demo__log", {}))

    log = (talk.home.path / "log" / "mcp" / "demo.log").read_text()
    assert 'warning plain: {"said": "beware"}' in log


def test_an_answer_that_is_none_by_the_protocol_is_said_in_a_sentence(talk, table):
    talk.configure(table("demo"))

    (item,) = talk.run(("mcp__demo__nonsense", {}))

    message = item["error"]["message"]
    assert "'demo' answered the call of 'nonsense' with what is no answer" in message
    assert "\n" not in message


def test_a_resource_that_is_none_by_the_protocol_is_said_in_a_sentence(talk, table):
    talk.configure(table("demo"))

    (item,) = talk.run(("read_mcp_resource", {"server": "demo", "uri": "plain://broken"}))

    message = item["error"]["message"]
    assert "'demo' answered with what is no answer by the protocol" in message
    assert "\n" not in message
