"""An MCP server made with the SDK: `sdk_server.py stdio`, or `sdk_server.py http PORT`."""

import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("sdk", version="2.0")
READS = ToolAnnotations(read_only_hint=True)


class Name(BaseModel):
    """What is asked for."""

    name: str


class Sum(BaseModel):
    """A sum."""

    total: int


@server.tool(annotations=READS)
def echo(text: str) -> str:
    """Say it again."""
    return f"echo: {text}"


@server.tool(annotations=READS)
def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b)


@server.tool(annotations=READS)
async def count(context: Context) -> str:
    """Count to two."""
    await context.report_progress(1, 2, "one")
    await context.report_progress(2, 2, "two")
    return "counted"


@server.tool(annotations=READS)
async def greet(context: Context) -> str:
    """Ask for a name, and greet."""
    answer = await context.elicit("Who are you?", schema=Name)
    return f"hello {answer.data.name}" if answer.action == "accept" else f"({answer.action})"


@server.tool(annotations=READS)
def headers(context: Context) -> str:
    """Tell which authorisation was sent."""
    return str(context.headers.get("authorization") if context.headers else None)


@server.resource("sdk://note")
def note() -> str:
    """A note."""
    return "a note of the SDK"


if sys.argv[1] == "http":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
else:
    server.run("stdio")
