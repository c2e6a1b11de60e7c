"""The built-in values, and the two that depend on surroundings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.config.layers import Layer
from ferrule.config.providers import built_in_providers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.config.tables import Table

DEFAULT_COMPACTOR = "summary"
OPENAI_BASE_URL = "https://api.openai.com/v1"


def default_layer(*, is_trusted: bool) -> Layer:
    """Build the lowest layer; a trusted project may be written to."""
    return Layer("defaults", _defaults(is_trusted=is_trusted), source="built-in default")


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """Take over the one variable that other tools of the provider read as well."""
    address = environ.get("OPENAI_BASE_URL")
    values: Table = {"openai_base_url": address} if address else {}
    return Layer("environment", values, source="$OPENAI_BASE_URL")


def _defaults(*, is_trusted: bool) -> Table:
    return {
        "model": "gpt-5.5",
        "model_provider": "openai",
        "openai_base_url": OPENAI_BASE_URL,
        "model_providers": built_in_providers(),
        "approval_policy": "on-request",
        "approvals_reviewer": "user",
        "policy_plugin": "rules",
        "sandbox_mode": "workspace-write" if is_trusted else "read-only",
        "sandbox_workspace_write": {
            "writable_roots": [],
            "network_access": False,
            "exclude_tmpdir_env_var": False,
            "exclude_slash_tmp": False,
        },
        "sandbox_backend": "auto",
        "sandbox_accept_gaps": [],
        "sandbox_deny_read": [],
        "sandbox_recipes": [],
        "shell_environment_policy": {
            "inherit": "all",
            "ignore_default_excludes": False,
            "exclude": [],
            "include_only": [],
            "set": {},
        },
        "tool_output_token_limit": 10_000,
        "background_terminal_max_timeout": 300_000,
        "tools": {"update_plan": {"enabled": False}},
        "plugins": {
            "disabled": [],
            "required": [],
            "overrides": {},
            "block": [],
            "require_trust": False,
        },
        "features": {},
        "history": {"persistence": "save-all"},
        "store": "jsonl",
        "compactor": DEFAULT_COMPACTOR,
        "project_root_markers": [".git"],
        "project_doc_max_bytes": 32_768,
        "project_doc_fallback_filenames": [],
        "projects": {},
    }
