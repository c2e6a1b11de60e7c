"""What a table `[mcp_servers.NAME]` says, checked and without its defaults left open."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, cast

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ApprovalMode = Literal["auto", "prompt", "writes", "approve"]
_NAME: Final = re.compile(r"[A-Za-z0-9_.:@/-]+")
_STARTUP_S: Final = 30.0
_CALL_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One MCP server.

    Attributes:
        name: Its name in the configuration.
        command: Program of a server on this machine, empty where it is reached by URL.
        args: Its arguments.
        env: Variables that are set for it.
        env_vars: Variables of ours that are handed on to it.
        cwd: Absolute folder it is started in.
        root: Absolute folder of the session, which it may ask for.
        url: Where a server of the network is reached.
        headers: HTTP headers, as they are.
        env_headers: HTTP headers, by the variable that holds their value.
        bearer_variable: Variable that holds the bearer token.
        scopes: What is asked for when a person signs in.
        client_id: What the issuer knows us by, where that is agreed beforehand.
        client_secret_variable: Variable that holds the secret of that client.
        client_metadata_url: Address that tells issuers about us, which some take for a client id.
        is_enabled: Whether it is used at all.
        is_required: Whether a session must not open without it.
        is_trusted: Whether what it says about its own tools counts.
        is_parallel: Whether its tools may be called at the same time.
        may_sample: Whether it may ask the model, each time with approval.
        startup_s: How long it may take to start.
        call_s: How long a call may take.
        enabled_tools: The only tools that are offered; None for all.
        disabled_tools: Tools that are not offered.
        default_mode: When a call of a tool needs approval.
        modes: The same for single tools.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    env_vars: tuple[str, ...] = ()
    cwd: str = ""
    root: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    env_headers: Mapping[str, str] = field(default_factory=dict[str, str])
    bearer_variable: str = ""
    scopes: tuple[str, ...] = ()
    client_id: str = ""
    client_secret_variable: str = ""
    client_metadata_url: str = ""
    is_enabled: bool = True
    is_required: bool = False
    is_trusted: bool = False
    is_parallel: bool = False
    may_sample: bool = False
    startup_s: float = _STARTUP_S
    call_s: float = _CALL_S
    enabled_tools: frozenset[str] | None = None
    disabled_tools: frozenset[str] = frozenset()
    default_mode: ApprovalMode = "auto"
    modes: Mapping[str, ApprovalMode] = field(default_factory=dict[str, "ApprovalMode"])

    def offers(self, tool: str) -> bool:
        """Whether a tool of the server is offered."""
        if tool in self.disabled_tools:
            return False
        return self.enabled_tools is None or tool in self.enabled_tools

    def mode(self, tool: str) -> ApprovalMode:
        """When a call of a tool needs approval."""
        return self.modes.get(tool, self.default_mode)

    def identity(self, environ: Mapping[str, str]) -> str:
        """What two sessions must have in common to share one running server."""
        handed = {name: environ.get(name) for name in (*self.env_vars, self.bearer_variable)}
        handed |= {name: environ.get(name) for name in self.env_headers.values()}
        kind = (self.startup_s, self.call_s, self.may_sample, self.root)
        return self._digest([self.cwd, dict(self.env), dict(self.headers), handed, kind])

    @property
    def manifest_key(self) -> str:
        """Under what its tools are remembered. No value that may be a secret goes into it."""
        folder = os.path.dirname(self.command)
        cwd = self.cwd if folder and not os.path.isabs(folder) else ""
        return self._digest([cwd, sorted(self.env), sorted(self.headers)])

    def _digest(self, more: object) -> str:
        place = [self.name, self.command, self.args, self.url, self.env_vars]
        text = json.dumps([place, more], sort_keys=True, default=list)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def read_servers(
    tables: Mapping[str, object], cwd: str
) -> tuple[list[ServerSettings], dict[str, str]]:
    """Read all tables; returns the servers by name, and what is wrong with the others."""
    servers: list[ServerSettings] = []
    faults: dict[str, str] = {}
    for name in sorted(tables):
        try:
            servers.append(read_server(name, tables[name], cwd))
        except ConfigError as error:
            faults[name] = str(error)
    return servers, faults


def read_server(name: str, value: object, cwd: str) -> ServerSettings:
    """Read one table.

    Raises:
        ConfigError: It cannot be obeyed.
    """
    where = f"mcp_servers.{name}"
    if not isinstance(value, dict) and not hasattr(value, "keys"):
        raise ConfigError(f"{where} is no table")
    table = cast("Mapping[str, object]", value)
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{where}: a name is made of letters, digits and any of - _ . : @ /")
    command, url = str(table.get("command") or ""), str(table.get("url") or "")
    if bool(command) == bool(url):
        raise ConfigError(f"{where} needs either `command` or `url`")
    for key in ("http_headers_helper", "auth"):
        if key in table and table[key] != "oauth":
            raise ConfigError(f"{where}.{key} is not supported")
    tools = _tables(table.get("tools"))
    oauth = _map(table.get("oauth"))
    enabled = table.get("enabled_tools")
    off = [tool for tool, each in tools.items() if each.get("enabled") is False]
    return ServerSettings(
        name,
        command=command,
        args=tuple(_texts(table.get("args"))),
        env=_map(table.get("env")),
        env_vars=tuple(_variables(table.get("env_vars"), where)),
        cwd=_folder(table.get("cwd"), cwd),
        root=_folder(None, cwd),
        url=url,
        headers=_map(table.get("http_headers")),
        env_headers=_map(table.get("env_http_headers")),
        bearer_variable=str(table.get("bearer_token_env_var") or ""),
        scopes=tuple(_texts(table.get("scopes"))),
        client_id=oauth.get("client_id", ""),
        client_secret_variable=oauth.get("client_secret_env_var", ""),
        client_metadata_url=oauth.get("client_metadata_url", ""),
        is_enabled=table.get("enabled") is not False,
        is_required=table.get("required") is True,
        is_trusted=table.get("trusted") is True,
        is_parallel=table.get("supports_parallel_tool_calls") is True,
        may_sample=table.get("sampling") is True,
        startup_s=_startup(table),
        call_s=_number(table.get("tool_timeout_sec"), _CALL_S),
        enabled_tools=None if enabled is None else frozenset(_texts(enabled)),
        disabled_tools=frozenset([*_texts(table.get("disabled_tools")), *off]),
        default_mode=cast("ApprovalMode", table.get("default_tools_approval_mode") or "auto"),
        modes={
            tool: cast("ApprovalMode", each["approval_mode"])
            for tool, each in tools.items()
            if "approval_mode" in each
        },
    )


def _startup(table: Mapping[str, object]) -> float:
    if "startup_timeout_sec" not in table and "startup_timeout_ms" in table:
        return _number(table["startup_timeout_ms"], _STARTUP_S * 1000) / 1000
    return _number(table.get("startup_timeout_sec"), _STARTUP_S)


def _folder(value: object, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd or os.sep, os.path.expanduser(str(value or ""))))


def _variables(value: object, where: str) -> list[str]:
    names: list[str] = []
    for each in cast("Sequence[object]", value or ()):
        if isinstance(each, str):
            names.append(each)
            continue
        entry = cast("Mapping[str, object]", each)
        if entry.get("source", "local") != "local":
            raise ConfigError(f"{where}.env_vars: only variables of this machine can be handed on")
        names.append(str(entry.get("name")))
    return names


def _texts(value: object) -> list[str]:
    return [str(each) for each in cast("Sequence[object]", value or ())]


def _map(value: object) -> dict[str, str]:
    return {key: str(each) for key, each in cast("Mapping[str, object]", value or {}).items()}


def _tables(value: object) -> dict[str, Mapping[str, object]]:
    tables = cast("Mapping[str, Mapping[str, object]]", value or {})
    return dict(tables)


def _number(value: object, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return float(value) if value > 0 else default
