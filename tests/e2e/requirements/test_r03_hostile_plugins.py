"""R3: what a plugin does at import, in hooks or in tools cannot stop the host, and is told once."""

import json

import pytest

from ferrule_testkit.hostile import DEADLY, PATCHING, WAYS
from ferrule_testkit.model_items import function_call, message

pytestmark = pytest.mark.timeout(600)
REFUSING = ("raises", "exits", "interrupts")
HARMLESS = [way for way in WAYS if way not in (*DEADLY, *PATCHING, "hangs")]
ALIVE = function_call("exec_command", {"cmd": "echo alive"})


@pytest.fixture
def put(twin):
    """Install hostile plugins."""

    def put(*plugins):
        for plugin in plugins:
            twin.put(plugin)
        return plugins

    return put


@pytest.fixture
def outlived(twin, model_server):
    """Run a turn with calls; the host lives to its end and leaves nothing."""

    def run(*calls):
        model_server.play([list(calls or (ALIVE,)), [message("done")]])
        finished = twin.run("exec", "--json", "go", timeout=300)
        assert finished.returncode == 0, finished.stderr
        assert finished.survivors == {}
        assert finished.items("agent_message")[-1]["text"] == "done"
        return finished

    return run


def told(finished, plugin):
    messages = [item["message"] for item in finished.items("error")]
    return [text for text in messages if f"'{plugin.entry}'" in text and plugin.name in text]


def ran(finished):
    return [item["aggregated_output"] for item in finished.items("command_execution")]


def outputs(server):
    items = server.requests[-1].body["input"]
    return [item["output"] for item in items if item["type"].endswith("_output")]


def test_r03_hostile_plugins_are_outlived_and_each_is_told_once(put, outlived, hostile_plugins):
    at_import, in_hooks = hostile_plugins.at_import, hostile_plugins.in_hooks
    silent = put(in_hooks["prints"], in_hooks["listens"])
    faulty = put(at_import["raises"], at_import["crashes"], at_import["patches_contract"])
    late = put(in_hooks["raises"])
    (clash,) = put(hostile_plugins.clashing["tool"])

    finished = outlived()

    assert ran(finished) == ["alive\n"]
    for plugin in (*faulty, clash, *late):
        (text,) = told(finished, plugin)
        assert f"{plugin.name} 1.0" in text
        assert f"--no-plugin {plugin.entry}" in text
    assert not any(told(finished, plugin) for plugin in silent)


@pytest.mark.slow
def test_r03_every_hostile_import_at_once_is_outlived(put, outlived, hostile_plugins):
    plugins = put(*hostile_plugins.at_import.values(), *hostile_plugins.clashing.values())

    finished = outlived()

    assert ran(finished) == ["alive\n"]
    assert {plugin.name: len(told(finished, plugin)) for plugin in plugins} == {
        plugin.name: 1 for plugin in plugins
    }


@pytest.mark.slow
def test_r03_every_hostile_hook_at_once_is_outlived(put, outlived, hostile_plugins):
    plugins = {way: hostile_plugins.in_hooks[way] for way in (*HARMLESS, "hangs")}
    put(*plugins.values())

    finished = outlived()

    assert ran(finished) == ["alive\n"]
    for way in (*REFUSING, "hangs"):
        assert len(told(finished, plugins[way])) == 1


@pytest.mark.slow
@pytest.mark.parametrize("way", [*REFUSING, "hangs"])
def test_r03_a_judge_that_fails_has_refused(put, outlived, hostile_plugins, model_server, way):
    (judge,) = put(hostile_plugins.in_judgements[way])

    finished = outlived()

    assert "alive\n" not in ran(finished)
    (output,) = outputs(model_server)
    assert judge.name in output
    assert len(told(finished, judge)) == 1


@pytest.mark.slow
def test_r03_every_hostile_tool_is_outlived(put, outlived, hostile_plugins, model_server):
    tools = {way: hostile_plugins.in_tools[way] for way in HARMLESS}
    put(*tools.values())
    calls = [function_call(tool.entry, {}, call_id=way) for way, tool in tools.items()]

    finished = outlived(*calls, ALIVE)

    assert ran(finished) == ["alive\n"]
    answers = dict(zip([*tools, "alive"], outputs(model_server), strict=True))
    for way in HARMLESS:
        assert ("done" in answers[way]) is (way not in REFUSING), answers[way]


@pytest.mark.slow
@pytest.mark.parametrize("way", [*REFUSING, "prints"])
def test_r03_a_hostile_reviewer_accepts_nothing(
    put, outlived, hostile_plugins, model_server, ferrule_home, way
):
    (plugin,) = put(hostile_plugins.in_reviews[way])
    top = f'approval_policy = "on-request"\napprovals_reviewer = "{plugin.entry}"'
    config = ferrule_home.path / "config.toml"
    text = config.read_text().replace('approval_policy = "never"', top)
    config.write_text(text)
    arguments = {"cmd": "echo r''an", "sandbox_permissions": "require_escalated"}

    finished = outlived(function_call("exec_command", {**arguments, "justification": "a test"}))

    assert "ran\n" not in ran(finished)
    (output,) = outputs(model_server)
    assert plugin.entry in output


@pytest.mark.slow
@pytest.mark.parametrize("way", DEADLY)
def test_r03_where_a_hook_ends_the_process_nothing_that_was_told_is_lost(
    put, twin, hostile_plugins, model_server, way
):
    """What runs in the process can end it: then the thread goes on as soon as it is gone."""
    model_server.play([[message("first answer")]])
    assert twin.run("exec", "first words").returncode == 0
    (plugin,) = put(hostile_plugins.in_hooks[way])
    asked = len(model_server.requests)
    assert twin.run("exec", "resume", "--last", "lost words").survivors == {}
    assert len(model_server.requests) == asked
    twin.forget(plugin.name.replace("-", "_"))

    model_server.play([[message("second answer")]])
    finished = twin.run("exec", "resume", "--last", "second words")

    assert finished.returncode == 0, finished.stderr
    sent = json.dumps(model_server.requests[-1].body["input"])
    for words in ("first words", "first answer", "second words"):
        assert words in sent
