"""Reads hooks out of a table of events; what cannot be used drops itself alone and says so."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeGuard, cast

from ferrule_hooks.events import EVENTS
from ferrule_hooks.handler import DEFAULT_TIMEOUT_S, DEFAULT_TIMEOUTS_S, Handler, Kind, Source
from ferrule_hooks.matcher import MatcherError, matcher_of
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Table = dict[str, object]
MAX_TIMEOUT_S: Final = 3600.0
SETTINGS: Final = frozenset({"state", "files", "dangerously_bypass_trust"})
"""Keys beside the events in the table `hooks` of config.toml."""
_TARGETS: Final[dict[str, tuple[Kind, str]]] = {
    "command": ("command", "command"),
    "http": ("http", "url"),
    "python": ("python", "function"),
    "prompt": ("prompt", "prompt"),
    "agent": ("agent", "prompt"),
    "mcp_tool": ("mcp_tool", "tool"),
}
_IN_TURNS: Final = ("prompt", "agent", "mcp_tool")
"""Types that need a running turn, whose model or tools they use."""
_COMMON: Final = frozenset(
    {
        "type",
        "timeout",
        "statusMessage",
        "async",
        "on_error",
        "sequential",
        "additionalContextLimit",
    }
)
_OWN: Final[dict[str, frozenset[str]]] = {
    "command": frozenset({"command", "commandWindows", "args"}),
    "http": frozenset({"url", "headers", "allowedEnvVars"}),
    "python": frozenset({"function"}),
    "prompt": frozenset({"prompt", "model"}),
    "agent": frozenset({"prompt", "model"}),
    "mcp_tool": frozenset({"server", "tool", "input"}),
}


class DefinitionError(FerruleError):
    """A hook cannot be used as it is written."""


def is_table(value: object) -> TypeGuard[Table]:
    """Tell whether a value is a table; keys of JSON and TOML are always strings."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Tell whether a value is a list."""
    return isinstance(value, list)


def handlers_of(
    table: Mapping[str, object], source: Source, warn: Callable[[str], None], *, root: str
) -> Iterator[Handler]:
    """Read every usable hook of a table; each of the others is named once."""
    unplaced = [name for name in table if name not in EVENTS]
    if unplaced:
        warn(f"{source.file}: {_unplaced(unplaced)}")
    reader = _Reader(source, warn, root)
    for event in EVENTS:
        groups = table.get(event, [])
        if not is_list(groups):
            warn(f"{source.file}: {event} must be a list; its hooks do not run")
            continue
        for number, group in enumerate(groups):
            yield from reader.group(event, number, group)


def _unplaced(names: list[str]) -> str:
    hints = [
        f"{name} (did you mean {near[0]}?)"
        if (near := get_close_matches(name, EVENTS, n=1, cutoff=0.8))
        else name
        for name in names
    ]
    return f"there is no event {', '.join(hints)} here; hooks for it do not run"


class _Reader:
    """Reads the groups of one source."""

    def __init__(self, source: Source, warn: Callable[[str], None], root: str) -> None:
        self._source = source
        self._warn = warn
        self._root = root

    def group(self, event: str, number: int, group: object) -> Iterator[Handler]:
        """Read one group: a matcher and what runs where it matches."""
        place = f"{self._source.file}: {event}[{number}]"
        hooks = group.get("hooks") if is_table(group) else None
        if not is_table(group) or not is_list(hooks):
            self._warn(f"{place} must be a table with a list `hooks`; it does not run")
            return
        matcher = group.get("matcher")
        if matcher is not None and not isinstance(matcher, str):
            self._warn(f"{place}.matcher must be a string; the hooks of this group do not run")
            return
        try:
            matches = matcher_of(matcher)
        except MatcherError as error:
            self._warn(f"{place}.matcher: {error}; the hooks of this group do not run")
            return
        if matcher == "exec_command":
            self._warn(f"{place}.matcher: commands are called Bash here; this matches nothing")
        shared = _Group(event, number, matcher, matches, group.get("sequential") is True)
        for index, given in enumerate(hooks):
            try:
                yield _Parts(shared, given).handler(self._source, index, self._root)
            except DefinitionError as error:
                self._warn(
                    f"{place}.hooks[{index}]: {error}; this hook does not run, the others do"
                )


class _Group(NamedTuple):
    """What the hooks of a group share."""

    event: str
    number: int
    matcher: str | None
    matches: Callable[[Iterable[str]], bool]
    is_sequential: bool


class _Parts:
    """The keys of one hook, checked."""

    def __init__(self, group: _Group, given: object) -> None:
        if not is_table(given):
            raise DefinitionError("it must be a table")
        self.group = group
        self.event = group.event
        self.given = given
        type_ = given.get("type", "command")
        if not isinstance(type_, str) or type_ not in _TARGETS:
            raise DefinitionError(f"there is no type {type_!r}; use {', '.join(_TARGETS)}")
        if type_ in _IN_TURNS and not EVENTS[self.event].is_judged:
            allowed = ", ".join(name for name, event in EVENTS.items() if event.is_judged)
            raise DefinitionError(f"a hook of the type {type_} can run at {allowed}")
        kind, key = _TARGETS[type_]
        if os.name == "nt" and "commandWindows" in given:
            key = "commandWindows"
        if unknown := sorted(given.keys() - _COMMON - _OWN[type_]):
            raise DefinitionError(f"a hook of the type {type_} has no key {', '.join(unknown)}")
        target = given.get(key)
        if not isinstance(target, str) or not target.strip():
            raise DefinitionError(f"`{key}` must say what runs")
        self.kind: Kind = kind
        self.target = target
        _check_target(kind, target)
        if kind in _IN_TURNS and self.flag("async"):
            raise DefinitionError(f"a hook of the type {kind} is always waited for")
        if kind == "mcp_tool":
            self.target = f"mcp__{self._text('server')}__{target}"

    def handler(self, source: Source, index: int, root: str) -> Handler:
        """Make the hook."""
        group = self.group
        return Handler(
            event=group.event,
            source=source,
            group=group.number,
            index=index,
            matcher=group.matcher,
            matches=group.matches,
            kind=self.kind,
            target=self.target,
            args=self._args(),
            headers=self._headers(),
            allowed_env=frozenset(self._texts("allowedEnvVars")),
            model=self._text("model", ""),
            arguments=self._input(),
            timeout_s=self._timeout(),
            is_async=self.flag("async"),
            is_sequential=group.is_sequential or self.flag("sequential"),
            on_error=self._on_error(),
            context_tokens=self._context_tokens(),
            definition=self.definition(),
            root=root,
        )

    def flag(self, key: str) -> bool:
        """Return a switch."""
        value = self.given.get(key, False)
        if not isinstance(value, bool):
            raise DefinitionError(f"`{key}` must be true or false")
        return value

    def definition(self) -> Table:
        """Return what is hashed; for what Codex knows, too, exactly what Codex hashes."""
        timeout = self._timeout()
        timeout = int(timeout) if timeout == int(timeout) else timeout
        hook: Table = {
            **self.given,
            "type": self.kind,
            "timeout": timeout,
            "async": self.flag("async"),
        }
        found: Table = {"event_name": EVENTS[self.event].label, "hooks": [hook]}
        if self.group.matcher is not None:
            found["matcher"] = self.group.matcher
        if self.group.is_sequential:
            found["sequential"] = True
        return found

    def _timeout(self) -> float:
        default = DEFAULT_TIMEOUTS_S.get(self.kind, DEFAULT_TIMEOUT_S)
        value = self.given.get("timeout", default)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise DefinitionError("`timeout` must be a number of seconds")
        if not 0 < value <= MAX_TIMEOUT_S:
            raise DefinitionError(f"`timeout` must be more than 0 and at most {MAX_TIMEOUT_S:g} s")
        return float(value)

    def _context_tokens(self) -> int:
        value = self.given.get("additionalContextLimit", 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise DefinitionError("`additionalContextLimit` must be a number of tokens")
        return value

    def _on_error(self) -> Literal["block", "allow"]:
        value = self.given.get("on_error", "block" if EVENTS[self.event].is_guard else "allow")
        if value not in ("block", "allow"):
            raise DefinitionError("`on_error` must be block or allow")
        return cast('Literal["block", "allow"]', value)

    def _args(self) -> tuple[str, ...] | None:
        return tuple(self._texts("args")) if "args" in self.given else None

    def _text(self, key: str, default: str | None = None) -> str:
        value = self.given.get(key, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise DefinitionError(f"`{key}` must be a text")
        return value

    def _input(self) -> Mapping[str, object]:
        value = self.given.get("input", {})
        if not is_table(value):
            raise DefinitionError("`input` must be a table")
        return value

    def _headers(self) -> dict[str, str]:
        headers = self.given.get("headers", {})
        if not is_table(headers) or not all(isinstance(text, str) for text in headers.values()):
            raise DefinitionError("`headers` must be a table of strings")
        return cast("dict[str, str]", headers)

    def _texts(self, key: str) -> list[str]:
        value = self.given.get(key, [])
        if not is_list(value) or not all(isinstance(text, str) for text in value):
            raise DefinitionError(f"`{key}` must be a list of strings")
        return cast("list[str]", value)


def _check_target(kind: Kind, target: str) -> None:
    if kind == "http" and not target.startswith(("http://", "https://")):
        raise DefinitionError(f"`url` must begin with http:// or https://, not {target!r}")
    module, _, function = target.partition(":")
    is_dotted = all(part.isidentifier() for part in (*module.split("."), *function.split(".")))
    if kind == "python" and not is_dotted:
        raise DefinitionError(f"`function` must be written module:function, not {target!r}")
