"""Keys of old configurations that mean something under another name today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule.config.tables import MISSING, join_key, lookup, remove

if TYPE_CHECKING:
    from ferrule.config.layers import Layer

_GUARDIAN_KEYS: Final = tuple(
    (*prefix, key)
    for prefix in ((), ("features",))
    for key in ("guardian_approval", "smart_approvals")
)


def migrate(layer: Layer) -> list[str]:
    """Put what an old key asked for under its new name, in place; returns what to tell the user."""
    notices: list[str] = []
    for path in _GUARDIAN_KEYS:
        value = lookup(layer.values, path)
        if value is MISSING or not isinstance(value, bool):
            continue
        where = f"{layer.where(path)}: `{join_key(path)}`"
        remove(layer.values, path)
        if not value:
            notices.append(f"{where} is no longer a key; leave it out")
        elif "approvals_reviewer" in layer.values:
            notices.append(f"{where} is no longer a key, and `approvals_reviewer` decides here")
        else:
            layer.values["approvals_reviewer"] = "guardian_subagent"
            notices.append(f'{where} is now written `approvals_reviewer = "guardian_subagent"`')
    return notices
