"""Skills that the user names: `$name` in the text puts the skill's own text before the model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ferrule_skills.skill_file import SkillError, read_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.items import UserInput
    from ferrule_skills.skill_file import Skill

_MENTION: Final = re.compile(r"(?<![\w$\\])\$([A-Za-z0-9_](?:[\w:.-]*[\w])?)")


def mentioned(prompt: Sequence[UserInput], skills: Sequence[Skill]) -> list[Skill]:
    """The skills that the texts name, in order, without those that the client sent along."""
    named = {skill.name: skill for skill in skills}
    sent = {part["path"] for part in prompt if part["type"] == "skill"}
    found: dict[str, Skill] = {}
    for part in prompt:
        if part["type"] == "text":
            for name in _MENTION.findall(part["text"]):
                skill = named.get(name)
                if skill is not None and skill.path not in sent:
                    found[name] = skill
    return list(found.values())


def bodies(skills: Sequence[Skill]) -> str:
    """Frame the texts of skills as models know them."""
    return "\n\n".join(
        f"<skill>\n<name>{skill.name}</name>\n<path>{skill.path}</path>\n{_body(skill)}\n</skill>"
        for skill in skills
    )


def _body(skill: Skill) -> str:
    try:
        return read_body(skill)
    except SkillError as error:
        return f"The file {error}."
