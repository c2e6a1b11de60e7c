"""The entry points: their groups, their names, and that what they name is there."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from ferrule_author.finding import Finding, error
from ferrule_hookspecs.slots import (
    ALL_GROUPS,
    COMMAND_GROUP,
    PLUGIN_COMMAND_GROUP,
    SANDBOX_COMMAND_GROUP,
    SETTINGS_GROUP,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_author.subject import Subject
    from ferrule_hookspecs.host import Host

_WITH_DASHES: Final = (
    COMMAND_GROUP,
    PLUGIN_COMMAND_GROUP,
    SANDBOX_COMMAND_GROUP,
    "ferrule.transports",
    "ferrule.servers",
)
_SNAKE: Final = re.compile(r"[a-z][a-z0-9_]*")
_DASHED: Final = re.compile(r"[a-z][a-z0-9_-]*")


def look_at_names(subject: Subject, host: Host) -> Iterator[Finding]:
    """Check every entry point."""
    place = subject.shown(subject.place)
    if not subject.points:
        mend = f"declare one in a group such as {ALL_GROUPS[1]}; see docs/plugins.md"
        yield error("names.group", place, "it has no entry point for Ferrule", mend)
    tables = [point.name for point in subject.points if point.group == SETTINGS_GROUP]
    if len(tables) > 1:
        text = f"it declares the tables {' and '.join(tables)}, and only the first counts"
        yield error("settings.single", place, text, "put all settings into one model")
    for point in subject.points:
        where = f"{place} [{point.group}] {point.name}"
        if point.group not in ALL_GROUPS:
            near = get_close_matches(point.group, ALL_GROUPS, n=1)
            mend = f"did you mean {near[0]}?" if near else f"there are: {', '.join(ALL_GROUPS)}"
            yield error("names.group", where, f"{point.group} is no group of Ferrule", mend)
            continue
        form = _DASHED if point.group in _WITH_DASHES else _SNAKE
        if not form.fullmatch(point.name):
            text = f"{point.name!r} is hard to write in a configuration"
            yield error("names.form", where, text, f"write it as {form.pattern}")
        owner = host.taken_names(point.group).get(point.name, subject.distribution)
        if owner != subject.distribution:
            text = f"the name {point.name!r} belongs to {owner}"
            yield error("names.taken", where, text, "choose another name")
        if subject.file_of(point.module) is None:
            text = f"the module {point.module} is not there"
            yield error("names.module", where, text, "correct the entry point, or write the module")
