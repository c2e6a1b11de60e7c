"""The skills of one open thread: found anew before every turn, and each problem told once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from anyio.to_thread import run_sync

from ferrule_skills.extra_roots import extra_roots
from ferrule_skills.roots import has_roots

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_skills.catalogue import Catalogue
    from ferrule_skills.skill_file import Skill


_FAULTS: Final = 3
"""How many broken files are named one by one."""


class SessionSkills:
    """What a thread's model may use.

    Attributes:
        state: How the skills are, to be compared later; empty for none.
    """

    def __init__(self) -> None:
        self.state = ""
        self._catalogue: Catalogue | None = None
        self._said: set[str] = set()

    async def look(self, context: PluginContext) -> None:
        """Read the folders away from the event loop, and warn of what is new."""
        find = partial(_find, context, extra_roots(context))
        self._catalogue = found = await run_sync(find, abandon_on_cancel=True)
        self.state = ""
        if found is None:
            return
        if found.usable:
            from ferrule_skills.listing import state_of

            self.state = state_of(found.usable)
        if found.untrusted is not None:
            self._say(context, str(found.untrusted))
        for fault in found.faults[:_FAULTS]:
            self._say(context, f"a skill is left out: {fault}")
        if more := len(found.faults[_FAULTS:]):
            self._say(context, f"{more} more skills are left out; `ferrule skills list` names them")

    @property
    def _usable(self) -> Sequence[Skill]:
        return () if self._catalogue is None else self._catalogue.usable

    def is_listed(self, context: PluginContext) -> bool:
        """Whether the model is told of skills at all."""
        return context.table("skills").get("include_instructions") is not False

    def listing(self, context: PluginContext) -> str:
        """The list for the model; empty for none."""
        if not self.state or not self.is_listed(context):
            return ""
        from ferrule_skills.listing import list_skills

        listing = list_skills(self._usable, _max_tokens(context))
        if listing.warning:
            self._say(context, listing.warning)
        return listing.text

    def changes(self, context: PluginContext, before: str) -> str:
        """What differs from what the model was told."""
        from ferrule_skills.listing import change_text

        return change_text(before, self._usable, _max_tokens(context))

    async def named_in(self, prompt: Sequence[UserInput]) -> str:
        """The texts of the skills that a prompt names; empty for none."""
        from ferrule_skills.mentions import bodies, mentioned

        found = mentioned(prompt, self._usable)
        return await run_sync(bodies, found, abandon_on_cancel=True) if found else ""

    def _say(self, context: PluginContext, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            context.warn(message)


def _find(context: PluginContext, extra: Sequence[Path]) -> Catalogue | None:
    """Look for skills; None where no folder could hold any, which most sessions find."""
    if not has_roots(context, extra):
        return None
    from ferrule_skills.catalogue import find_catalogue

    return find_catalogue(context, extra)


def _max_tokens(context: PluginContext) -> int:
    from ferrule_skills.listing import DEFAULT_TOKENS

    given = context.table("skills").get("max_context_tokens")
    return given if isinstance(given, int) else DEFAULT_TOKENS
