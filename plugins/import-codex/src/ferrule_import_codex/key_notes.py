"""What is known about Codex's configuration keys beyond whether Ferrule accepts them.

Pure data: a dotted key, in which `*` stands for any one name, and what a user must be told. A key
without an entry means here what it means there. Longer patterns win over shorter ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_import_codex.report import Status


class Note(NamedTuple):
    """What becomes of a key.

    Attributes:
        status: `left` keeps it out; every other status takes it over and says so.
        text: Why.
        value: The note is for this value only; None is for every value.
        part: Name of the plugin that reads the key; with it installed the key is simply taken.
        drops: Keeps the key out unless dangerous values were asked for.
    """

    status: Status
    text: str
    value: object = None
    part: str = ""
    drops: bool = False


_OWN_DATA: Final = Note("left", "every program keeps its own data in its own home")
_HOOKS: Final = Note("left", "hooks run commands; write those you want into this home by hand")
_UNREAD: Final = Note("waiting", "accepted, without effect so far")
_NOTHING_SENT: Final = Note("left", "nothing of the kind is collected, sent or checked here")
_SECRET: Final = Note("secret", "in the clear; a variable named by `env_key` is better")


NOTES: Final[dict[str, Sequence[Note]]] = {
    # --- safety
    "approval_policy": (
        Note("restored", "asks about everything that may change something", "untrusted"),
        Note("restored", "asks when the sandbox refused a command", "on-failure"),
        Note("danger", "taken over: nobody is asked; what needs approval is refused", "never"),
    ),
    "sandbox_mode": (
        Note(
            "danger",
            "no sandbox at all: only --allow-dangerous takes it over",
            "danger-full-access",
            drops=True,
        ),
    ),
    "sandbox_workspace_write.network_access": (
        Note("danger", "taken over: commands may use the network", value=True),
    ),
    "sandbox_workspace_write.writable_roots": (
        Note("danger", "taken over: these folders can be written from every project"),
    ),
    "shell_environment_policy.ignore_default_excludes": (
        Note("danger", "taken over: commands see variables that look like secrets", value=True),
    ),
    "default_permissions": (
        Note("left", "choose it once its table is brought over; see sandbox_mode"),
    ),
    "permissions.*": (
        Note("left", "profiles work here as they are written: read the table, then copy it"),
    ),
    "projects.*.trust_level": (
        Note("trust", "its configuration is read, and can only narrow safety here", "trusted"),
        Note("trust", "nothing of the project's configuration is read", "untrusted"),
    ),
    "hooks": (_HOOKS,),
    "notify": (Note("changed", "the program gets `client` = ferrule_exec instead of codex_exec"),),
    # --- the model
    "profile": (
        Note("changed", "no profile is chosen by default here: give `--profile NAME` each time"),
    ),
    "model_providers.*.experimental_bearer_token": (_SECRET,),
    "model_providers.*.wire_api": (
        Note("restored", "Chat Completions, by the part `chat`", "chat"),
    ),
    "model_providers.*.http_headers.*": (_SECRET,),
    "model_providers.*.requires_openai_auth": (
        Note("changed", "what `ferrule login` stores counts; accounts need the table [login]"),
    ),
    "model_instructions_file": (Note("changed", "this prompt was written for another program"),),
    "compact_prompt": (_UNREAD._replace(part="compaction"),),
    "model_post_turn_compact_threshold_percent": (_UNREAD,),
    "personality": (_UNREAD,),
    "review_model": (_UNREAD._replace(part="review"),),
    "plan_mode_reasoning_effort": (_UNREAD,),
    # --- parts that may be missing
    "mcp_servers.*": (Note("waiting", "no installed part starts MCP servers yet", part="mcp"),),
    "mcp_servers.*.env.*": (
        Note("secret", "in the clear; `env_vars` hands a variable on instead"),
    ),
    "mcp_servers.*.http_headers.*": (
        Note("secret", "in the clear; `env_http_headers` reads it from a variable instead"),
    ),
    "mcp_servers.*.bearer_token": (
        Note(
            "left", "a secret in the clear; put it into a variable, bearer_token_env_var names it"
        ),
    ),
    "mcp_oauth_credentials_store": (_UNREAD._replace(part="mcp"),),
    "mcp_oauth_callback_port": (_UNREAD._replace(part="mcp"),),
    "mcp_optional_startup_grace_ms": (_UNREAD._replace(part="mcp"),),
    "skills": (_UNREAD._replace(part="skills"),),
    "skills.bundled": (Note("waiting", "no skills come with the program"),),
    "agents": (_UNREAD._replace(part="agents"),),
    "web_search": (_UNREAD._replace(part="web-search"),),
    "project_doc_max_bytes": (_UNREAD._replace(part="instructions"),),
    "project_doc_fallback_filenames": (_UNREAD._replace(part="instructions"),),
    "tui": (_UNREAD._replace(part="tui"),),
    "file_opener": (_UNREAD._replace(part="tui"),),
    "hide_agent_reasoning": (_UNREAD._replace(part="tui"),),
    "show_raw_agent_reasoning": (_UNREAD._replace(part="tui"),),
    "disable_paste_burst": (_UNREAD._replace(part="tui"),),
    "otel": (_UNREAD._replace(part="otel"),),
    "memories": (_UNREAD,),
    "goals": (_UNREAD._replace(part="goals"),),
    "ghost_snapshot": (_UNREAD,),
    "allow_login_shell": (_UNREAD,),
    "history": (_UNREAD,),
    "features": (Note("waiting", "only a part that knows the feature looks at it"),),
    # --- what stays behind
    "log_dir": (_OWN_DATA,),
    "sqlite_home": (_OWN_DATA,),
    "notice": (Note("left", "dismissed notices of another program"),),
    "analytics": (_NOTHING_SENT,),
    "feedback": (_NOTHING_SENT,),
    "check_for_update_on_startup": (_NOTHING_SENT,),
    "experimental_thread_store": (Note("left", "`store` chooses where threads are kept"),),
    "chatgpt_base_url": (Note("left", "name the address in a table of model_providers"),),
    "plugins": (Note("left", "Codex's plugins are not Ferrule's"),),
    "marketplaces": (Note("left", "Codex's plugins are not Ferrule's"),),
    "windows": (Note("left", "settings of Codex's own sandbox on Windows"),),
}

PATH_KEYS: Final = (
    "model_instructions_file",
    "model_catalog_json",
    "skills.config.*.path",
    "agents.*.config_file",
)
"""Keys whose relative paths are looked up from the folder of the file they stand in."""

GONE: Final = {
    "experimental_instructions_file": "use model_instructions_file",
    "model_max_output_tokens": "Codex dropped it, too",
    "experimental_use_freeform_apply_patch": "patches are always freeform",
    "preferred_auth_method": "use forced_login_method",
    "model_supports_reasoning_summaries": "use model_reasoning_summary",
    "zsh_path": "commands run in bash",
    "disable_response_storage": "nothing is ever stored at the provider",
}
"""What old files hold, and what to do instead."""


def find_note(path: Sequence[str], value: object, parts: frozenset[str]) -> Note | None:
    """Find what is to be told of a key, itself or the table it stands in."""
    for length in range(len(path), 0, -1):
        for pattern, notes in NOTES.items():
            if not matches(pattern, path[:length]):
                continue
            for note in notes:
                if note.part and note.part in parts:
                    continue
                if note.value is None or note.value == value:
                    return note
    return None


def matches(pattern: str, path: Sequence[str]) -> bool:
    """Whether a pattern of `NOTES` stands for a key."""
    names = pattern.split(".")
    return len(names) == len(path) and all(
        name in ("*", part) for name, part in zip(names, path, strict=True)
    )
