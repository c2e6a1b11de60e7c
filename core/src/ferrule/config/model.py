"""The configuration file as a whole: every known key, with its type and one line of help."""

# No `from __future__ import annotations`: the light check reads these annotations as objects.
from typing import Literal

from typing_extensions import TypedDict

from ferrule.config import settings as s
from ferrule_hookspecs.policies import SandboxMode


class ConfigFile(TypedDict, total=False):
    """Configuration of Ferrule, as in `config.toml`."""

    # --- the model
    model: str
    """Model to use."""
    model_provider: str
    """Entry of `model_providers` that serves the model."""
    model_providers: dict[str, s.ModelProvider]
    """Model providers by id."""
    openai_base_url: str
    """Address of the built-in provider `openai`."""
    model_context_window: s.Count
    """Size of the model's context in tokens."""
    model_auto_compact_token_limit: s.Count
    """Tokens in the context at which the history is shortened."""
    model_auto_compact_token_limit_scope: Literal["total", "body_after_prefix"]
    """What counts towards the limit."""
    model_reasoning_effort: str
    """How long the model thinks: minimal, low, medium, high or what the model knows."""
    plan_mode_reasoning_effort: str
    """The same while planning."""
    model_reasoning_summary: Literal["auto", "concise", "detailed", "none"]
    """How reasoning is summarised."""
    model_verbosity: Literal["low", "medium", "high"]
    """How long answers are."""
    model_instructions_file: str
    """File that replaces the built-in base prompt."""
    instructions: str
    """Text that is added to the base prompt."""
    developer_instructions: str
    """Text sent as a developer message."""
    compact_prompt: str
    """Prompt that asks for a summary of the history."""
    experimental_compact_prompt_file: str
    """File with that prompt."""
    model_catalog_json: str
    """File with facts about models."""
    review_model: str
    """Model for reviews."""
    service_tier: str
    """Service tier asked of the provider."""
    personality: str
    """Tone of the answers."""
    oss_provider: str
    """Provider meant by `--oss`."""

    # --- safety
    approval_policy: s.ApprovalPolicySetting
    """When a person or reviewer is asked before something runs."""
    approvals_reviewer: str
    """Reviewer plugin that answers."""
    policy_plugin: str
    """Plugin whose allowing rules count as standing approvals of the user."""
    auto_review: s.AutoReview
    """Settings of automatic reviewers."""
    reviewers: dict[str, dict[str, object]]
    """Settings of reviewer plugins by name."""
    sandbox_mode: SandboxMode
    """What commands may write and reach."""
    sandbox_workspace_write: s.SandboxWorkspaceWrite
    """Grants of the mode workspace-write."""
    sandbox_backend: str
    """Sandbox plugin; `auto` takes the best one that works here."""
    sandbox_accept_gaps: list[s.AcceptableGap]
    """What the sandbox need not enforce where it cannot; a project's file cannot say so."""
    sandbox_recipes: list[str]
    """What programs need of the sandbox in workspace-write, by name: `ferrule sandbox recipes`."""
    overlay: bool
    """Run sessions in a view of the workspace; a project's file cannot say so."""
    sandboxes: dict[str, dict[str, object]]
    """Settings of sandbox plugins by name."""
    sandbox_deny_read: list[str]
    """Paths and glob patterns that commands must not read, relative to the working directory."""
    sandbox_max_processes: s.Positive
    """Most processes of one command."""
    sandbox_max_memory: int | str
    """Most memory of one command, as in `"4G"`."""
    sandbox_debugging: bool
    """Let commands trace processes of their own, as debuggers do."""
    default_permissions: str
    """Permission profile that commands run under, in place of `sandbox_mode`."""
    permissions: dict[str, s.Permissions]
    """Permission profiles by name."""
    network: s.Network
    """What commands may reach through the network proxy; a project's file cannot say so."""
    shell_environment_policy: s.ShellEnvironmentPolicy
    """Which variables commands get."""
    allow_login_shell: bool
    """Whether commands may ask for a login shell."""
    projects: dict[str, s.Project]
    """Trust by project folder."""
    project_root_markers: list[str]
    """Names that mark the root of a project."""

    # --- tools and plugins
    tools: dict[str, bool | s.ToolSettings]
    """Settings of tools by name."""
    plugins: s.PluginSettings
    """Which plugins may load."""
    tool_output_token_limit: s.Count
    """Most tokens of one tool's output that the model sees."""
    background_terminal_max_timeout: s.Milliseconds
    """Longest wait for output of a background command, in milliseconds."""
    web_search: Literal["disabled", "cached", "indexed", "live"]
    """How the web may be searched."""
    mcp_servers: dict[str, s.McpServer]
    """MCP servers by name."""
    mcp_oauth_credentials_store: Literal["auto", "file", "keyring", "ephemeral"]
    """Where credentials of MCP servers are kept."""
    mcp_oauth_callback_port: s.Count
    """Port for the answer of an OAuth login."""
    mcp_optional_startup_grace_ms: s.Milliseconds
    """How long the first request waits for optional MCP servers."""
    hooks: dict[str, object]
    """Hook commands by event."""
    skills: s.Skills
    """Which skills are offered."""
    agents: s.Agents
    """Subagents and their roles."""
    notify: list[str]
    """Program that is told when a turn ends."""
    features: dict[str, bool]
    """Switches for single features."""

    # --- storage
    store: str
    """Thread store plugin."""
    stores: dict[str, dict[str, object]]
    """Settings of thread stores by name."""
    compactor: str
    """Plugin that shortens a long history."""
    compactors: dict[str, dict[str, object]]
    """Settings of compactors by name."""
    history: s.History
    """What is kept of what was typed."""
    log_dir: str
    """Folder for logs."""
    sqlite_home: str
    """Folder for derived databases."""
    cli_auth_credentials_store: Literal["file", "keyring", "auto", "ephemeral"]
    """Where a sign-in is kept: `auth.json`, the system's keyring, or that if it works."""
    login: s.Login
    """Where one signs in with an account."""
    forced_login_method: Literal["chatgpt", "api"]
    """The one way to sign in: with an account, or with an API key."""
    forced_chatgpt_workspace_id: str | list[str]
    """Accounts of which one must be signed in with."""

    # --- what the model is told
    project_doc_max_bytes: s.Count
    """Most bytes of AGENTS.md files that are sent."""
    project_doc_fallback_filenames: list[str]
    """Names tried where there is no AGENTS.md."""
    include_permissions_instructions: bool
    """Tell the model what it may do."""
    include_environment_context: bool
    """Tell the model about the machine."""
    include_environment_context_time: bool
    """Tell the model the time as well."""
    hide_agent_reasoning: bool
    """Show no reasoning."""
    show_raw_agent_reasoning: bool
    """Show reasoning as it comes."""

    # --- surfaces and telemetry
    transports: dict[str, dict[str, object]]
    """Settings of transports by name."""
    servers: dict[str, dict[str, object]]
    """Settings of servers by name."""
    engines: dict[str, dict[str, object]]
    """Settings of fleet engines by name."""
    otel: s.Otel
    """Telemetry."""
    analytics: dict[str, object]
    """Accepted for compatibility; nothing is collected."""
    feedback: dict[str, object]
    """Accepted for compatibility; nothing is sent."""
    budgets: s.Budgets
    """What a turn, a thread and a thread with its subagents may spend."""
    goals: s.Goals
    """Limits of goals."""
    memories: dict[str, object]
    """Settings of memories."""
    tui: dict[str, object]
    """Looks of the terminal interface."""
    notice: dict[str, object]
    """Notices that were dismissed."""
    file_opener: str
    """Editor that links to files open in."""
    disable_paste_burst: bool
    """Take pasted text as typed."""
    check_for_update_on_startup: bool
    """Accepted for compatibility; nothing is checked."""
    suppress_unstable_features_warning: bool
    """Accepted for compatibility."""
    ghost_snapshot: dict[str, object]
    """Settings of undo snapshots."""
    tool_suggest: dict[str, object]
    """Accepted for compatibility."""
    marketplaces: dict[str, object]
    """Accepted for compatibility."""
    responses_api_metadata: dict[str, object]
    """Metadata sent with requests."""
    model_post_turn_compact_threshold_percent: s.Count
    """Accepted for compatibility; `model_auto_compact_token_limit` says when that is done."""
    thread_unload_delay_secs: s.Count
    """How long an idle thread stays in memory."""
    experimental_thread_store: Literal["local", "in_memory"]
    """Accepted for compatibility; see `store`."""
