"""How every plugin stands under one configuration: judged, probed, and with its settings checked.

Called by the plugin manager, and by the commands that show plugins without using any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.isolation.choice import is_isolated
from ferrule.plugin_settings import settled
from ferrule.trust import governance_of, judge, with_faults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule.index import Index
    from ferrule.trust import Standing


def survey(
    index: Index, config_values: Mapping[str, object], entries: Sequence[Entry] | None = None
) -> list[Standing]:
    """Tell how every entry stands; what was never probed is probed now, in a child process.

    Args:
        index: What is installed.
        config_values: The effective configuration.
        entries: The entries, where the index itself does not say what is switched off.

    Raises:
        ConfigError: The table `plugins` cannot be obeyed.
    """
    governance = governance_of(config_values)
    found = index.all_entries() if entries is None else entries
    judged = judge(found, governance, contract_version=index.contract_version)
    return settled(with_faults(_probed(judged, index, config_values)), config_values)


def _probed(
    standings: Sequence[Standing], index: Index, values: Mapping[str, object]
) -> list[Standing]:
    """Let the index probe what may be used here and was not probed yet."""
    unknown = [
        s.entry
        for s in standings
        if s.state == "active" and s.entry.probe is None and not is_isolated(s.entry, values)
    ]
    if not unknown:
        return list(standings)
    index.probe(unknown)
    probes = {_key(entry): entry.probe for entry in index.all_entries()}
    return [s._replace(entry=s.entry._replace(probe=probes[_key(s.entry)])) for s in standings]


def _key(entry: Entry) -> tuple[str, str, str]:
    return entry.group, entry.name, entry.location
