"""The tables of the configuration file, each defined once.

The light check, the JSON Schema and the reference page are all made from these definitions. The
annotations are real objects here, not texts, because the check reads them on every start.
"""

# No `from __future__ import annotations`: see the module docstring.
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from typing_extensions import TypedDict

from ferrule_hookspecs.policies import GranularPolicy


@dataclass(frozen=True)
class Minimum:
    """The least number a key takes."""

    bound: int

    def __get_pydantic_json_schema__(
        self, core_schema: object, handler: Callable[[object], dict[str, object]]
    ) -> dict[str, object]:
        """Show the bound in the JSON Schema."""
        return {**handler(core_schema), "minimum": self.bound}


Count = Annotated[int, Minimum(0)]
Positive = Annotated[int, Minimum(1)]
Milliseconds = Annotated[int, Minimum(0)]
StringMap = dict[str, str]


class ProviderAuth(TypedDict, total=False):
    """A command that prints a bearer token."""

    command: str
    args: list[str]
    cwd: str
    timeout_ms: Milliseconds
    refresh_interval_ms: Milliseconds


class ModelProvider(TypedDict, total=False):
    """Where a model is reached and how."""

    name: str
    """Name shown to people."""
    base_url: str
    """Address of the API, without the name of the method."""
    env_key: str
    """Environment variable that holds the key."""
    env_key_instructions: str
    """What to tell a person whose variable is missing."""
    experimental_bearer_token: str
    """A key written here in the clear; `env_key` or `auth` are better."""
    auth: ProviderAuth
    wire_api: str
    """Name of the provider plugin that speaks to it."""
    default_model: str
    """Model used where no `model` is configured."""
    query_params: StringMap
    http_headers: StringMap
    env_http_headers: StringMap
    """Headers whose values are read from environment variables."""
    request_max_retries: Count
    stream_max_retries: Count
    stream_idle_timeout_ms: Milliseconds
    websocket_connect_timeout_ms: Milliseconds
    requires_openai_auth: bool
    """Use what `ferrule login` left where no key is set."""
    supports_websockets: bool
    settings: dict[str, object]
    """What only the provider plugin understands."""


class Login(TypedDict, total=False):
    """Where one signs in, and what Ferrule is called there."""

    issuer: str
    """Address of the issuer; its metadata name the endpoints."""
    client_id: str
    """Name the issuer knows this program by."""
    scopes: list[str]
    """What is asked for; by default `openid`, `profile`, `email` and `offline_access`."""
    redirect_uri: str
    """Where the browser comes back to, on this machine; port 0 takes a free one."""
    parameters: StringMap
    """More parameters of the page where one agrees."""
    authorization_endpoint: str
    """In the place of what the issuer's metadata say; as are the other endpoints."""
    token_endpoint: str
    device_authorization_endpoint: str
    revocation_endpoint: str


class SandboxWorkspaceWrite(TypedDict, total=False):
    """What `sandbox_mode = "workspace-write"` grants beside the workspace."""

    writable_roots: list[str]
    """More folders that may be written."""
    network_access: bool
    exclude_tmpdir_env_var: bool
    """Keep `$TMPDIR` read-only."""
    exclude_slash_tmp: bool
    """Keep `/tmp` read-only."""


class ShellEnvironmentPolicy(TypedDict, total=False):
    """Which environment variables commands get."""

    inherit: Literal["all", "core", "none"]
    ignore_default_excludes: bool
    """Keep variables whose names look like secrets."""
    exclude: list[str]
    """Patterns of names to leave out."""
    include_only: list[str]
    """When not empty, only names that match one of these patterns stay."""
    set: StringMap
    """Variables to add or replace."""
    experimental_use_profile: bool


class ToolSettings(TypedDict, total=False):
    """Settings of one tool; keys beside `enabled` belong to the tool."""

    enabled: bool


class PluginPin(TypedDict, total=False):
    """One entry of an allow-list of plugins."""

    name: str
    version: str
    hash: str


class PluginSettings(TypedDict, total=False):
    """Rules about plugins; nothing that is refused here is ever imported."""

    disabled: list[str]
    """Distributions or entries that stay off."""
    required: list[str]
    """Distributions without which a session does not start."""
    overrides: StringMap
    """For a name two plugins claim (`group:name`), the distribution that gets it."""
    allow: list[str | PluginPin]
    """When present, only these distributions load."""
    block: list[str]
    """Distributions that never load."""
    isolation: dict[str, Literal["none", "process"]]
    """Where tools run, by plugin or distribution; `default` is for all that others made."""
    require_trust: bool
    """Whether plugins of others load only after `ferrule plugins trust`."""
    reload: bool
    """Whether open sessions take up what changes; else they keep what they began with."""
    settings: dict[str, dict[str, object]]
    """What plugins let you configure, by the name of the plugin's table."""


class Project(TypedDict, total=False):
    """What the user decided about one project."""

    trust_level: Literal["trusted", "untrusted"]


class History(TypedDict, total=False):
    """The list of inputs."""

    persistence: Literal["save-all", "none"]
    max_bytes: Count


class AutoReview(TypedDict, total=False):
    """How automatic reviewers work."""

    policy: str
    """What the reviewing model is told to allow and to refuse."""
    extra_policy: str
    """More of that, after it."""
    model: str
    """Model that reviews; without it that of the session, or the default of `provider`."""
    provider: str
    """Entry of `model_providers` that serves it; without it that of the session."""
    timeout_ms: Milliseconds
    """How long one review may take."""
    circuit_break_action: Literal["default", "strict"]
    """strict: a turn that ends for too many refusals ends with an error of its own."""
    lookups: Count
    """How often a review may look at files of the workspace; each time is one more request."""


class McpEnvVar(TypedDict, total=False):
    """A variable handed to an MCP server."""

    name: str
    source: Literal["local", "remote"]


class McpTool(TypedDict, total=False):
    """Settings of one tool of an MCP server."""

    approval_mode: Literal["auto", "prompt", "writes", "approve"]
    enabled: bool


class McpServer(TypedDict, total=False):
    """One MCP server: a command to start or a URL to reach."""

    command: str
    args: list[str]
    env: StringMap
    env_vars: list[str | McpEnvVar]
    cwd: str
    url: str
    bearer_token_env_var: str
    http_headers: StringMap
    env_http_headers: StringMap
    http_headers_helper: str | list[str] | dict[str, object]
    startup_timeout_sec: float
    startup_timeout_ms: Milliseconds
    tool_timeout_sec: float
    enabled: bool
    required: bool
    enabled_tools: list[str]
    disabled_tools: list[str]
    scopes: list[str]
    oauth: dict[str, object]
    oauth_resource: str
    auth: Literal["oauth", "chatgpt", "ema_auth"]
    tools: dict[str, McpTool]
    default_tools_approval_mode: Literal["auto", "prompt", "writes", "approve"]
    supports_parallel_tool_calls: bool
    trusted: bool
    sampling: bool
    """Let it ask the model, each time with approval."""


FilesystemAccess = Literal["read", "write", "none", "deny"]


class PermissionNetwork(TypedDict, total=False):
    """Network part of a permission profile."""

    enabled: bool
    """Let commands use the network; with `domains`, only these."""
    mode: Literal["limited", "full"]
    """limited: of the domains, only reading by plain HTTP."""
    domains: dict[str, Literal["allow", "deny"]]
    """Hosts and patterns such as `*.example.com`."""
    unix_sockets: dict[str, Literal["allow", "deny", "none"]]
    """Sockets of services on this machine."""
    allow_local_binding: bool
    """Accepted for compatibility; commands may always listen in a network of their own."""
    proxy_url: str
    """Accepted for compatibility, as the four below: the proxy and its ports are Ferrule's own."""
    socks_url: str
    enable_socks5: bool
    enable_socks5_udp: bool
    allow_upstream_proxy: bool


class PermissionEnvironment(TypedDict, total=False):
    """Variables of commands under a permission profile, on top of `shell_environment_policy`."""

    set: StringMap
    """Variables to add or replace."""
    exclude: list[str]
    """Patterns of names to leave out."""
    include_only: list[str]
    """When not empty, only names that match one of these patterns stay."""


class PermissionLimits(TypedDict, total=False):
    """What one command may use under a permission profile."""

    max_processes: Positive
    """Most processes."""
    max_memory: int | str
    """Most memory, as in `"4G"`."""


class Permissions(TypedDict, total=False):
    """One named permission profile."""

    extends: str
    """Profile whose entries hold where this one has none of its own."""
    description: str
    """What it is for."""
    workspace_roots: dict[str, bool]
    """More folders that count as the workspace."""
    filesystem: dict[str, FilesystemAccess | dict[str, FilesystemAccess] | int]
    """Access by path, glob pattern or place; `glob_scan_max_depth` bounds how deep `**` reaches."""
    network: PermissionNetwork
    environment: PermissionEnvironment
    limits: PermissionLimits
    debugging: bool
    """Commands may trace processes of their own, as debuggers do."""


class NetworkTls(TypedDict, total=False):
    """Which tunnels the network proxy looks into."""

    intercept: list[str]
    """Hosts; needs `ferrule-network[tls]`."""


class NetworkCredential(TypedDict, total=False):
    """A header with a secret that the network proxy puts into requests to one host."""

    host: str
    header: str
    value: str
    """With `${NAME}` for a variable of Ferrule's environment."""
    command: list[str]
    """A program that prints what `${OUTPUT}` stands for."""


class Network(TypedDict, total=False):
    """What commands may reach through the network proxy."""

    enabled: bool
    unknown: Literal["deny", "ask"]
    rules: list[str]
    presets: list[str]
    local_addresses: list[str]
    only_presets: list[str]
    only_hosts: list[str]
    only_local_addresses: list[str]
    tls: NetworkTls
    credentials: list[NetworkCredential]


class SkillChoice(TypedDict, total=False):
    """Turns one skill on or off."""

    path: str
    """Its `SKILL.md`, or the folder of that."""
    name: str
    """Its name, in place of the path."""
    enabled: bool
    """False switches it off; the last entry that names a skill counts."""


class BundledSkills(TypedDict, total=False):
    """Settings of the bundled skills."""

    enabled: bool


class Skills(TypedDict, total=False):
    """Which skills are offered to the model."""

    bundled: bool | BundledSkills
    """Accepted for compatibility: no skills come with the program."""
    include_instructions: bool
    """False leaves the list out; `$name` in a prompt still works."""
    config: list[SkillChoice]
    """Skills that are switched on or off."""
    max_context_tokens: Count
    """Size of the list of skills, 4,000 unless said otherwise."""


class Agents(TypedDict, total=False):
    """Subagents; every other key is a role and holds a table."""

    enabled: bool
    """Whether a model can start agents; true by default."""
    max_threads: Count
    """How many may be open below one root; 6 by default."""
    max_concurrent_threads_per_session: Count
    """The same."""
    max_depth: Count
    """How deep agents may start agents; 1, the default, lets only the root."""
    default_subagent_model: str
    """Their model where nobody names one; their parent's without it."""


class Budget(TypedDict, total=False):
    """What may be spent; what has no entry is not bounded."""

    tokens: Count
    """Tokens read and written, cached ones included."""
    cost_usd: Annotated[float, Minimum(0)]
    """US dollars by the prices of the model catalogue."""
    seconds: Annotated[float, Minimum(0)]
    """Time in which turns run."""
    requests: Count
    """Responses of a model."""


class Budgets(TypedDict, total=False):
    """Budgets; a project's file can only make them smaller."""

    turn: Budget
    """One turn, with what its subagents spend meanwhile."""
    thread: Budget
    """One thread, over all its turns."""
    tree: Budget
    """A thread with all its subagents."""


class Goals(TypedDict, total=False):
    """Goals that threads work towards."""

    max_goal_token_budget: Positive
    """Most tokens that a goal may use, and the budget of one that has none."""


class Otel(TypedDict, total=False):
    """Telemetry, off unless set; exporters have tables of their own."""

    exporter: str | dict[str, object]
    log_user_prompt: bool
    environment: str


OPEN_TABLES: Final = (ToolSettings, Agents, Otel)
"""Tables whose other keys are names given by users or plugins."""

AcceptableGap = Literal["protected_paths", "missing_names", "deny_read", "network"]
"""Features of a sandbox that a person may do without. Without confined writes there is no sandbox:
that is asked for as `sandbox_mode = "danger-full-access"`."""

ApprovalPolicySetting = Literal["untrusted", "on-failure", "on-request", "never"] | GranularPolicy
