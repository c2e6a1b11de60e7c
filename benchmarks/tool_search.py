"""What a large set of tools costs in every request, with tool search and without.

    python benchmarks/tool_search.py [--tools 500] [--runs 5] [--questions 200]

An MCP server offers many tools. `ferrule exec` is run with all of them in the list, with the search
in the API's own form, and with the search as an ordinary function; the scripted model searches once
and ends. The sizes are those of the bodies on the wire. Then questions in other words than the
tools' names are put to the search itself, which are timed, and it is counted how often the tool
that was meant is among the first eight.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from ferrule_hookspecs.tool_finding import DeferredTool
from ferrule_hookspecs.tools import FunctionSchema, ToolNamespace
from ferrule_testkit.home import FerruleHome, make_home
from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.model_server import ScriptedModelServer
from ferrule_tool_search.shelf import Shelf

TARGET_RATIO, TARGET_MS = 0.25, 5.0
SERVICES = ("mail", "calendar", "tickets", "wiki", "billing", "deploys", "metrics", "files", "chat")
VERBS = {
    "create": "Makes a new",
    "list": "Shows every",
    "delete": "Removes a",
    "update": "Changes a",
}
VERBS |= {"archive": "Puts away a", "share": "Gives others access to a", "export": "Writes out a"}
NOUNS = ("message", "event", "page", "invoice", "release", "chart", "folder", "channel", "label")
NOUNS += ("comment", "member", "report", "template", "reminder", "approval", "webhook")
SERVER = """\
import json, sys
TOOLS = json.load(open(sys.argv[1]))
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        info = {"name": "many", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    else:
        result = {"tools": TOOLS} if asked["method"] == "tools/list" else {}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\\n")
    sys.stdout.flush()
"""
SEARCH = {
    "type": "tool_search_call",
    "id": "tsc_1",
    "call_id": "s1",
    "status": "completed",
    "execution": "client",
    "arguments": {"query": "export an invoice from billing"},
}
CALL = function_call("tool_search", {"query": "export an invoice from billing"})


def offers(count: int) -> list[dict[str, object]]:
    """Describe tools as servers do: a name, two sentences, four parameters."""
    text = {"type": "string", "description": "Identifier as the service shows it in its addresses."}
    flag = {"type": "boolean", "description": "Whether others are told of the change by mail."}
    made: list[dict[str, object]] = []
    for service in SERVICES:
        for verb, words in VERBS.items():
            for noun in NOUNS:
                properties = {f"{noun}_id": text, "workspace": text, "title": text, "notify": flag}
                made.append(
                    {
                        "name": f"{service}_{verb}_{noun}",
                        "description": f"{words} {noun} in {service}. Needs a workspace that the "
                        "user belongs to, and fails with a reason where it is read-only.",
                        "inputSchema": {
                            "type": "object",
                            "properties": properties,
                            "required": [f"{noun}_id", "workspace"],
                        },
                    }
                )
    return made[:count]


def homes(folder: Path, url: str, tools: list[dict[str, object]]) -> dict[str, FerruleHome]:
    """Make a home for each way."""
    (folder / "tools.json").write_text(json.dumps(tools))
    (folder / "server.py").write_text(SERVER)
    table = (
        f'[mcp_servers.many]\ncommand = "{sys.executable}"\n'
        f'args = ["{folder / "server.py"}", "{folder / "tools.json"}"]\n'
    )
    ways = {
        "all told": "tools = { tool_search = false }",
        "own form": "",
        "function": 'model = "unknown"\ntools = { tool_search = true }',
    }
    made: dict[str, FerruleHome] = {}
    for name, top in ways.items():
        home = made[name] = make_home(folder / name.replace(" ", "_"), url)
        home.configure(top="mcp_optional_startup_grace_ms = 60000", tables=table)
        path = home.path / "config.toml"
        text = path.read_text()
        if "model =" in top:
            text = "\n".join(line for line in text.splitlines() if not line.startswith("model ="))
        path.write_text(f"{top}\n{text}")
    return made


def run(home: FerruleHome, server: ScriptedModelServer, script: list[object]) -> list[bytes]:
    server.play(script)
    before = len(server.requests)
    finished = home.run("exec", "--json", "go", timeout=300)
    assert finished.returncode == 0, finished.stderr
    return [request.raw for request in server.requests[before:]]


def measure_requests(options: argparse.Namespace) -> None:
    scripts = {
        "all told": [[message("done")]],
        "own form": [[SEARCH], [message("done")]],
        "function": [[CALL], [message("done")]],
    }
    with ScriptedModelServer(()) as server, tempfile.TemporaryDirectory() as folder:
        made = homes(Path(folder), server.base_url, offers(options.tools))
        sizes: dict[str, list[int]] = {}
        walls: dict[str, list[float]] = {name: [] for name in made}
        for turn in range(options.runs + 1):
            for name, home in made.items():
                began = time.monotonic()
                bodies = run(home, server, [*scripts[name]])
                if turn:
                    sizes[name] = [len(body) for body in bodies]
                    walls[name].append((time.monotonic() - began) * 1000)
    floor = sizes["all told"][0]
    print(
        f"{options.tools} tools: bytes of a request (target {TARGET_RATIO} of all told), run in ms"
    )
    print(f"{'way':>9} {'first':>9} {'ratio':>6} {'after a search':>15} {'ratio':>6} {'run':>7}")
    for name, (first, *later) in sizes.items():
        last = later[-1] if later else first
        wall = statistics.median(walls[name])
        print(f"{name:>9} {first:9} {first / floor:6.3f} {last:15} {last / floor:6.3f} {wall:7.0f}")


def measure_search(options: argparse.Namespace) -> None:
    space = ToolNamespace("mcp__many", "Tools of the MCP server many.")
    tools = [
        DeferredTool(
            FunctionSchema(
                f"mcp__many__{each['name']}",
                str(each["description"]),
                cast("Mapping[str, object]", each["inputSchema"]),
            ),
            space,
        )
        for each in offers(options.tools)
    ]
    began = time.perf_counter()
    shelf = Shelf(tools)
    built = (time.perf_counter() - began) * 1000
    chance = random.Random(1)
    figures: list[float] = []
    hits = 0
    for each in chance.choices(offers(options.tools), k=options.questions):
        service, verb, noun = str(each["name"]).split("_")
        question = f"{verb.removesuffix('e')}ing the {noun}s we have in {service}"
        began = time.perf_counter()
        found = shelf.find(question, 8)
        figures.append((time.perf_counter() - began) * 1000)
        hits += f"mcp__many__{each['name']}" in found
    print(f"\nsearch: {built:.1f} ms to prepare, once; target ≤ {TARGET_MS:g} ms a question")
    print(f"{'median ms':>10} {'max ms':>8}  among the first eight")
    print(f"{statistics.median(figures):10.3f} {max(figures):8.3f}  {hits} of {options.questions}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", type=int, default=500)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    measure_requests(options)
    measure_search(options)


if __name__ == "__main__":
    main()
