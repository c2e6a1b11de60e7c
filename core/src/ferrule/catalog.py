"""The parts that belong to Ferrule itself: which distribution ships which name.

These names are reserved, so that a stranger's package cannot slip in where ours is expected, and
the table says what to install when a name is asked for that is not there. It is data, not code:
nothing here is imported or called, and a test keeps it equal to the workspace.
"""

from __future__ import annotations

from typing import Final

CATALOG: Final[dict[str, dict[str, str]]] = {
    "ferrule.plugins": {
        "apply_patch": "ferrule-apply-patch",
        "bubblewrap": "ferrule-sandbox-bubblewrap",
        "files": "ferrule-files",
        "goals": "ferrule-goals",
        "hooks": "ferrule-hooks",
        "instructions": "ferrule-instructions",
        "login": "ferrule-login",
        "mcp": "ferrule-mcp",
        "models": "ferrule-models",
        "network": "ferrule-network",
        "notify": "ferrule-notify",
        "overlay": "ferrule-overlay",
        "recipes": "ferrule-recipes",
        "review": "ferrule-review",
        "rules": "ferrule-rules",
        "shell": "ferrule-shell",
        "skills": "ferrule-skills",
        "turn_diff": "ferrule-turn-diff",
    },
    "ferrule.tools": {
        "apply_patch": "ferrule-apply-patch",
        "close_agent": "ferrule-agents",
        "create_goal": "ferrule-goals",
        "exec_command": "ferrule-shell",
        "get_goal": "ferrule-goals",
        "grep_files": "ferrule-files",
        "list_dir": "ferrule-files",
        "read_file": "ferrule-files",
        "request_permissions": "ferrule-permissions",
        "request_user_input": "ferrule-plan",
        "resume_agent": "ferrule-agents",
        "send_input": "ferrule-agents",
        "spawn_agent": "ferrule-agents",
        "tool_search": "ferrule-tool-search",
        "update_goal": "ferrule-goals",
        "update_plan": "ferrule-plan",
        "view_image": "ferrule-view-image",
        "wait_agent": "ferrule-agents",
        "web_search": "ferrule-web-search",
        "write_stdin": "ferrule-shell",
    },
    "ferrule.commands": {
        "app-server": "ferrule-app-server",
        "changes": "ferrule-overlay",
        "completion": "ferrule-core",
        "config": "ferrule-core",
        "debug": "ferrule-app-server",
        "demo": "ferrule-replay",
        "doctor": "ferrule-core",
        "exec": "ferrule-exec",
        "help": "ferrule-manual",
        "hooks": "ferrule-hooks",
        "import": "ferrule-import-codex",
        "local": "ferrule-local",
        "login": "ferrule-login",
        "logout": "ferrule-login",
        "mcp": "ferrule-mcp",
        "mcp-server": "ferrule-mcp-server",
        "models": "ferrule-models",
        "network": "ferrule-network",
        "plugins": "ferrule-core",
        "policy": "ferrule-policy",
        "review": "ferrule-review",
        "reviewers": "ferrule-policy",
        "rules": "ferrule-rules",
        "sandbox": "ferrule-core",
        "skills": "ferrule-skills",
        "threads": "ferrule-core",
        "try": "ferrule-local",
        "update-check": "ferrule-manual",
    },
    "ferrule.sandbox_commands": {
        "certify": "ferrule-certify",
        "explain": "ferrule-core",
        "recipes": "ferrule-core",
        "verify": "ferrule-certify",
    },
    "ferrule.plugin_commands": {"check": "ferrule-author", "new": "ferrule-author"},
    "ferrule.sandboxes": {
        "bubblewrap": "ferrule-sandbox-bubblewrap",
        "container": "ferrule-sandbox-container",
        "landlock": "ferrule-sandbox-landlock",
        "none": "ferrule-sandbox-none",
        "seatbelt": "ferrule-sandbox-seatbelt",
        "ssh": "ferrule-sandbox-ssh",
        "windows": "ferrule-sandbox-windows",
    },
    "ferrule.reviewers": {
        "auto_review": "ferrule-reviewer-guardian",
        "command": "ferrule-reviewer-command",
        "guardian_subagent": "ferrule-reviewer-guardian",
        "panel": "ferrule-reviewer-panel",
        "user": "ferrule-reviewer-user",
    },
    "ferrule.compactors": {"remote": "ferrule-compaction", "summary": "ferrule-compaction"},
    "ferrule.providers": {
        "anthropic": "ferrule-anthropic",
        "chat": "ferrule-chat",
        "local": "ferrule-local",
        "replay": "ferrule-replay",
        "responses": "ferrule-responses",
    },
    "ferrule.servers": {"app-server": "ferrule-app-server"},
    "ferrule.stores": {"jsonl": "ferrule-core"},
    "ferrule.transports": {
        "http": "ferrule-http",
        "stdio": "ferrule-app-server",
        "unix": "ferrule-websocket",
        "websocket": "ferrule-websocket",
    },
}

BUILT_IN_DISTRIBUTIONS: Final[frozenset[str]] = frozenset(
    distribution for names in CATALOG.values() for distribution in names.values()
)


def distribution_of(group: str, name: str) -> str | None:
    """Tell which of our distributions ships a name; None when the name is nobody's."""
    return CATALOG.get(group, {}).get(name)
