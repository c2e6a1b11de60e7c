"""What clients of the app-server may ask about servers."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, cast

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import RpcCall, RpcError, RpcMethod
from ferrule_mcp import rpc_types as t
from ferrule_mcp.pool import pool_of
from ferrule_mcp.server_settings import read_server, read_servers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_mcp.server import Server
    from ferrule_mcp.server_settings import ServerSettings
    from ferrule_mcp.sign_in_store import Wish
    from ferrule_mcp.thread_servers import ThreadServers

_INVALID_PARAMS = -32602
_LOGGED_IN = "mcpServer/oauthLogin/completed"


def methods(context: PluginContext, threads: Mapping[str, ThreadServers]) -> Sequence[RpcMethod]:
    """Make the methods of one server of the app-server."""
    made = _Methods(context, threads)
    return (
        RpcMethod(
            "mcpServerStatus/list", made.status_list, t.StatusListParams, result=t.StatusListResult
        ),
        RpcMethod("mcpServer/tool/call", made.tool_call, t.ToolCallParams, result=t.ToolCallResult),
        RpcMethod(
            "mcpServer/resource/read",
            made.resource_read,
            t.ResourceReadParams,
            result=t.ResourceReadResult,
        ),
        RpcMethod(
            "mcpServer/prompt/list",
            made.prompt_list,
            t.PromptListParams,
            experimental=True,
            result=t.PromptListResult,
        ),
        RpcMethod(
            "mcpServer/prompt/get",
            made.prompt_get,
            t.PromptGetParams,
            experimental=True,
            result=t.PromptGetResult,
        ),
        RpcMethod(
            "mcpServer/oauth/login",
            made.login,
            t.LoginParams,
            result=t.LoginResult,
            notifications={_LOGGED_IN: t.LoginCompletedParams},
        ),
        RpcMethod("config/mcpServer/reload", made.reload, result=t.ReloadResult),
    )


class _Methods:
    """Answers calls; what is started only for an answer ends after it."""

    def __init__(self, context: PluginContext, threads: Mapping[str, ThreadServers]) -> None:
        self._context = context
        self._threads = threads

    async def status_list(self, call: RpcCall) -> Mapping[str, object]:
        """List the servers with what they offer; they are started for it where need be."""
        from anyio import create_task_group

        params = cast("t.StatusListParams", call.params)
        wanted, names = params.get("serverName"), self._names(call)
        chosen = [name for name in names if wanted in (None, name)]
        page, cursor = _page(chosen, params)
        rows: dict[str, Mapping[str, object]] = {}
        is_full = params.get("detail") != "toolsAndAuthOnly"

        async def add(name: str, server: Server) -> None:
            rows[name] = await _row(server, is_full=is_full)

        async def ask(servers: Mapping[str, Server]) -> None:
            async with create_task_group() as group:
                for name in page:
                    if name in servers:
                        group.start_soon(add, name, servers[name])

        await self._with_servers(call, params.get("threadId"), page, ask)
        data = [rows[name] if name in rows else _off_row(name) for name in page]
        return {"data": data, "nextCursor": cursor}

    async def tool_call(self, call: RpcCall) -> Mapping[str, object]:
        """Call a tool in the client's own name; nobody is asked for approval."""
        from ferrule_mcp.questions import Caller
        from ferrule_mcp.server import ToolRequest

        params = cast("t.ToolCallParams", call.params)
        arguments = params.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise RpcError("arguments must be an object", _INVALID_PARAMS)
        caller = Caller(params["threadId"], None, None)
        found: list[Mapping[str, object]] = []

        async def ask(servers: Mapping[str, Server]) -> None:
            server = _one(servers, params["server"])
            if not server.settings.offers(params["tool"]):
                raise RpcError(f"the tool {params['tool']!r} is switched off", _INVALID_PARAMS)
            request = ToolRequest(params["tool"], cast("dict[str, object]", arguments))
            result = await server.call(caller, request)
            told = result.model_dump(by_alias=True, mode="json", exclude_none=True)
            keys = ("content", "structuredContent", "isError", "_meta")
            found.append({key: told[key] for key in keys if key in told})

        await self._with_servers(call, params["threadId"], (params["server"],), ask)
        return found[0]

    async def resource_read(self, call: RpcCall) -> Mapping[str, object]:
        """Read a resource."""
        from ferrule_mcp.resources import read_resource

        params = cast("t.ResourceReadParams", call.params)
        found: list[Mapping[str, object]] = []

        async def ask(servers: Mapping[str, Server]) -> None:
            found.extend(await read_resource(_one(servers, params["server"]), params["uri"]))

        await self._with_servers(call, params.get("threadId"), (params["server"],), ask)
        return {"contents": found}

    async def prompt_list(self, call: RpcCall) -> Mapping[str, object]:
        """List the prompts of a server."""
        from ferrule_mcp.prompts import prompt_list

        params = cast("t.PromptListParams", call.params)
        found: list[Mapping[str, object]] = []

        async def ask(servers: Mapping[str, Server]) -> None:
            found.extend(await prompt_list(_one(servers, params["server"])))

        await self._with_servers(call, params.get("threadId"), (params["server"],), ask)
        return {"prompts": found}

    async def prompt_get(self, call: RpcCall) -> Mapping[str, object]:
        """Fill in a prompt, which the client may then send as input."""
        from ferrule_mcp.prompts import filled_prompt

        params = cast("t.PromptGetParams", call.params)
        found: dict[str, object] = {}

        async def ask(servers: Mapping[str, Server]) -> None:
            server = _one(servers, params["server"])
            found.update(await filled_prompt(server, params["name"], params.get("arguments") or {}))

        await self._with_servers(call, params.get("threadId"), (params["server"],), ask)
        return found

    async def login(self, call: RpcCall) -> Mapping[str, object]:
        """Return the address a person must visit; how it ends is told to every client."""
        import anyio

        from ferrule_mcp.sign_in import Browser, sign_in

        params = cast("t.LoginParams", call.params)
        settings = self._remote(call, params)
        port = cast("int", call.config.get("mcp_oauth_callback_port", 0))
        urls: list[str] = []
        has_begun = anyio.Event()
        ends: list[str | None] = []

        async def show(url: str) -> None:
            urls.append(url)
            has_begun.set()

        async def work() -> None:
            error: str | None = f"it took longer than {params.get('timeoutSecs')} s"
            with anyio.move_on_after(params.get("timeoutSecs") or inf):
                try:
                    home, environ = self._context.home, self._context.environ
                    await sign_in(settings, home, Browser(show, port), _wish(call), environ)
                    error = None
                except FerruleError as fault:
                    error = str(fault)
            ends.append(error)
            has_begun.set()
            told = {"name": settings.name, "success": error is None, "error": error}
            call.broadcast(_LOGGED_IN, {**told, "threadId": params.get("threadId")})

        call.client.start_soon(work)
        await has_begun.wait()
        if not urls:
            raise RpcError(ends[0] or "it asks nobody to sign in")
        return {"authorizationUrl": urls[0]}

    def _remote(self, call: RpcCall, params: t.LoginParams) -> ServerSettings:
        table = _tables(call).get(params["name"])
        if table is None:
            raise RpcError(f"there is no MCP server {params['name']!r}", _INVALID_PARAMS)
        settings = read_server(params["name"], table, call.request.cwd)
        if not settings.url:
            raise RpcError(
                f"the MCP server {settings.name!r} has no URL to sign in to", _INVALID_PARAMS
            )
        return replace(settings, scopes=tuple(params.get("scopes") or settings.scopes))

    async def reload(self, call: RpcCall) -> Mapping[str, object]:
        """Say what is wrong with the tables, if anything is.

        There is nothing else to do: threads take up tables that have changed with their next turn,
        and calls that are under way end where they began.
        """
        _, faults = read_servers(_tables(call), call.request.cwd)
        if faults:
            raise RpcError("; ".join(faults.values()), _INVALID_PARAMS)
        return {}

    def _names(self, call: RpcCall) -> list[str]:
        params = cast("t.StatusListParams", call.params)
        thread = self._threads.get(params.get("threadId") or "")
        return sorted({*_tables(call), *(thread.servers if thread is not None else ())})

    async def _with_servers(
        self,
        call: RpcCall,
        thread_id: str | None,
        names: Sequence[str],
        ask: Callable[[Mapping[str, Server]], Awaitable[None]],
    ) -> None:
        """Lend the servers of a thread, or those of the configuration for as long as it takes."""
        thread = self._threads.get(thread_id or "")
        if thread is not None:
            await ask(thread.servers)
            return
        settings, _ = read_servers(_tables(call), call.request.cwd)
        pool, holder = pool_of(call.kernel.runtime), _Visitor()
        servers = {
            each.name: pool.hold(each, self._context.environ, self._context.home, holder)
            for each in settings
            if each.is_enabled and each.name in names
        }
        try:
            await ask(servers)
        finally:
            await pool.release(servers.values(), holder)


class _Visitor:
    """Uses servers for one answer and is told nothing."""

    def told(self, server: str, status: str, error: str | None) -> None:
        """Hear nothing."""

    def warned(self, message: str) -> None:
        """Hear nothing."""

    def offered(self, server: Server) -> None:
        """Hear nothing."""


def _wish(call: RpcCall) -> Wish:
    wish = call.config.get("mcp_oauth_credentials_store", "auto")
    return cast("Wish", wish if wish in ("keyring", "file") else "auto")


def _tables(call: RpcCall) -> Mapping[str, object]:
    return cast("Mapping[str, object]", call.config.get("mcp_servers", {}) or {})


def _one(servers: Mapping[str, Server], name: str) -> Server:
    server = servers.get(name)
    if server is None:
        raise RpcError(f"there is no MCP server {name!r} that may be used", _INVALID_PARAMS)
    return server


def _page(names: Sequence[str], params: t.StatusListParams) -> tuple[Sequence[str], str | None]:
    cursor = params.get("cursor") or "0"
    start = int(cursor) if cursor.isdigit() else 0
    limit = params.get("limit") or len(names)
    end = start + max(limit, 1)
    return names[start:end], str(end) if end < len(names) else None


async def _row(server: Server, *, is_full: bool) -> Mapping[str, object]:
    from ferrule_mcp.resources import resource_list

    settings = server.settings
    row = _off_row(settings.name)
    try:
        connection = await server.opened()
        row["tools"] = {
            str(tool["name"]): tool
            for tool in connection.manifest.tools
            if settings.offers(str(tool["name"]))
        }
        row["serverInfo"] = connection.manifest.server_info or None
        row["serverCapabilities"] = connection.manifest.capabilities
        if is_full:
            row["resources"] = await resource_list(server, "list_resources", "resources")
            row["resourceTemplates"] = await resource_list(
                server, "list_resource_templates", "resource_templates"
            )
    except FerruleError as error:
        row["toolsError"] = str(error)
    row["runtimeStatus"] = server.state
    row["authStatus"] = server.sign_in_state
    return row


def _off_row(name: str) -> dict[str, object]:
    return {
        "name": name,
        "tools": {},
        "resources": [],
        "resourceTemplates": [],
        "authStatus": "unsupported",
        "runtimeStatus": "disabled",
    }
