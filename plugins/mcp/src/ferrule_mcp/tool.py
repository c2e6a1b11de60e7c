"""A tool of an MCP server, as the kernel offers it to models."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, ClassVar, cast

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.review import Amendment
from ferrule_hookspecs.tools import (
    FunctionSchema,
    Requirement,
    Tool,
    ToolCall,
    ToolContext,
    ToolNamespace,
    ToolResult,
)
from ferrule_mcp.pins import fingerprint
from ferrule_mcp.server import ToolChangedError, ToolRequest
from ferrule_mcp.tool_names import namespace_name, tool_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.items import McpToolCallItem
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.tools import SandboxSession
    from ferrule_mcp.approvals import Approvals
    from ferrule_mcp.server import Server

_DESCRIPTION_LIMIT = 4000
_NAMESPACE_LIMIT = 300


class McpTool(Tool):
    """Calls one tool of one server. `make_tool` makes a class of each."""

    server: ClassVar[Server]
    offered: ClassVar[Mapping[str, object]]
    approvals: ClassVar[Approvals]
    latest: Mapping[str, object] | None = None
    """What the server says of it meanwhile; the model was told `offered`."""

    @property
    def remote_name(self) -> str:
        """What the server calls it."""
        return str(self.offered["name"])

    @property
    def current(self) -> Mapping[str, object]:
        """What calls are judged by."""
        return self.offered if self.latest is None else self.latest

    def schema(self) -> FunctionSchema:
        """How the model is told to call it, in the server's words."""
        given = self.offered.get("inputSchema")
        schema = dict(cast("Mapping[str, object]", given)) if isinstance(given, dict) else {}
        schema.setdefault("type", "object")
        schema.setdefault("properties", {})
        schema.pop("$schema", None)
        return FunctionSchema(self.name, self.description, schema)

    def item(self, call: ToolCall, cwd: str) -> McpToolCallItem:
        """How the call is shown."""
        return {
            "type": "mcpToolCall",
            "id": call.call_id,
            "server": self.server.settings.name,
            "tool": self.remote_name,
            "arguments": json.loads(call.text),
            "status": "inProgress",
            "result": None,
            "error": None,
            "durationMs": None,
        }

    def requirement(self, call: ToolCall, sandbox: SandboxSession) -> Requirement:
        """Whether the call needs approval: by its mode, and what a trusted server says of it."""
        settings, tool = self.server.settings, self.remote_name
        mode = settings.mode(tool)
        standing = self.approvals.standing(settings, self.current)
        if standing == "approved":
            return Requirement()
        if standing == "none" and mode != "prompt" and self._is_harmless(mode):
            return Requirement()
        reason = f'Allow the {settings.name} MCP server to run tool "{tool}"?'
        if standing == "changed":
            reason = (
                f'The {settings.name} MCP server has changed its tool "{tool}" since it was '
                f"approved. {reason}"
            )
        details = {
            "tool_name": tool,
            "tool_description": str(self.current.get("description") or ""),
            "annotations": self._annotations,
            "fingerprint": fingerprint(self.current),
        }
        may_last = mode == "auto" or standing == "changed"
        amendments = (Amendment("mcp_tool", (settings.name, tool)),) if may_last else ()
        return Requirement("approval", reason, amendments=amendments, details=details)

    def _is_harmless(self, mode: str) -> bool:
        """Whether the server says so, and is believed."""
        if not self.server.settings.is_trusted:
            return False
        hints = self._annotations
        if hints.get("readOnlyHint") is True:
            return True
        is_contained = hints.get("destructiveHint") is False and hints.get("openWorldHint") is False
        return mode == "auto" and is_contained

    @property
    def _annotations(self) -> Mapping[str, object]:
        given = self.current.get("annotations")
        return cast("Mapping[str, object]", given) if isinstance(given, dict) else {}

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Call it, starting the server where it does not run."""
        from ferrule_mcp.questions import Caller

        started = time.monotonic()

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            count = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
            context.emit(
                {
                    "method": "item/mcpToolCall/progress",
                    "params": {
                        "threadId": context.thread_id,
                        "turnId": context.turn_id,
                        "itemId": call.call_id,
                        "message": message or count,
                    },
                }
            )

        caller = Caller.of(context, self.context.services, call.call_id)
        request = ToolRequest(self.remote_name, json.loads(call.text), tell, self.current)
        self.approvals.pin(self.server.settings, self.current)
        try:
            result = await self.server.call(caller, request)
        except ToolChangedError as error:
            return self._failed(call, started, self._changed(str(error)))
        except FerruleError as error:
            return self._failed(call, started, str(error))
        return self._done(call, started, result, context)

    def _changed(self, reason: str) -> str:
        """Judge the next call by what the tool is now, and tell the model what that is."""
        manifest = self.server.manifest
        now = None if manifest is None else manifest.tool(self.remote_name)
        if now is None:
            return reason
        if "inputSchema" in now and now["inputSchema"] != self.current.get("inputSchema"):
            schema = json.dumps(now["inputSchema"], ensure_ascii=False, default=dict)
            reason = f"{reason}. Its arguments are now: {schema[:_DESCRIPTION_LIMIT]}"
        self.latest = now
        return f"{reason}. Call it again if that is what you want."

    def _done(
        self, call: ToolCall, started: float, result: object, context: ToolContext
    ) -> ToolResult:
        import mcp_types

        from ferrule_mcp.results import model_output, wire_result

        answer = cast("mcp_types.CallToolResult", result)
        seconds = time.monotonic() - started
        item = self.item(call, context.cwd)
        item["result"] = wire_result(answer)
        item["status"] = "failed" if answer.is_error else "completed"
        item["durationMs"] = int(seconds * 1000)
        output = model_output(answer, seconds, context.output_token_limit)
        return ToolResult(output, not answer.is_error, item)

    def _failed(self, call: ToolCall, started: float, reason: str) -> ToolResult:
        item = self.item(call, "")
        item["status"] = "failed"
        item["error"] = {"message": reason}
        item["durationMs"] = int((time.monotonic() - started) * 1000)
        return ToolResult(reason, success=False, item=item)


def make_tool(
    context: PluginContext,
    offered: Mapping[str, object],
    kin: tuple[Server, ToolNamespace, Approvals],
) -> McpTool:
    """Make the tool of one entry of a server's list; `kin` is what it shares with the others."""
    server, namespace, approvals = kin
    settings, remote = server.settings, str(offered["name"])
    name = tool_name(settings.name, remote)
    hints = offered.get("annotations")
    is_read_only = isinstance(hints, dict) and hints.get("readOnlyHint") is True
    attributes = {
        "__doc__": f"The tool {remote!r} of the MCP server {settings.name!r}.",
        "name": name,
        "description": str(offered.get("description") or "")[:_DESCRIPTION_LIMIT],
        "parallel": settings.is_parallel,
        "read_only": settings.is_trusted and is_read_only,
        "server": server,
        "offered": offered,
        "approvals": approvals,
        "deferred": True,
        "namespace": namespace,
    }
    return cast("McpTool", type("McpTool", (McpTool,), attributes)(context))


def namespace_of(server: Server) -> ToolNamespace:
    """Describe what the tools of a server have in common."""
    name, manifest = server.settings.name, server.manifest
    said = "" if manifest is None else " ".join(manifest.instructions.split())
    about = said[:_NAMESPACE_LIMIT] or f"Tools of the MCP server {name}."
    return ToolNamespace(namespace_name(name), about)
