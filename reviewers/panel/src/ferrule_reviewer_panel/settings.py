"""What `[reviewers.panel]` and `[reviewers.panel.INSTANCE]` may say."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, NoReturn, cast, get_args

from ferrule_hookspecs.errors import ConfigError
from ferrule_reviewer_panel.algebra import Mode

_PLAN_KEYS: Final = (
    "mode",
    "members",
    "k",
    "on_escalate",
    "fallback",
    "shadow",
    "deadline_ms",
)
_MATCH_KEYS: Final = ("tool", "rule", "directory", "escalation")


class Plan(NamedTuple):
    """Who is asked, and what their answers come to.

    Attributes:
        label: How decisions name it, such as `panel all_of`.
        mode: How votes combine.
        members: Who decides.
        k: With k_of_n: how many must accept.
        on_escalate: Who decides what members leave open; empty leaves it open further up.
        fallback: What the vote of a member that failed is: a refusal, or that of a person.
        shadow: Who is asked and recorded, but never decides.
        deadline_s: How long each of them may take; None for the default.
    """

    label: str
    mode: Mode
    members: tuple[str, ...]
    k: int
    on_escalate: str
    fallback: Literal["decline", "user"]
    shadow: tuple[str, ...]
    deadline_s: float | None

    @property
    def asked(self) -> tuple[str, ...]:
        """Everybody it may ask."""
        further = (self.on_escalate, self.fallback)
        return (*self.members, *self.shadow, *(n for n in further if n not in ("", "decline")))


class Route(NamedTuple):
    """A plan for some requests; what is empty matches all.

    Attributes:
        plan: What then counts.
        tools: Patterns of tools.
        rules: Rules because of which approval is asked for, as texts or patterns.
        directories: Folders, absolute and without symbolic links.
        escalation: Whether the call leaves the sandbox.
    """

    plan: Plan
    tools: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    escalation: bool | None = None


class Settings(NamedTuple):
    """The plan, and those that come before it for some requests."""

    plan: Plan
    routes: tuple[Route, ...]

    @property
    def members(self) -> tuple[str, ...]:
        """Everybody who may be asked, once each."""
        plans = (self.plan, *(route.plan for route in self.routes))
        return tuple(dict.fromkeys(name for plan in plans for name in plan.asked))


def read_settings(name: str, table: Mapping[str, object], user_home: str) -> Settings:
    """Check a table.

    Args:
        name: What the panel was asked for as, such as `panel:strict`.
        table: Its settings. Tables in it are other instances.
        user_home: What `~` stands for.

    Raises:
        ConfigError: Names the key that is wrong.
    """
    place = f"reviewers.{name.replace(':', '.')}"
    listed = table.get("routes", ())
    if not isinstance(listed, list | tuple):
        raise ConfigError(f"[{place}] in config.toml: routes must be tables [[{place}.routes]]")
    own = {
        key: value
        for key, value in table.items()
        if key != "routes" and not isinstance(value, Mapping)
    }
    plan = _Reader(f"[{place}]", own).plan(name)
    routes: list[Route] = []
    for number, route in enumerate(cast("Sequence[object]", listed), 1):
        where = f"[[{place}.routes]], the {number}."
        if not isinstance(route, Mapping):
            raise ConfigError(f"{where} in config.toml must be a table, not {route!r}")
        inherited = {key: own[key] for key in _INHERITED if key in own}
        reader = _Reader(where, {**inherited, **cast("Mapping[str, object]", route)})
        routes.append(reader.route(f"{name} route {number}", user_home))
    return Settings(plan, tuple(routes))


_INHERITED: Final = ("on_escalate", "fallback", "deadline_ms")


class _Reader:
    def __init__(self, place: str, table: Mapping[str, object]) -> None:
        self._place = place
        self._table = table

    def plan(self, label: str, more: Sequence[str] = ()) -> Plan:
        known = (*_PLAN_KEYS, *more)
        for key in self._table:
            if key not in known:
                self._refuse(f"it has an unknown key {key!r} (known: {', '.join(known)})")
        mode = self._choice("mode", get_args(Mode), "all_of")
        members, shadow = self._words("members"), self._words("shadow")
        if not members:
            self._refuse("it needs `members`, a list of reviewers")
        self._check_names(members, shadow)
        return Plan(
            f"{label} {mode}",
            cast("Mode", mode),
            members,
            self._k(mode, len(members)),
            self._text("on_escalate"),
            cast('Literal["decline", "user"]', self._choice("fallback", ("decline", "user"))),
            shadow,
            self._deadline(),
        )

    def route(self, label: str, user_home: str) -> Route:
        plan = self.plan(label, _MATCH_KEYS)
        escalation = self._table.get("escalation")
        if escalation is not None and not isinstance(escalation, bool):
            self._refuse(f"escalation must be true or false, not {escalation!r}")
        directories = tuple(self._folder(one, user_home) for one in self._words("directory"))
        return Route(plan, self._words("tool"), self._words("rule"), directories, escalation)

    def _check_names(self, members: Sequence[str], shadow: Sequence[str]) -> None:
        seen: set[str] = set()
        for name in (*members, *shadow):
            if name in seen:
                self._refuse(f"it names {name!r} twice, and nobody has two votes")
            seen.add(name)
        if "user" in shadow:
            self._refuse("it has 'user' in `shadow`; a person is not asked for nothing")

    def _k(self, mode: str, count: int) -> int:
        k = self._table.get("k")
        if mode != "k_of_n":
            if k is not None:
                self._refuse(f"it has `k`, which only mode 'k_of_n' knows, not {mode!r}")
            return 1
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= count:
            self._refuse(f"k must be from 1 to {count}, the number of members, not {k!r}")
        return k

    def _deadline(self) -> float | None:
        value = self._table.get("deadline_ms")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            self._refuse(f"deadline_ms must be a number of milliseconds above 0, not {value!r}")
        return value / 1000

    def _folder(self, text: str, user_home: str) -> str:
        if text == "~" or text.startswith("~/"):
            text = user_home + text[1:]
        if not os.path.isabs(text):
            self._refuse(f"directory must be absolute or begin with ~/, not {text!r}")
        return os.path.realpath(text)

    def _choice(self, key: str, known: Sequence[str], default: str = "") -> str:
        value = self._table.get(key, default or known[0])
        if value not in known:
            self._refuse(f"{key} must be one of {', '.join(known)}, not {value!r}")
        return str(value)

    def _text(self, key: str) -> str:
        value = self._table.get(key, "")
        if not isinstance(value, str):
            self._refuse(f"{key} must be a text, not {value!r}")
        return value

    def _words(self, key: str) -> tuple[str, ...]:
        value = self._table.get(key, ())
        if isinstance(value, str):
            value = (value,)
        words = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (None,)
        if not all(isinstance(word, str) and word for word in words):
            self._refuse(f"{key} must be a list of texts, not {value!r}")
        return cast("tuple[str, ...]", tuple(words))

    def _refuse(self, fault: str) -> NoReturn:
        raise ConfigError(f"{self._place} in config.toml: {fault}")
