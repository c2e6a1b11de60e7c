"""Every skill that can be used in a working directory, and what keeps others from it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from ferrule_skills.roots import (
    Root,
    files_below,
    own_roots,
    project_of,
    project_roots,
)
from ferrule_skills.skill_file import Skill, SkillError, SkillFault, read_skill

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ferrule_hookspecs.plugins import PluginContext


class Listed(NamedTuple):
    """A skill that was found.

    Attributes:
        skill: The skill.
        is_enabled: Whether the configuration leaves it on.
        shadowed_by: The file of the same name that counts instead; empty where this one counts.
    """

    skill: Skill
    is_enabled: bool = True
    shadowed_by: str = ""


class Catalogue(NamedTuple):
    """What was found.

    Attributes:
        listed: Every skill, the nearest first.
        faults: Files that cannot be used.
        untrusted: What is said about the skills of a project that is not trusted; empty for none.
    """

    listed: Sequence[Listed] = ()
    faults: Sequence[SkillFault] = ()
    untrusted: SkillFault | None = None

    @property
    def usable(self) -> Sequence[Skill]:
        """The skills that the model may use, one of each name."""
        return [each.skill for each in self.listed if each.is_enabled and not each.shadowed_by]


def find_catalogue(context: PluginContext, extra: Sequence[Path] = ()) -> Catalogue:
    """Find every skill for the working directory of a session; `extra` folders are the user's."""
    own = [*(Root(path, "user") for path in extra), *own_roots(context)]
    roots, untrusted = _project(context)
    found = [each for root in [*roots, *own] for each in _read_root(root)]
    choices = _choices(context)
    counts: dict[str, str] = {}
    listed: list[Listed] = []
    seen: set[str] = set()
    for skill in found:
        if isinstance(skill, SkillFault) or os.path.realpath(skill.path) in seen:
            continue
        seen.add(os.path.realpath(skill.path))
        is_enabled = _is_enabled(skill, choices)
        listed.append(Listed(skill, is_enabled, counts.get(skill.name, "")))
        if is_enabled:
            counts.setdefault(skill.name, skill.path)
    faults = [each for each in found if isinstance(each, SkillFault)]
    return Catalogue(listed, faults, untrusted)


def _project(context: PluginContext) -> tuple[Sequence[Root], SkillFault | None]:
    """The folders of the project that count, or what is said of those that do not."""
    roots = project_roots(context)
    top, is_trusted = project_of(context)
    if is_trusted or not any(files_below(root.path) for root in roots):
        return roots if is_trusted else (), None
    levels = cast("Mapping[str, Mapping[str, object]]", context.table("projects"))
    key = f'projects."{top}".trust_level = "trusted"'
    is_decided = any("trust_level" in levels.get(each, {}) for each in (str(top), context.cwd))
    mend = f"set {key} to change that" if is_decided else f"run once with --trust, or set {key}"
    message = f"its skills are not offered, because the project {top} is not trusted; {mend}"
    return (), SkillFault(str(roots[0].path), message)


def _choices(context: PluginContext) -> Sequence[Mapping[str, object]]:
    choices = context.table("skills").get("config", ())
    if not isinstance(choices, list | tuple):
        return ()
    return [
        each for each in cast("Sequence[Mapping[str, object]]", choices) if isinstance(each, dict)
    ]


def _is_enabled(skill: Skill, choices: Sequence[Mapping[str, object]]) -> bool:
    """The last choice that names the skill counts; a path may be that of its folder."""
    enabled = True
    for choice in choices:
        path = choice.get("path")
        if isinstance(path, str):
            place = os.path.expanduser(path)
            is_meant = place in (skill.path, os.path.dirname(skill.path))
        else:
            is_meant = choice.get("name") == skill.name
        if is_meant:
            enabled = choice.get("enabled") is not False
    return enabled


def _read_root(root: Root) -> Iterator[Skill | SkillFault]:
    """Read every skill below a folder, sorted by place."""
    for file in files_below(root.path):
        try:
            if root.inside is not None:
                _keep_inside(file, root.inside)
            yield read_skill(file, root.path, root.scope)
        except SkillError as error:
            yield SkillFault(str(file), str(error), error.line)


def _keep_inside(file: Path, top: Path) -> None:
    real = os.path.realpath(file)
    if not Path(real).is_relative_to(os.path.realpath(top)):
        raise SkillError(f"is a link that leads out of {top}, to {real}")
