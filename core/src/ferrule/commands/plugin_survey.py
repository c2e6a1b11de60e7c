"""How every plugin stands, for the words of `ferrule plugins`; imports none of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import typer

from ferrule.survey import survey
from ferrule.trust import Governance, Standing, governance_of, judge, required_faults
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest, Host

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule.index import Index


class Survey(NamedTuple):
    """What a look at all plugins gave.

    Attributes:
        standings: How each entry stands.
        required: Which required plugins cannot be relied on.
        governance: What the configuration says about plugins.
        values: The configuration; empty where it cannot be read.
    """

    standings: Sequence[Standing]
    required: Sequence[str]
    governance: Governance
    values: Mapping[str, object]


def survey_of(host: Host, index: Index) -> Survey:
    """Tell how every plugin stands, and which required ones are missing.

    With a configuration that cannot be read, plugins are still listed, but not even probed.
    """
    try:
        values = host.config(ConfigRequest(cwd=os.getcwd())).values
        governance = governance_of(values)
        standings = survey(index, values)
    except FerruleError as error:
        typer.echo(f"warning: shown as without a configuration: {error}", err=True)
        found = judge(index.all_entries(), Governance(), contract_version=index.contract_version)
        return Survey(found, (), Governance(), {})
    return Survey(standings, required_faults(standings, governance), governance, values)


def named_standings(standings: Sequence[Standing], name: str) -> list[Standing]:
    """Return all entries of the distributions that a name stands for.

    Raises:
        FerruleError: No plugin has that name.
    """
    from ferrule.index import is_named

    wanted = {s.entry.distribution for s in standings if is_named(s.entry, [name])}
    if not wanted:
        raise not_installed(name, [s.entry for s in standings])
    return [s for s in standings if s.entry.distribution in wanted]


def only_distribution(name: str, found: Collection[str]) -> str:
    """Return the distribution that a name stands for.

    Raises:
        FerruleError: It stands for several.
    """
    if len(found) > 1:
        raise FerruleError(f"{name!r} is part of {', '.join(sorted(found))}; name one of these")
    return next(iter(found))


def not_installed(name: str, entries: Iterable[Entry]) -> FerruleError:
    """Make the error for a name that no plugin and no distribution has."""
    from ferrule.overview import suggestion

    known = {word for entry in entries for word in (entry.name, entry.distribution)}
    guess = suggestion(name, sorted(known))
    return FerruleError(f"no plugin {name!r} is installed;{guess} see: ferrule plugins list")
