"""What is published: it accepts what is sent, lists what clients need, and compiles."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from ferrule_testkit.model_items import message
from ferrule_testkit.surroundings import missing

TRANSCRIPTS = Path(__file__).parents[5] / "shared/conformance/app-server/transcripts"


def words(text: str) -> list[str]:
    return text.split()


MUST_HAVE = words(
    """
    initialize thread/start thread/resume thread/fork thread/list thread/read thread/turns/list
    thread/items/list thread/loaded/list thread/name/set thread/archive thread/unarchive
    thread/delete thread/unsubscribe thread/compact/start thread/revert thread/rollback
    thread/metadata/update thread/inject_items thread/shellCommand turn/start turn/steer
    turn/interrupt account/read account/login/start account/login/cancel account/logout
    account/rateLimits/read model/list config/read config/value/write config/batchWrite
    configRequirements/read skills/list skills/config/write hooks/list mcpServerStatus/list
    mcpServer/tool/call mcpServer/resource/read config/mcpServer/reload command/exec
    command/exec/write command/exec/resize command/exec/terminate fuzzyFileSearch
    """
)
QUESTIONS = words(
    """
    item/commandExecution/requestApproval item/fileChange/requestApproval
    item/permissions/requestApproval item/tool/requestUserInput mcpServer/elicitation/request
    item/tool/call
    """
)


@pytest.fixture
def generate(ferrule_home, tmp_path):
    """Run a generator and return the folder it wrote."""

    def run(name: str, *options: str) -> Path:
        folder = tmp_path / name
        finished = ferrule_home.run("app-server", name, "--out", str(folder), *options)
        assert finished.returncode == 0, finished.stderr
        return folder

    return run


@pytest.fixture
def schemas(generate):
    """Every published file of JSON Schema by relative path."""
    folder = generate("generate-json-schema", "--experimental")
    return {
        str(file.relative_to(folder)): json.loads(file.read_text())
        for file in folder.rglob("*.json")
    }


def methods(schema: dict) -> dict[str, dict]:
    """The messages of a union by method."""
    return {each["properties"]["method"]["enum"][0]: each for each in schema["oneOf"]}


def problems(schema: dict, value: object) -> list[str]:
    found = Draft7Validator(schema).iter_errors(value)
    return [f"{[*error.path]}: {error.message[:200]}" for error in found]


def test_every_file_is_a_schema_that_stands_alone(schemas):
    for name, schema in schemas.items():
        Draft7Validator.check_schema(schema)
        used = set(json.dumps(schema).split('"#/definitions/')[1:])
        names = {text.partition('"')[0] for text in used}
        assert names <= schema.get("definitions", {}).keys(), name


def test_what_clients_need_is_in_it(schemas):
    assert not set(MUST_HAVE) - methods(schemas["ClientRequest.json"]).keys()
    assert not set(QUESTIONS) - methods(schemas["ServerRequest.json"]).keys()


def test_what_is_experimental_is_shown_on_request(generate, schemas):
    stable = generate("generate-json-schema")
    calls = methods(json.loads((stable / "ClientRequest.json").read_text()))
    assert "process/spawn" in methods(schemas["ClientRequest.json"])
    assert "process/spawn" not in calls
    shown = json.loads((stable / "v2" / "ThreadStartParams.json").read_text())["properties"]
    assert "dynamicTools" not in shown
    assert "dynamicTools" in schemas["v2/ThreadStartParams.json"]["properties"]


def test_what_is_sent_fits_what_is_published(schemas, client, model_server, ferrule_home):
    model_server.play([[message("hello")]])
    thread = client.call("thread/start", cwd=str(ferrule_home.workspace))["thread"]
    prompt = [{"type": "text", "text": "hi"}]
    client.call("turn/start", threadId=thread["id"], input=prompt)
    client.told("turn/completed", threadId=thread["id"])
    client.call("thread/read", threadId=thread["id"], includeTurns=True)
    client.call("thread/list")
    client.call("thread/turns/list", threadId=thread["id"])
    client.call("thread/items/list", threadId=thread["id"])
    client.call("thread/loaded/list")
    client.call("thread/name/set", threadId=thread["id"], name="a name")
    for method in ("config/read", "model/list", "modelProvider/list", "skills/list"):
        client.call(method)
    client.call("command/exec", command=["true"])
    published = schemas["codex_app_server_protocol.schemas.json"]["definitions"]
    for method, received in client.received:
        name = "".join(word[0].upper() + word[1:] for word in method.replace("_", "/").split("/"))
        kind, value = "Notification", received.get("params")
        if "result" in received:
            kind, value = "Response", received["result"]
        schema = {"$ref": f"#/definitions/{name}{kind}", "definitions": published}
        assert not problems(schema, value), method


def test_what_recorded_clients_ask_fits_what_is_published(schemas):
    if not TRANSCRIPTS.is_dir():
        missing(f"{TRANSCRIPTS} is not there; recorded requests were not checked")
    calls = schemas["ClientRequest.json"]
    known = methods(calls)
    for file in sorted(TRANSCRIPTS.glob("*.jsonl")):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        messages = [(line["dir"], line["msg"]) for line in lines if "msg" in line]
        answered = {
            msg["id"] for way, msg in messages if way == "s>c" and "result" in msg and "id" in msg
        }
        for way, asked in messages:
            if way != "c>s" or asked.get("id") not in answered or asked.get("method") not in known:
                continue
            schema = {**known[asked["method"]], "definitions": calls["definitions"]}
            assert not problems(schema, asked), (file.name, asked)


def test_the_types_compile(generate):
    compiler = Path(os.environ.get("FERRULE_TEST_NODE_MODULES", "node_modules"))
    compiler = compiler / "typescript" / "bin" / "tsc"
    if shutil.which("node") is None or not compiler.exists():
        missing(f"{compiler} is not there (set FERRULE_TEST_NODE_MODULES); nothing was compiled")
    folder = generate("generate-ts", "--experimental")
    (folder / "use.ts").write_text(
        'import type { ClientRequest, ModelListResponse, ServerNotification } from "./index";\n'
        'export const ask: ClientRequest = { id: 1, method: "model/list", params: { limit: 2 } };\n'
        "export function names(reply: ModelListResponse): string[] {\n"
        "  return reply.data.map((model) => model.displayName);\n"
        "}\n"
        "export function isDone(told: ServerNotification): boolean {\n"
        '  return told.method === "turn/completed" && told.params.turn.status === "completed";\n'
        "}\n"
    )
    finished = subprocess.run(
        ["node", compiler, "--strict", "--noEmit", "index.ts", "use.ts"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout
