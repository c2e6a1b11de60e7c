"""What the model reads of skills: their names and what they are for, within a budget.

Paths are short: a table names every root once. Where the list is too long, descriptions are
shortened first, all alike, and only then skills are left out, the farthest first.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_skills.skill_file import DESCRIPTION_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_skills.skill_file import Skill

DEFAULT_TOKENS: Final = 4000
_BYTES_PER_TOKEN: Final = 4
_LENGTHS: Final = (DESCRIPTION_LIMIT, 512, 256, 128, 64, 32, 0)
_HEAD: Final = """\
## Skills
A skill is a folder of knowledge about one kind of task; its `SKILL.md` says how the task is done
well. When a task is of a kind that a description below names, read that file with your tools before
you begin, then follow it; open other files of its folder only as it asks for them. Where the user
names a skill as `$NAME`, its text comes with the prompt. Paths begin with a root of the table."""


class Listing(NamedTuple):
    """The list, and what the user should know of its being too long."""

    text: str
    warning: str = ""


def list_skills(skills: Sequence[Skill], max_tokens: int) -> Listing:
    """Write the list of skills for the model."""
    budget = max_tokens * _BYTES_PER_TOKEN
    aliases = {root: f"r{n}" for n, root in enumerate(dict.fromkeys(s.root for s in skills))}

    def lines_of(length: int) -> list[str]:
        return [_line(skill, aliases[skill.root], length) for skill in skills]

    length = next((each for each in _LENGTHS if _size(lines_of(each)) <= budget), 0)
    lines = _fitting(lines_of(length), budget)
    left_out = len(skills) - len(lines)
    if left_out:
        lines.append(f"({left_out} more are left out, for the list would be too long.)")
    roots = [f"- `{alias}` = `{root}`" for root, alias in aliases.items()]
    body = "\n".join([_HEAD, "### Skill roots", *roots, "### Available skills", *lines])
    warning = _warning(max_tokens, length, left_out) if length < DESCRIPTION_LIMIT else ""
    return Listing(f"<skills_instructions>\n{body}\n</skills_instructions>", warning)


def state_of(skills: Sequence[Skill]) -> str:
    """Say which skills there are, to be compared later; empty for none."""
    state = {skill.name: _digest(skill) for skill in skills}
    return json.dumps(state, separators=(",", ":")) if state else ""


def change_text(told: str, skills: Sequence[Skill], max_tokens: int) -> str:
    """Say what differs from the skills that the model was told."""
    before = cast("Mapping[str, str]", json.loads(told)) if told else {}
    fresh = [skill for skill in skills if before.get(skill.name) != _digest(skill)]
    there = {skill.name for skill in skills}
    lines = [f"- {skill.name}: {skill.description} (file: {skill.path})" for skill in fresh]
    kept = _fitting(lines, max_tokens * _BYTES_PER_TOKEN)
    more = [f"({len(lines) - len(kept)} more are left out.)"] if len(kept) < len(lines) else []
    gone = [f"- {name} is not there any more" for name in before if name not in there]
    return "\n".join(["Skills that changed, as they are now:", *kept, *more, *gone])


def _line(skill: Skill, alias: str, length: int) -> str:
    description = skill.description
    if len(description) > length:
        description = f"{description[: max(0, length - 1)]}…" if length else ""
    said = f": {description}" if description else ""
    return f"- {skill.name}{said} (file: {alias}/{skill.place})"


def _fitting(lines: Sequence[str], budget: int) -> list[str]:
    """The first lines that fit."""
    kept: list[str] = []
    for line in lines:
        budget -= _size([line])
        if budget < 0:
            break
        kept.append(line)
    return kept


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode(errors="replace")) + 1 for line in lines)


def _warning(max_tokens: int, length: int, left_out: int) -> str:
    what = f"descriptions are cut to {length} letters" if length else "descriptions are left out"
    more = f", and {left_out} skills are not listed" if left_out else ""
    return (
        f"the list of skills is longer than skills.max_context_tokens = {max_tokens}: {what}{more};"
        " raise the limit, or switch skills off with skills.config"
    )


def _digest(skill: Skill) -> str:
    facts = f"{skill.path}\0{skill.description}"
    return blake2b(facts.encode(errors="replace"), digest_size=8).hexdigest()
