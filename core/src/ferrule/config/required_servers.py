"""Which MCP servers the administrator allows: by name, and by the program or URL behind it.

A server that is not on the list is switched off, and the configuration says why.
"""

# No `from __future__ import annotations`: the light check reads these annotations as objects.
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from ferrule.config.tables import KeyPath, Table, is_table, lookup, place, table_at
from ferrule_hookspecs.host import ConfigOrigin

if TYPE_CHECKING:
    from ferrule.config.layers import Layer


class ServerIdentity(TypedDict, total=False):
    """What a server must be: a program, or a URL."""

    command: str
    url: str


class RequiredServer(TypedDict, total=False):
    """A server that is allowed."""

    identity: ServerIdentity


def constrain_servers(
    values: Table, rules: "Layer | None"
) -> tuple[list[str], dict[KeyPath, ConfigOrigin]]:
    """Switch off the servers that are not allowed, in place.

    Returns:
        A warning for each, and where the changed values come from.
    """
    warnings: list[str] = []
    origins: dict[KeyPath, ConfigOrigin] = {}
    if rules is None or not is_table(rules.values.get("mcp_servers")):
        return warnings, origins
    allowed = table_at(rules.values, "mcp_servers")
    for name, table in table_at(values, "mcp_servers").items():
        if not is_table(table) or table.get("enabled") is False:
            continue
        reason = _objection(name, table, allowed)
        if not reason:
            continue
        path = ("mcp_servers", name) if name in allowed else ("mcp_servers",)
        warnings.append(f"the MCP server {name!r} is not started: {reason} ({rules.where(path)})")
        place(values, ("mcp_servers", name, "enabled"), False)
        origins["mcp_servers", name, "enabled"] = ConfigOrigin(
            "requirements", rules.file, rules.line(path)
        )
    return warnings, origins


def _objection(name: str, table: Table, allowed: Table) -> str:
    if name not in allowed:
        known = ", ".join(sorted(allowed)) or "none"
        return f"the administrator does not allow it; allowed are: {known}"
    for key in ("command", "url"):
        wanted = lookup(allowed, (name, "identity", key))
        if isinstance(wanted, str):
            other = "url" if key == "command" else "command"
            if table.get(key) == wanted and not table.get(other):
                return ""
            return f"the administrator allows it only with {key} {wanted!r}"
    return "the administrator names neither `identity.command` nor `identity.url` for it"
