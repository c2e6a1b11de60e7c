"""What a trusted project's file may set: harmless keys, and safety only in the narrower direction.

The rule is a list of what is allowed, so a key added later is refused to projects until somebody
decides otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from ferrule.config.required_budgets import is_at_most
from ferrule.config.required_isolation import ISOLATION
from ferrule.config.required_search import SEARCH_MODES, USUAL_SEARCH
from ferrule.config.tables import (
    MISSING,
    SETTINGS_PATH,
    KeyPath,
    Table,
    is_list,
    is_table,
    lookup,
    place,
)

_HARMLESS: Final = frozenset(
    {
        "model",
        "model_context_window",
        "model_auto_compact_token_limit",
        "model_auto_compact_token_limit_scope",
        "model_post_turn_compact_threshold_percent",
        "model_reasoning_effort",
        "plan_mode_reasoning_effort",
        "model_reasoning_summary",
        "model_verbosity",
        "instructions",
        "developer_instructions",
        "compact_prompt",
        "review_model",
        "personality",
        "tool_output_token_limit",
        "background_terminal_max_timeout",
        "project_doc_max_bytes",
        "include_environment_context",
        "include_environment_context_time",
        "hide_agent_reasoning",
    }
)
_SANDBOXES: Final = ("read-only", "workspace-write", "danger-full-access", "external-sandbox")
_APPROVALS: Final = ("untrusted", "on-request", "on-failure", "never")
_INHERITS: Final = ("none", "core", "all")

Rule: TypeAlias = Callable[[object, object], bool]


def _at_most(order: tuple[str, ...]) -> Rule:
    def is_narrower(new: object, base: object) -> bool:
        if new == base:
            return True
        if new not in order or base not in order:
            return False
        return order.index(str(new)) <= order.index(str(base))

    return is_narrower


def _sandbox(new: object, base: object) -> bool:
    """No sandbox and somebody else's sandbox are no order: neither stands for the other."""
    return new == base or (new in _SANDBOXES[:2] and _at_most(_SANDBOXES)(new, base))


def _stays(value: bool) -> Rule:
    return lambda new, base: new is value or new == base


def _smaller(new: object, base: object) -> bool:
    """A budget where there was none is a smaller one, too."""
    return base is MISSING or is_at_most(new, base)


def _search(new: object, base: object) -> bool:
    return _at_most(SEARCH_MODES)(new, USUAL_SEARCH if base is MISSING else base)


def _subset(new: object, base: object) -> bool:
    return is_list(new) and is_list(base) and all(item in base for item in new)


def _superset(new: object, base: object) -> bool:
    return is_list(new) and is_list(base) and all(item in new for item in base)


_NARROWING: Final[Mapping[KeyPath, Rule]] = {
    ("sandbox_mode",): _sandbox,
    ("approval_policy",): _at_most(_APPROVALS),
    ("sandbox_recipes",): _subset,
    ("sandbox_workspace_write", "writable_roots"): _subset,
    ("sandbox_workspace_write", "network_access"): _stays(False),
    ("sandbox_workspace_write", "exclude_tmpdir_env_var"): _stays(True),
    ("sandbox_workspace_write", "exclude_slash_tmp"): _stays(True),
    ("sandbox_deny_read",): _superset,
    ("sandbox_debugging",): _stays(False),
    ("shell_environment_policy", "inherit"): _at_most(_INHERITS),
    ("shell_environment_policy", "ignore_default_excludes"): _stays(False),
    ("shell_environment_policy", "exclude"): _superset,
    ("allow_login_shell",): _stays(False),
    ("web_search",): _search,
    ("tools", "web_search"): _stays(False),
    ("plugins", "require_trust"): _stays(True),
    **{
        ("budgets", scope, key): _smaller
        for scope in ("turn", "thread", "tree")
        for key in ("tokens", "cost_usd", "seconds", "requests")
    },
}


class ProjectBounds(NamedTuple):
    """What one project file may set depends on these.

    Attributes:
        base: The effective values of the layers below it.
        root: The project's root; files it names must lie inside.
        opened: Keys that plugins let a trusted project set.
    """

    base: Mapping[str, object]
    root: Path
    opened: frozenset[KeyPath] = frozenset()


def narrow(project: Mapping[str, object], bounds: ProjectBounds) -> tuple[Table, list[KeyPath]]:
    """Keep what a project may set.

    Args:
        project: Values of one project file.
        bounds: What it is held to.

    Returns:
        The values that count, and the keys that are ignored.
    """
    kept: Table = {}
    ignored: list[KeyPath] = []
    for path, value in _leaves(project, ()):
        if (
            _is_allowed(path, value, bounds.base)
            or _is_own_file(path, value, bounds.root)
            or path[:4] in bounds.opened
        ):
            place(kept, path, value)
        elif not _is_hook(path, value):
            ignored.append(_ignored(path))
    return kept, list(dict.fromkeys(ignored))


def _ignored(path: KeyPath) -> KeyPath:
    """Name what is ignored no more closely than it is decided."""
    if path in _NARROWING or path[0] == "tools":
        return path
    return path[: 4 if path[:2] == SETTINGS_PATH else 1]


def _is_hook(path: KeyPath, value: object) -> bool:
    """Tell whether these are hooks: their plugin reads the file itself, and asks for trust."""
    return path[0] == "hooks" and is_list(value) and path[1:] != ("files",)


def _leaves(table: Mapping[str, object], prefix: KeyPath) -> list[tuple[KeyPath, object]]:
    found: list[tuple[KeyPath, object]] = []
    for key, value in table.items():
        path = (*prefix, key)
        if is_table(value) and path != ("approval_policy",):
            found.extend(_leaves(value, path))
        else:
            found.append((path, value))
    return found


def _is_allowed(path: KeyPath, value: object, base: Mapping[str, object]) -> bool:
    if path[0] in _HARMLESS:
        return True
    if path[:2] == ISOLATION and len(path) == 3:
        return value == "process"
    below = lookup(base, path)
    rule = _NARROWING.get(path)
    if rule is not None:
        return (below is not MISSING or rule in (_smaller, _search)) and rule(value, below)
    if path[0] == "tools" and (len(path) == 2 or path[2:] == ("enabled",)):
        return value is False or (value is True and not _is_off(base, path[1]))
    return False


def _is_off(base: Mapping[str, object], tool: str) -> bool:
    """A tool is off as `x = false` and as `x.enabled = false`."""
    return False in (lookup(base, ("tools", tool)), lookup(base, ("tools", tool, "enabled")))


def _is_own_file(path: KeyPath, value: object, root: Path) -> bool:
    """Texts that are sent to the model may only come from the project itself."""
    if path in (("model_instructions_file",), ("experimental_compact_prompt_file",)):
        return Path(str(value)).resolve().is_relative_to(root.resolve())
    if path == ("project_doc_fallback_filenames",):
        return is_list(value) and all(Path(str(name)).name == name for name in value)
    return False
