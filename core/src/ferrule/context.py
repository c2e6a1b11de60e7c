"""What stands before the conversation: instructions, permissions and the environment.

The prefix is built once per thread and never rewritten; later changes are appended as notes, so
that the bytes a provider has cached stay the same from request to request.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule.approvals import policy_name
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ferrule.session_parts import Settings
    from ferrule_hookspecs.history import HistoryItem, MessageItem, Role
    from ferrule_hookspecs.hooks import ContextFragment
    from ferrule_hookspecs.host import ThreadOptions
    from ferrule_hookspecs.policies import SandboxPolicy

_SANDBOX_TEXT: Final = {
    "readOnly": "Files can be read but not written.",
    "workspaceWrite": "Files can be read; only the workspace, the listed roots and the temp"
    " folders can be written. Version-control hooks and configuration stay read-only.",
    "dangerFullAccess": "Nothing is confined: every command runs with the user's full rights.",
    "externalSandbox": "Something outside this program confines the commands.",
}
_APPROVAL_TEXT: Final = {
    "never": "Nobody can be asked: a call that would need approval is refused, so do not request"
    " wider permissions.",
    "on-request": "A call may ask for wider permissions, with a reason; a reviewer decides.",
    "on-failure": "When the sandbox refuses a command, a reviewer is asked whether to run it"
    " without.",
    "untrusted": "A reviewer decides about every call that may change something.",
    "granular": "Some kinds of approval can be asked for, others are refused.",
}


def message(role: Role, text: str) -> MessageItem:
    """Build a message of one text part."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def base_instructions(config: Mapping[str, object], override: str | None) -> str:
    """Return the base prompt: the caller's, or the configured or built-in one and what is added.

    Raises:
        ConfigError: `model_instructions_file` cannot be read.
    """
    if override is not None:
        return override
    added = config.get("instructions")
    text = _base_text(config)
    return f"{text.rstrip()}\n\n{added}" if isinstance(added, str) and added.strip() else text


def _base_text(config: Mapping[str, object]) -> str:
    path = config.get("model_instructions_file")
    if isinstance(path, str) and path:
        try:
            return Path(path).expanduser().read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise ConfigError(f"model_instructions_file: cannot read {path!r}: {reason}") from None
    return (Path(__file__).parent / "prompts" / "base.md").read_text(encoding="utf-8")


def prefix(
    config: Mapping[str, object],
    settings: Settings,
    fragments: Sequence[ContextFragment],
    options: ThreadOptions,
) -> list[HistoryItem]:
    """Build the items a new thread begins with."""
    developer = [fragment.text for fragment in fragments if fragment.role == "developer"]
    user = [fragment.text for fragment in fragments if fragment.role == "user"]
    extra = options.developer_instructions or config.get("developer_instructions")
    if isinstance(extra, str) and extra:
        developer.insert(0, extra)
    if config.get("include_permissions_instructions") is not False:
        developer.append(permissions_text(settings))
    if config.get("include_environment_context") is not False:
        user.append(environment_text(settings))
    items: list[HistoryItem] = [
        message("developer", base_instructions(config, options.base_instructions))
    ]
    if developer:
        items.append(message("developer", "\n\n".join(developer)))
    if user:
        items.append(message("user", "\n\n".join(user)))
    return items


def permissions_text(settings: Settings) -> str:
    """Tell the model what it may do."""
    policy = settings.sandbox_policy
    approval = policy_name(settings.approval_policy)
    network = "The network can be used." if has_network(policy) else "There is no network."
    lines = [
        "<permissions>",
        f"Sandbox: {policy['type']}. {_sandbox_text(policy)} {network}",
        f"Approvals: {approval}. {_APPROVAL_TEXT[approval]}",
        "</permissions>",
    ]
    return "\n".join(lines)


def _sandbox_text(policy: SandboxPolicy) -> str:
    """Say what a policy lets commands do; of a profile in its own words, entry by entry."""
    if policy["type"] != "permissionProfile":
        return _SANDBOX_TEXT[policy["type"]]
    said = [
        f"Files can be read and written as the permission profile {policy['id']} says:",
        *(f"{entry['path']}: {entry['access']};" for entry in policy.get("entries", ())),
        "the most exact entry counts. Version-control hooks and configuration stay read-only.",
    ]
    if rules := policy.get("networkRules"):
        said.append(f"Rules about the network: {'; '.join(rules)}.")
    return " ".join(said)


def environment_text(settings: Settings, only: Collection[str] | None = None) -> str:
    """Tell the model where and when it is: all of it, or what is named."""
    facts = _environment(settings)
    elements = {
        "cwd": "cwd",
        "shell": "shell",
        "current_date": "current_date",
        "timezone": "timezone",
        "workspace_roots": "workspace_root",
    }
    lines = [
        f"  <{elements[name]}>{escape(value)}</{elements[name]}>"
        for name, values in facts.items()
        if only is None or name in only
        for value in ([values] if isinstance(values, str) else values)
    ]
    return "\n".join(["<environment_context>", *lines, "</environment_context>"])


def _environment(settings: Settings) -> dict[str, str | list[str]]:
    roots = [settings.cwd, *settings.extra_roots]
    if settings.sandbox_policy["type"] == "workspaceWrite":
        roots += settings.sandbox_policy.get("writableRoots", [])
    return {
        "cwd": settings.cwd,
        "shell": "bash",
        "current_date": time.strftime("%Y-%m-%d"),
        "timezone": time.strftime("%Z"),
        "workspace_roots": list(dict.fromkeys(roots)),
    }


def escape(text: str) -> str:
    """Escape text for XML; the library's own function costs 15 ms to import."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def change_text(
    before: Mapping[str, object], settings: Settings, config: Mapping[str, object]
) -> str:
    """Tell the model what changed since the last turn context; empty where nothing did."""
    now = turn_context(settings)
    changed = {key for key, value in now.items() if key in before and before[key] != value}
    parts: list[str] = []
    if "model" in changed:
        parts.append(
            f"The model of this thread changed from {before['model']} to {settings.model}."
            " Continue the work from the conversation above."
        )
    if (
        changed & {"sandbox_policy", "approval_policy"}
        and config.get("include_permissions_instructions") is not False
    ):
        parts.append(
            f"What you may do changed; from now on this holds:\n{permissions_text(settings)}"
        )
    environment = changed & _environment(settings).keys()
    if environment and config.get("include_environment_context") is not False:
        parts.append(
            f"Your surroundings changed; now they are:\n{environment_text(settings, environment)}"
        )
    return "\n\n".join(parts)


def turn_context(settings: Settings) -> dict[str, object]:
    """The record of what a turn runs under."""
    environment = _environment(settings)
    return {
        "cwd": settings.cwd,
        "current_date": environment["current_date"],
        "timezone": environment["timezone"],
        "workspace_roots": environment["workspace_roots"],
        "model": settings.model,
        "approval_policy": settings.approval_policy,
        "sandbox_policy": settings.sandbox_policy,
        "effort": settings.reasoning_effort,
        "summary": settings.reasoning_summary or "none",
        "approvals_reviewer": settings.reviewer,
        "service_tier": settings.service_tier,
    }


def has_network(policy: SandboxPolicy) -> bool:
    """Whether commands may use the network."""
    match policy["type"]:
        case "dangerFullAccess":
            return True
        case "externalSandbox":
            return policy.get("networkAccess") == "enabled"
        case _:
            return policy.get("networkAccess") is True
