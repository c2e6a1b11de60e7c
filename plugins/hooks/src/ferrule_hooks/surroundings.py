"""What hooks run in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.services import SessionServices


class Surroundings(NamedTuple):
    """What a hook may use.

    Attributes:
        cwd: Where commands run.
        environ: The environment of commands.
        root: The project, or the working directory.
        services: The session's services; None outside of one.
        own_calls: Ids of the tool calls that hooks make; no hook is asked about those.
    """

    cwd: str
    environ: Mapping[str, str]
    root: str
    services: SessionServices | None
    own_calls: set[str]
