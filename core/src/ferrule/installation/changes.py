"""Adds, removes and restores plugins: tried first, then made, then written down.

Ferrule's own parts keep their versions: what needs others is refused in words. The wanted set is
written after an installation and before a removal, so that a crash in between loses no wish:
`ferrule plugins sync` mends it.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from ferrule.home_file import locked
from ferrule.installation.commands import install_commands, removal_command, trial_command
from ferrule.installation.conflict import conflict_in_words
from ferrule.installation.environment import find_environment, installed_versions, is_ours
from ferrule.installation.requirement import without_secrets_in
from ferrule.installation.shell import Place, Shell
from ferrule.installation.wanted import Sources, change_wanted, read_wanted
from ferrule.versions import satisfies, split_requirement
from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    from ferrule.installation.environment import Environment
    from ferrule.installation.wanted import Wanted


def add(place: Place, wanted: Sequence[Wanted], *, is_trial: bool = False) -> None:
    """Install distributions and write down that they are wanted.

    Args:
        place: Where.
        wanted: What, all from the same sources.
        is_trial: Whether only to tell what would be done.

    Raises:
        PluginError: It cannot be done; says why, and what is as it was.
    """
    with _alone(place):
        read_wanted(place.home)  # what cannot be read must not be found out after the installation
        _install(place, find_environment(), wanted, is_trial=is_trial)
        if is_trial:
            return
        kept = {item.name: _storable(item) for item in wanted}
        change_wanted(place.home, lambda before: [*{**before, **kept}.values()])


def remove(place: Place, names: Sequence[str]) -> None:
    """Forget that distributions are wanted, and uninstall them.

    Raises:
        PluginError: It cannot be done; they are wanted as before.
    """
    with _alone(place):
        _remove(place, names)


def _remove(place: Place, names: Sequence[str]) -> None:
    before = read_wanted(place.home)
    gone = set(names)
    present = [name for name in names if name in installed_versions()]
    environment = find_environment()
    command = removal_command(environment, present)
    change_wanted(place.home, lambda now: [w for name, w in now.items() if name not in gone])
    try:
        if present:
            Shell(place, environment.variables).run(command)
    except PluginError:
        change_wanted(place.home, lambda _: before)
        raise
    if left := sorted(gone & set(installed_versions())):
        change_wanted(place.home, lambda _: before)
        raise PluginError(f"{', '.join(left)}: still installed; something else needs it")


def missing(home: Path) -> list[Wanted]:
    """List what is wanted and not installed, or installed in another version.

    Raises:
        PluginError: The wanted set cannot be read.
    """
    found = installed_versions()
    return [item for item in read_wanted(home) if not _is_there(item, found.get(item.name))]


def sync(place: Place, *, is_trial: bool = False) -> list[Wanted]:
    """Install what is wanted and missing; returns it.

    Raises:
        PluginError: Something cannot be installed.
    """
    with _alone(place):
        wanted = missing(place.home)
        for sources in dict.fromkeys(item.sources for item in wanted):
            batch = [item for item in wanted if item.sources == sources]
            _install(place, find_environment(), batch, is_trial=is_trial)
        return wanted


@contextmanager
def _alone(place: Place) -> Generator[None]:
    """Let nobody else of this home install or remove meanwhile."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(place.home / "installation"))
        except OSError as error:
            text = f"{place.home} cannot be written: {error.strerror or error}"
            raise PluginError(text) from error
        yield


def _install(
    place: Place, environment: Environment, wanted: Sequence[Wanted], *, is_trial: bool
) -> None:
    before = installed_versions()
    sources = wanted[0].sources
    shell = Shell(place, environment.variables)
    with tempfile.TemporaryDirectory(prefix="ferrule-add-") as folder:
        constraints = os.path.join(folder, "constraints.txt")
        with open(constraints, "w", encoding="utf-8") as file:
            file.writelines(f"{n}=={v}\n" for n, v in sorted(before.items()) if is_ours(n))
        trial = trial_command(environment, wanted, sources, constraints)
        commands = install_commands(environment, wanted, sources, constraints, before)
        if is_trial:
            for command in commands:
                place.tell(f"would run: {shell.shown(command)}")
        if trial:
            told = _try(shell, trial, before)
            if is_trial:
                place.tell(told.strip())
        if not is_trial:
            _carry_out(shell, commands, before)


def _try(shell: Shell, command: Sequence[str], before: Mapping[str, str]) -> str:
    """Let the resolver tell what would happen; nothing is installed by it."""
    ended = shell.call(command)
    if ended.code:
        text = conflict_in_words(ended.told, before) or ended.last_words
        raise PluginError(f"{text}\neverything is as it was")
    return ended.told


def _carry_out(shell: Shell, commands: Sequence[list[str]], before: Mapping[str, str]) -> None:
    try:
        for command in commands:
            shell.run(command)
    except PluginError as error:
        changed = _differences(before, installed_versions())
        state = f"installed since: {'; '.join(changed)}" if changed else "everything is as it was"
        raise PluginError(f"{error}\n{state}") from None
    own = {name: version for name, version in before.items() if is_ours(name)}
    moved = _differences(own, {n: v for n, v in installed_versions().items() if n in own})
    if moved:
        raise PluginError(
            f"parts of Ferrule were changed with it: {'; '.join(moved)}; look: ferrule doctor"
        )


def _is_there(item: Wanted, version: str | None) -> bool:
    if version is None:
        return False
    if item.editable or "@" in item.requirement or "[" in item.requirement:
        return True
    try:
        return satisfies(version, split_requirement(item.requirement)[1])
    except ValueError:
        return True


def _storable(item: Wanted) -> Wanted:
    sources = Sources(
        without_secrets_in(item.sources.index_url),
        tuple(map(without_secrets_in, item.sources.find_links)),
        item.sources.no_index,
    )
    return item._replace(requirement=without_secrets_in(item.requirement), sources=sources)


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    names = sorted({*before, *after})
    return [
        f"{name} {before.get(name, 'not installed')} -> {after.get(name, 'not installed')}"
        for name in names
        if before.get(name) != after.get(name)
    ]
