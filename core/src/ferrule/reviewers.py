"""The reviewers of one session: made when they are asked for, checked when the session opens.

A name is that of a plugin, or `plugin:instance` for one of several that differ by their settings.
A reviewer may ask others by name; never itself, by whatever way round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

from ferrule.containment import contained
from ferrule.turn_settings import check_allowed
from ferrule_hookspecs.errors import ConfigError, PluginError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ferrule.manager import PluginManager
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.review import ReviewContext, Reviewer, ReviewOutcome, ReviewRequest

_GROUP: Final = "ferrule.reviewers"
_ALIASES: Final = {"auto_review": "guardian_subagent"}
_PERSON: Final = "user"
_DECISIONS: Final = ("accept", "acceptForSession", "decline", "cancel")


class Reviewers:
    """Finds reviewers by name."""

    def __init__(
        self,
        manager: PluginManager,
        context: PluginContext,
        allowed: Mapping[str, Sequence[str]],
    ) -> None:
        self._manager = manager
        self._context = context
        self._allowed = allowed
        self._made: dict[str, Reviewer] = {}

    def switch(self, manager: PluginManager, changed: Collection[tuple[str, str]]) -> None:
        """Make reviewers from another manager from now on, those anew that have changed."""
        self._manager = manager
        kept = {name for name in self._made if (_GROUP, _plugin(name)) not in changed}
        self._made = {name: made for name, made in self._made.items() if name in kept}

    def resolved(self, name: str) -> str:
        """Return the name that is installed where a name has another spelling."""
        known = self._manager.names(_GROUP)
        return name if _plugin(name) in known else _ALIASES.get(name, name)

    def get(self, name: str) -> Reviewer:
        """Return a reviewer.

        Raises:
            FerruleError: It is not installed, its settings are wrong, or the administrator does
                not allow it, be it alone or asked by another one. A person always may be asked.
        """
        if name not in self._made:
            self._check_allowed(name)
            context = self._context._replace(name=name, settings=self._settings(name))
            driver = self._manager.driver(_GROUP, _plugin(name), context)
            self._made[name] = cast("Reviewer", driver)
        return self._made[name]

    def check(self, name: str, path: tuple[str, ...] = ()) -> None:
        """Fail before anything is started when a reviewer, or one that it asks, cannot work.

        Raises:
            FerruleError: Says what is wrong, and where.
        """
        _refuse_circle(name, path)
        if name == _PERSON and name in self._manager.names(_GROUP):
            return  # has no settings, and most sessions need none: it is loaded when it is asked
        for member in cast("Sequence[str]", getattr(self.get(name), "members", ())):
            self.check(self.resolved(member), (*path, name))

    def _check_allowed(self, name: str) -> None:
        key = "approvals_reviewer"
        if name != _PERSON and key in self._allowed:
            spellings = [each for one in self._allowed[key] for each in (one, self.resolved(one))]
            check_allowed(key, name, {key: list(dict.fromkeys(spellings))})

    def _settings(self, name: str) -> Mapping[str, object]:
        plugin, _, instance = name.partition(":")
        table = self._context.table("reviewers", plugin)
        if not instance:
            return table
        settings = table.get(instance)
        if not isinstance(settings, Mapping):
            raise ConfigError(
                f"the reviewer {name!r} is not configured; add a table"
                f" [reviewers.{plugin}.{instance}] to config.toml"
            )
        return cast("Mapping[str, object]", settings)


class _Member:
    """A reviewer as another one asks it: its faults are errors, and it can ask further."""

    def __init__(self, find: Callable[[str], Reviewer], path: tuple[str, ...]) -> None:
        self.name = path[-1]
        self._find = find
        self._path = path

    async def review(self, request: ReviewRequest, context: ReviewContext) -> ReviewOutcome:
        with contained(f"reviewer {self.name!r}" if self.name else "the reviewer"):
            reviewer = self._find(self.name)
            label = f"reviewer {self.name or getattr(reviewer, 'name', '')!r}"
        with contained(label):
            asked = context._replace(reviewer=_finder(self._find, self._path))
            outcome = await reviewer.review(request, asked)
            if outcome["decision"] not in _DECISIONS:
                raise PluginError(f"{label} answered {outcome['decision']!r}")
        return outcome


async def reviewed(
    find: Callable[[str], Reviewer], request: ReviewRequest, context: ReviewContext
) -> ReviewOutcome:
    """Have a request decided; what the reviewer leaves open is put before a person.

    Raises:
        FerruleError: The reviewer is missing or failed.
    """
    outcome = await _Member(find, (request.reviewer,)).review(request, context)
    if not outcome.get("escalates") or request.reviewer == _PERSON:
        return outcome
    left_open = f"{outcome['reviewer']} left it open: {outcome['reason']}"
    told = request._replace(reason=f"{request.reason} ({left_open})")
    answer = (await _Member(find, (_PERSON,)).review(told, context)).copy()
    answer["evidence"] = [left_open, *answer.get("evidence", [])]
    answer["details"] = {**outcome.get("details", {}), **answer.get("details", {})}
    if answer["decision"] == "decline":  # the model must learn why, and there may be no person
        answer["reason"] = f"{left_open}; {answer['reason']}"
    return answer


def _finder(find: Callable[[str], Reviewer], path: tuple[str, ...]) -> Callable[[str], Reviewer]:
    def reviewer(name: str) -> Reviewer:
        _refuse_circle(name, path)
        return _Member(find, (*path, name))

    return reviewer


def _refuse_circle(name: str, path: tuple[str, ...]) -> None:
    if name in path:
        circle = " -> ".join(filter(None, (*path, name)))
        raise ConfigError(
            f"reviewers ask each other in a circle: {circle}; take {name!r} out of the members"
        )


def _plugin(name: str) -> str:
    return name.partition(":")[0]
