"""All probes, and how some of them are picked."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from ferrule_certify.probes.confinement import CONFINEMENT
from ferrule_certify.probes.fidelity import FIDELITY
from ferrule_certify.probes.isolation import ISOLATION
from ferrule_certify.probes.work import WORK
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_certify.probe import Probe

PROBES: Final[tuple[Probe, ...]] = (*CONFINEMENT, *ISOLATION, *WORK, *FIDELITY)


def picked(wanted: Sequence[str], left_out: Sequence[str] = ()) -> list[Probe]:
    """Pick probes by ids or patterns such as `network.*`; without any, all of them.

    Raises:
        FerruleError: A pattern names no probe.
    """
    for pattern in (*wanted, *left_out):
        if not any(fnmatchcase(probe.id, pattern) for probe in PROBES):
            raise FerruleError(f"no probe is called {pattern!r}; --list names them all")
    return [
        probe
        for probe in PROBES
        if (not wanted or any(fnmatchcase(probe.id, each) for each in wanted))
        and not any(fnmatchcase(probe.id, each) for each in left_out)
    ]
