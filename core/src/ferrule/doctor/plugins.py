"""The plugins: which are not used and why, which are missing, which were changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.health import mend_of
from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule.doctor.examination import Examination
    from ferrule.index import Index
    from ferrule.trust import Standing


def checks(examination: Examination) -> Iterator[Check]:
    """Look at what is installed; nothing is imported that was not before."""
    index = examination.host.index
    yield _folders(index)
    manager = examination.manager
    if manager is None:
        if examination.config is None:
            text = "without a configuration nobody says which plugins may be imported"
            yield Check("plugins.usable", "skip", text)
        else:
            yield Check("plugins.usable", "fail", examination.fault, "ferrule plugins refresh")
        return
    yield _usable(manager.standings)
    yield from _unusable(manager.standings)
    yield _required(manager.required_missing())
    yield _unchanged(manager.standings)
    yield _named(examination)


def _folders(index: Index) -> Check:
    if index.problems:
        return Check(
            "plugins.folders",
            "warn",
            "; ".join(index.problems),
            "mend the permissions or reinstall what is named, then: ferrule plugins refresh",
        )
    return Check("plugins.folders", "ok", f"installed packages are known from {index.path}")


def _usable(standings: Sequence[Standing]) -> Check:
    active = {s.entry.distribution for s in standings if s.state == "active"}
    off = sorted({s.entry.name for s in standings if s.state == "disabled"})
    text = f"{len(active)} distributions are in use"
    if off:
        text += f"; switched off: {', '.join(off)}"
    return Check("plugins.usable", "ok", text)


def _unusable(standings: Sequence[Standing]) -> Iterator[Check]:
    """One check for each plugin that nobody switched off and that still is not used."""
    for entry, state, reason in standings:
        if state in {"active", "disabled"}:
            continue
        group = entry.group.removeprefix("ferrule.")
        yield Check(
            f"plugins.entry.{group}.{entry.name}",
            "fail" if state in {"broken", "incompatible"} else "warn",
            f"{entry.label} is {state}: {reason}",
            mend_of(entry, state, reason),
        )


def _required(missing: Sequence[str]) -> Check:
    if not missing:
        return Check("plugins.required", "ok", "no required plugin is missing")
    text = "; ".join(missing)
    return Check("plugins.required", "fail", text, "install it, or change plugins.required")


def _unchanged(standings: Sequence[Standing]) -> Check:
    """Compare files with what was installed, as an intruder or a hasty hand would change them."""
    from ferrule.scan import changed_files

    first = {s.entry.distribution: s.entry for s in standings if s.state == "active"}
    changed = {name: ", ".join(changed_files(entry)) for name, entry in sorted(first.items())}
    edited = [f"{name} ({files})" for name, files in changed.items() if files]
    if not edited:
        return Check("plugins.unchanged", "ok", "every package is as it was installed")
    return Check(
        "plugins.unchanged",
        "warn",
        f"edited after installation: {', '.join(edited)}",
        "reinstall them if that was not you",
    )


def _named(examination: Examination) -> Check:
    """What the configuration names must be there, or no session starts."""
    from ferrule.plugin_set import PluginSet
    from ferrule_hookspecs.errors import FerruleError

    if examination.manager is None:
        return Check("plugins.named", "skip", "the configuration cannot be used")
    try:
        PluginSet(examination.manager, examination.context).check()
    except FerruleError as error:
        return Check("plugins.named", "fail", str(error), "install it, or configure another one")
    return Check("plugins.named", "ok", "every plugin that the configuration names is installed")
