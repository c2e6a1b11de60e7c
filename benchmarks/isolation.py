"""What a tool in a confined process of its own costs, beside the same tool elsewhere.

    python benchmarks/isolation.py [--starts 9] [--calls 500]

One tool of one argument (`tests/e2e/packages/acme-ticket`), its arguments checked by pydantic, run
in this process, in a confined process of its own, and as an MCP server of the SDK on a pipe, which
nothing confines. A start is measured until the tool is described; a call is normalised and run. The
floor is a Python process that echoes one line of the same size.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from ferrule.host import LocalHost
from ferrule.isolation.tools import IsolatedTools
from ferrule.remote_tool import normalized
from ferrule_hookspecs.host import ConfigRequest, Kernel
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.tools import Tool, ToolCall

ROOT = Path(__file__).parents[1]
CHECKOUT = ROOT / "tests" / "e2e" / "packages" / "acme-ticket"
TARGET_RATIO = 2.0
ARGUMENTS = {"title": "a leak in the cellar"}
CALL = ToolCall("c1", "acme_ticket", ARGUMENTS, json.dumps(ARGUMENTS), "function")
ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.flush()
"""
SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("ticket")
@server.tool()
def acme_ticket(title: str, urgent: bool = False) -> str:
    "File a ticket in ACME's tracker."
    return f"filed {title!r}, urgent: {urgent}"
server.run("stdio")
"""


@dataclass
class Row:
    """Medians of one way to run the tool."""

    start_ms: float
    call_us: float


class Lines:
    """A process that is spoken to in lines."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, message: object) -> dict:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def lined(program: str, opening: Callable[[Lines], None], call: object, counts: tuple) -> Row:
    """Measure a process that is spoken to in lines."""
    starts, calls = [], []
    for _ in range(counts[0]):
        began = time.perf_counter()
        lines = Lines(program)
        opening(lines)
        starts.append(ms(began))
        lines.close()
    lines = Lines(program)
    opening(lines)
    for _ in range(counts[1]):
        began = time.perf_counter()
        lines.ask(call)
        calls.append(ms(began) * 1000)
    lines.close()
    return Row(statistics.median(starts), statistics.median(calls))


def begin_mcp(lines: Lines) -> None:
    parameters = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "b", "version": "1"},
    }
    lines.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": parameters})
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    lines.process.stdin.write(json.dumps(message).encode() + b"\n")
    lines.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})


async def called(tool: Tool, context: object, count: int) -> float:
    """The median of a call, normalised and run, in microseconds."""
    spent = []
    for _ in range(count):
        began = time.perf_counter()
        arguments = tool.normalize(ARGUMENTS)
        call = await normalized(tool, CALL._replace(arguments=arguments))
        result = await tool.run(call, context)
        spent.append(ms(began) * 1000)
        assert result.output == "filed 'a leak in the cellar', urgent: False", result
    return statistics.median(spent)


def measured(home: Path, counts: tuple) -> Callable[[Kernel], Awaitable[dict[str, Row]]]:
    """Measure the tool in the kernel's process and in one of its own."""

    async def main(kernel: Kernel) -> dict[str, Row]:
        config = kernel.config(ConfigRequest(cwd=str(home)))
        manager = kernel.manager(config.values)
        context = PluginContext(
            home, config.values, str(home), "thread", kernel.environ, runtime=kernel.runtime
        )
        entry = manager.entry("ferrule.tools", "acme_ticket")
        opener = IsolatedTools(manager, context, print, lambda _, given: given)
        scene = SimpleNamespace(
            thread_id="thread",
            turn_id="turn",
            cwd=str(home),
            sandbox=kernel.sandbox(config, str(home)),
            output_token_limit=10_000,
            ask_client=None,
        )
        starts = []
        for _ in range(counts[0]):
            began = time.perf_counter()
            (apart,) = await opener.open([entry])
            starts.append(ms(began))
            await apart.aclose()
        (apart,) = await opener.open([entry])
        rows = {
            "own process": Row(statistics.median(starts), await called(apart, scene, counts[1]))
        }
        await apart.aclose()
        sys.path.append(str(CHECKOUT / "src"))
        from acme_ticket.tool import TicketTool

        rows["in process"] = Row(0.0, await called(TicketTool(context), scene, counts[1]))
        return rows

    return main


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=9)
    parser.add_argument("--calls", type=int, default=500)
    arguments = parser.parse_args()
    counts = (arguments.starts, arguments.calls)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        home = Path(folder)
        (home / "config.toml").write_text('[plugins.isolation]\nacme-ticket = "process"\n')
        environ = {**os.environ, "HOME": folder, "FERRULE_DEV_PLUGIN": str(CHECKOUT)}
        rows = LocalHost(home, environ).run(measured(home, counts))
    echo = lined(ECHO, lambda lines: lines.ask(ARGUMENTS), ARGUMENTS, counts)
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    call["params"] = {"name": "acme_ticket", "arguments": ARGUMENTS}
    rows = {"pipe echo": echo, **rows, "MCP server": lined(SERVER, begin_mcp, call, counts)}
    print(f"medians of {counts[0]} starts and {counts[1]} calls")
    print(f"{'':14}{'start ms':>10}{'call us':>10}")
    for name, row in rows.items():
        print(f"{name:14}{row.start_ms:10.0f}{row.call_us:10.0f}")
    ratio = rows["own process"].call_us / rows["MCP server"].call_us
    print(
        f"a call in a process of its own: {ratio:.2f} of an MCP server's (target <= {TARGET_RATIO})"
    )


if __name__ == "__main__":
    main()
