"""R26: `--dev-plugin` loads a checkout for one run, and every transcript of that run says so."""

import json
from dataclasses import replace

import pytest

from ferrule_testkit.app_server_process import AppServerProcess
from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.wires import StdioWire

PATIENCE_S = 120
PYPROJECT = """\
[project]
name = "acme-note"
version = "{version}"
dependencies = ["ferrule-hookspecs>=0.1,<1"]
[project.entry-points."ferrule.tools"]
acme_note = "acme_note:Note"
"""
TOOL = """\
from ferrule_hookspecs import Tool, ToolResult


class Note(Tool):
    name = "acme_note"
    description = "Says which it is."

    async def run(self, call, context):
        return ToolResult({said!r})
"""


@pytest.fixture
def checkout(tmp_path):
    """A plugin's checkout."""
    folder = tmp_path / "checkout"
    (folder / "src" / "acme_note").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT.format(version="2.0"))
    (folder / "src" / "acme_note" / "__init__.py").write_text(TOOL.format(said="of the checkout"))
    return folder


@pytest.fixture
def mark(checkout):
    """How it is named in transcripts."""
    return f"acme-note 2.0 ({checkout})"


def records(home):
    (path,) = home.path.glob("sessions/**/*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_r26_events_and_the_rollout_name_the_checkout(
    run_ferrule, ferrule_home, model_server, checkout, mark
):
    model_server.play([[function_call("acme_note", {})], [message("done")]])

    run = run_ferrule("--dev-plugin", str(checkout), "exec", "--json", "go")

    assert run.returncode == 0, run.stderr
    assert run.items("tool_call")[0]["result"] == {"text": "of the checkout"}
    assert run.events[0]["type"] == "thread.started"
    assert run.events[0]["dev_plugins"] == [mark]
    assert [item for item in run.items("error") if mark in item["message"]]
    assert records(ferrule_home)[0]["payload"]["dev_plugins"] == [mark]


def test_r26_output_for_people_names_it(run_ferrule, model_server, checkout, mark):
    model_server.play([[message("done")]])
    run = run_ferrule("--dev-plugin", str(checkout), "exec", "go")
    assert f"dev plugin: {mark}" in run.stderr.splitlines()


def test_r26_a_thread_that_goes_on_with_one_says_so_in_its_rollout(
    run_ferrule, ferrule_home, model_server, checkout, mark
):
    model_server.play([[message("one")], [message("two")]])
    without = run_ferrule("exec", "--json", "go")
    assert list(without.events[0]) == ["type", "thread_id"], without.stderr
    assert "dev_plugins" not in records(ferrule_home)[0]["payload"]

    run = run_ferrule("--dev-plugin", str(checkout), "exec", "resume", "--last", "--json", "on")

    assert run.events[0]["dev_plugins"] == [mark], run.stderr
    warnings = [record["payload"].get("message", "") for record in records(ferrule_home)]
    assert [text for text in warnings if text and mark in text]


def test_r26_clients_of_the_app_server_see_it_in_the_thread(ferrule_home, checkout, mark):
    environ = {"FERRULE_DEV_PLUGIN": str(checkout)}
    with AppServerProcess(ferrule_home, "stdio://", environ=environ) as server:
        wire = StdioWire(server.process)
        hello = {"clientInfo": {"name": "test", "version": "1"}}
        calls = [("initialize", hello), ("thread/start", {"cwd": str(ferrule_home.workspace)})]
        for number, (method, params) in enumerate(calls):
            wire.send(json.dumps({"id": number, "method": method, "params": params}).encode())
        answer = {}
        while answer.get("id") != 1:
            answer = json.loads(wire.frames.get(timeout=PATIENCE_S))

    assert answer["result"]["thread"]["devPlugins"] == [mark]


def test_r26_a_checkout_stands_for_the_installed_one_in_that_run_only(
    twin, hooks_package, model_server, checkout
):
    files = {"acme_note/__init__.py": TOOL.format(said="installed")}
    points = {"ferrule.tools:acme_note": "acme_note:Note"}
    twin.put(replace(hooks_package("note", ""), points=points, files=files))
    said = {}
    for name, options in {"run": ("--dev-plugin", str(checkout)), "next": ()}.items():
        model_server.play([[function_call("acme_note", {})], [message("done")]])
        run = twin.run(*options, "exec", "--json", "go")
        assert run.returncode == 0, run.stderr
        said[name] = run.items("tool_call")[0]["result"]["text"]
        listed = twin.run(*options, "plugins", "list").stdout
        assert (f"acme-note 2.0  [dev] {checkout}" in listed) is bool(options)

    assert said == {"run": "of the checkout", "next": "installed"}
