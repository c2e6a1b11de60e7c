"""The tools by which a model reads the resources of servers."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, ClassVar, cast

import anyio

from ferrule_hookspecs.errors import FerruleError, ToolArgumentError
from ferrule_hookspecs.tools import FunctionSchema, Tool, ToolCall, ToolContext, ToolResult
from ferrule_mcp.results import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import BaseModel

    from ferrule_hookspecs.items import McpToolCallItem
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_mcp.server import Server

_OWN_NAME = "codex"
"""The server that calls are shown with that go to none in particular, as clients know it."""
_BYTES_PER_TOKEN = 4
_SERVER = {"type": "string", "description": "Name of the MCP server; all where it is left out."}


class ResourceTool(Tool):
    """What the three tools have in common."""

    servers: ClassVar[Mapping[str, Server]] = {}
    warm: Callable[[], None] | None = None
    parallel: ClassVar[bool] = True
    read_only: ClassVar[bool] = True
    properties: ClassVar[Mapping[str, object]] = {"server": _SERVER}
    required: ClassVar[Sequence[str]] = ()

    def schema(self) -> FunctionSchema:
        """How the model is told to call it."""
        return FunctionSchema(
            self.name,
            self.description,
            {
                "type": "object",
                "properties": dict(self.properties),
                "required": list(self.required),
                "additionalProperties": False,
            },
        )

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check the names and types."""
        for name, value in arguments.items():
            if name not in self.properties or not isinstance(value, str):
                wanted = " and ".join(self.properties)
                raise ToolArgumentError(f"{self.name} takes {wanted}, each a string, not {name!r}")
        for name in self.required:
            if not arguments.get(name):
                raise ToolArgumentError(f"{self.name} needs {name!r}")
        return arguments

    def item(self, call: ToolCall, cwd: str) -> McpToolCallItem:
        """How the call is shown."""
        return {
            "type": "mcpToolCall",
            "id": call.call_id,
            "server": str(call.arguments.get("server") or _OWN_NAME),
            "tool": self.name,
            "arguments": json.loads(call.text),
            "status": "inProgress",
            "result": None,
            "error": None,
            "durationMs": None,
        }

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Ask the servers."""
        started = time.monotonic()
        item = self.item(call, context.cwd)
        try:
            found = await self.found(call.arguments)
        except FerruleError as error:
            item["status"], item["error"] = "failed", {"message": str(error)}
            return ToolResult(str(error), success=False, item=item)
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        item["status"] = "completed"
        item["result"] = {"content": [{"type": "text", "text": text}], "structuredContent": None}
        item["durationMs"] = int((time.monotonic() - started) * 1000)
        return ToolResult(cut(text, context.output_token_limit * _BYTES_PER_TOKEN), item=item)

    async def found(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Return what the model reads."""
        raise NotImplementedError

    def one(self, name: object) -> Server:
        """Return a server by its name."""
        server = self.servers.get(str(name))
        if server is None:
            known = ", ".join(sorted(self.servers)) or "none"
            raise FerruleError(f"there is no MCP server {name!r}; there are: {known}")
        return server

    async def listed(
        self, arguments: Mapping[str, object], method: str, field: str, key: str
    ) -> Mapping[str, object]:
        """Gather a list from one server or from all that have resources.

        Of all servers those that can be asked are listed, and what is wrong with the others.
        """
        name = arguments.get("server")
        servers = [self.one(name)] if name else list(self.servers.values())
        lists: dict[str, list[Mapping[str, object]]] = {}
        faults: dict[str, str] = {}

        async def gather(server: Server) -> None:
            try:
                lists[server.settings.name] = await resource_list(server, method, field)
            except FerruleError as error:
                faults[server.settings.name] = str(error)

        async with anyio.create_task_group() as group:
            for server in servers:
                group.start_soon(gather, server)
        if faults and not lists:
            raise FerruleError("; ".join(faults[server] for server in sorted(faults)))
        rows = [{"server": server, **row} for server in sorted(lists) for row in lists[server]]
        found: dict[str, object] = {"server": name, key: rows} if name else {key: rows}
        return found | ({"errors": dict(sorted(faults.items()))} if faults else {})


class ListResources(ResourceTool):
    """Lists what can be read."""

    name = "list_mcp_resources"
    description = (
        "Lists the resources of MCP servers: files, database schemas and other context. "
        "Prefer them to a search on the web where they fit."
    )

    async def prewarm(self, context: ToolContext) -> None:
        """Start what nobody waits for, once the first request is on its way."""
        if self.warm is not None:
            self.warm()

    async def found(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Return the resources."""
        return await self.listed(arguments, "list_resources", "resources", "resources")


class ListResourceTemplates(ResourceTool):
    """Lists what can be read once parameters are filled in."""

    name = "list_mcp_resource_templates"
    description = "Lists the resource templates of MCP servers: resources that take parameters."

    async def found(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Return the templates."""
        return await self.listed(
            arguments, "list_resource_templates", "resource_templates", "resourceTemplates"
        )


class ReadResource(ResourceTool):
    """Reads one."""

    name = "read_mcp_resource"
    description = "Reads a resource of an MCP server, by server name and URI as they were listed."
    properties: ClassVar[Mapping[str, object]] = {
        "server": {"type": "string", "description": "Name of the MCP server."},
        "uri": {"type": "string", "description": "URI of the resource."},
    }
    required: ClassVar[Sequence[str]] = ("server", "uri")

    async def found(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Return what the resource holds."""
        server, uri = self.one(arguments["server"]), str(arguments["uri"])
        contents = await read_resource(server, uri)
        return {"server": server.settings.name, "uri": uri, "contents": contents}


def resource_tools(
    context: PluginContext, servers: Mapping[str, Server], warm: Callable[[], None]
) -> list[Tool]:
    """Make the three tools for a thread's servers; `warm` is called when its first turn begins."""
    kinds = (ListResources, ListResourceTemplates, ReadResource)
    made: list[Tool] = []
    for kind in kinds:
        attributes = {"servers": servers, "__doc__": kind.__doc__}
        tool = cast("ResourceTool", type(kind.__name__, (kind,), attributes)(context))
        if kind is ListResources:
            tool.warm = warm
        made.append(tool)
    return made


async def resource_list(server: Server, method: str, field: str) -> list[Mapping[str, object]]:
    """Gather a list of a server; empty where it has no resources.

    Raises:
        FerruleError: It cannot be used.
    """
    known = server.manifest
    if known is not None and not known.has_resources:
        return []
    connection = await server.opened()
    if not connection.manifest.has_resources:
        return []
    return [_plain(each) for each in await connection.asked(connection.pages(method, field))]


async def read_resource(server: Server, uri: str) -> list[Mapping[str, object]]:
    """Read a resource.

    Raises:
        FerruleError: The server cannot be used, or does not have it.
    """
    connection = await server.opened()
    found = await connection.asked(connection.session.read_resource(uri))
    return [_plain(each) for each in found.contents]


def _plain(model: BaseModel) -> Mapping[str, object]:
    told = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    first = {key: told[key] for key in ("uri", "uriTemplate", "name") if key in told}
    return first | told
