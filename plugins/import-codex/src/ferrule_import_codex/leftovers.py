"""What of a Codex home is not brought over, so that the report leaves nothing out."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from ferrule_import_codex.report import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_import_codex.source import CodexHome

_BROUGHT: Final = (
    "config.toml",
    "*.config.toml",
    "rules",
    "skills",
    "prompts",
    "AGENTS.md",
    "AGENTS.override.md",
    "hooks.json",
    "sessions",
    "archived_sessions",
    "session_index.jsonl",
)
_KNOWN: Final = {
    "auth.json": "--with-credentials takes an API key over; or `ferrule login`, or OPENAI_API_KEY",
    ".credentials.json": "credentials are never copied: log in to MCP servers anew",
    "history.jsonl": "the list of typed inputs; the threads hold what was said",
    "*.sqlite*": "derived from the sessions",
    "memories": "Codex's memories have no counterpart yet",
    "agents": "roles of subagents have no counterpart yet",
    "session_index.jsonl.lock": "temporary",
    "log": "logs",
    "logs": "logs",
    ".tmp": "temporary",
    "tmp": "temporary",
    "cache": "temporary",
    "*cache*.json": "temporary",
    "shell_snapshots": "temporary",
    "thread-writer-locks": "temporary",
    "version.json": "belongs to the program",
    "installation_id": "belongs to the program",
    "packages": "belongs to the program",
    "plugins": "Codex's plugins are not Ferrule's",
    ".sandbox*": "belongs to the program",
    ".personality_migration": "belongs to the program",
}


def leftovers(home: CodexHome, without: Sequence[str] = ()) -> Iterator[Finding]:
    """Tell about everything that no part of the import looks at, or looked at this time."""
    for name in home.top():
        if any(fnmatchcase(name, pattern) for pattern in (*_BROUGHT, *without)):
            continue
        reasons = (why for pattern, why in _KNOWN.items() if fnmatchcase(name, pattern))
        yield Finding("other", name, "left", next(reasons, "not known to the import"))
