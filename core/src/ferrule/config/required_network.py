"""What the administrator lets the managed network reach, if it may be enabled at all.

Beyond these bounds no rule, preset, recipe, permission or answer to a question opens anything; the
plugin that makes the network reads them from the table `network` of the configuration.
"""

# No `from __future__ import annotations`: the light check reads these annotations as objects.
from typing import TYPE_CHECKING, Final

from typing_extensions import TypedDict

from ferrule.config.tables import KeyPath, Table, lookup, place, table_at, texts
from ferrule_hookspecs.host import ConfigOrigin

if TYPE_CHECKING:
    from ferrule.config.layers import Layer

_BOUNDS: Final = ("only_presets", "only_hosts", "only_local_addresses")


class RequiredNetwork(TypedDict, total=False):
    """Bounds of the managed network."""

    enabled: bool
    """false: nobody may enable it."""
    only_presets: list[str]
    """Presets whose hosts may be allowed."""
    only_hosts: list[str]
    """Hosts and patterns that may be allowed, beside those of `only_presets`."""
    only_local_addresses: list[str]
    """Addresses beyond the public internet that may be opened."""
    rules: list[str]
    """Rules that count for everybody."""


def constrain_network(
    values: Table, rules: "Layer | None"
) -> tuple[list[str], dict[KeyPath, ConfigOrigin]]:
    """Lay the administrator's bounds over the table `network`, in place.

    Returns:
        What the user should know, and where the changed values come from.
    """
    warnings: list[str] = []
    origins: dict[KeyPath, ConfigOrigin] = {}
    if rules is None or "network" not in rules.values:
        return warnings, origins
    wanted = table_at(rules.values, "network")

    def set_value(key: str, value: object) -> None:
        path = ("network", key)
        place(values, path, value)
        origins[path] = ConfigOrigin("requirements", rules.file, rules.line(path))

    if wanted.get("enabled") is False:
        if lookup(values, ("network", "enabled")) is True:
            place_of = rules.where(("network", "enabled"))
            warnings.append(
                "`network.enabled` is overruled: the administrator does not allow a managed"
                f" network, so that commands have none ({place_of})"
            )
        set_value("enabled", False)
    for key in _BOUNDS:
        if key in wanted:
            set_value(key, list(texts(wanted[key])))
    if added := texts(wanted.get("rules")):
        own = texts(lookup(values, ("network", "rules")))
        set_value("rules", [*added, *own])
    return warnings, origins
