"""What a role makes of an agent: its settings and what it is told."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ToolError
from ferrule_hookspecs.services import ChildOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_agents.settings import AgentSettings, Role
    from ferrule_hookspecs.plugins import PluginContext

_ABOUT: Final = (
    "You are an agent that another agent started for one task; nobody else reads what you write."
    " Your last message is your report to it: make it complete and short. Do not ask anything"
    " back: where something is unclear, decide, and say what you assumed."
)
_ABOUT_THE_FILE: Final = ("name", "description", "nickname_candidates")


def child_options(
    name: str,
    role: Role,
    settings: AgentSettings,
    context: PluginContext,
    arguments: Mapping[str, object],
) -> ChildOptions:
    """Say how an agent differs from the session that starts it.

    What the user wrote for the role counts before what the model asks for.

    Raises:
        ToolError: The file of the role cannot be read.
    """
    asked = {
        "model": arguments.get("model") or settings.model or None,
        "model_reasoning_effort": arguments.get("reasoning_effort"),
    }
    values = {key: value for key, value in asked.items() if value}
    own = _read(name, role.config_file) if role.config_file else {}
    said = own.get("developer_instructions") or context.config.get("developer_instructions")
    texts = [_ABOUT, role.instructions, str(said or "")]
    own.pop("developer_instructions", None)  # it is in the texts
    return ChildOptions(
        settings={**values, **own},
        developer_instructions="\n\n".join(filter(None, texts)),
        copies_history=arguments.get("fork_context") is True,
        role=name,
    )


def _read(name: str, file: str) -> dict[str, object]:
    path = Path(file).expanduser()
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolError(
            f"the role {name!r} cannot be used: {path} cannot be read: {reason}; tell the user,"
            " and use another agent_type"
        ) from None
    return {key: value for key, value in values.items() if key not in _ABOUT_THE_FILE}
