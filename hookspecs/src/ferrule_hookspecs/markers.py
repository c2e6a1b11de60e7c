"""The pluggy markers of the project, and what the dispatcher must know about each hook.

Plugins import `hookimpl`; only `hooks.py` uses `hook_contract`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple, TypeVar

import pluggy

PROJECT: Final = "ferrule"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

HookKind = Literal["assess", "gather", "observe", "rewrite"]
"""How the answers of a hook combine.

assess: verdicts, the most restrictive wins, a fault counts as deny.
gather: lists, concatenated in declared order, a fault drops that plugin's answer.
observe: answers are ignored, a fault is reported once.
rewrite: at most one plugin may answer; two answers or a fault count as deny.
"""

_F = TypeVar("_F", bound=Callable[..., object])


class HookContract(NamedTuple):
    """How the dispatcher treats one hook.

    Attributes:
        kind: How answers combine.
        timeout_s: Deadline for one implementation, in seconds.
        deprecated: Since when the hook, or some of its arguments, should not be used any more,
            what to use instead, and when it will be gone: "since 0.2, use call; gone in 0.3".
    """

    kind: HookKind
    timeout_s: float
    deprecated: str | Mapping[str, str] = ""


PATIENCE: Final = "ferrule_patience_s"


def patient(seconds: float) -> Callable[[_F], _F]:
    """Give one implementation of a hook a longer deadline than the hook's own.

    For plugins that wait for programs of the user, which have deadlines of their own.
    """

    def mark(function: _F) -> _F:
        setattr(function, PATIENCE, seconds)
        return function

    return mark


REPLAYABLE: Final = "ferrule_replayable"


def replayable(function: _F) -> _F:
    """Mark an implementation of an assessing hook that may be asked about calls of the past.

    It judges by its arguments and by files alone: it runs nothing, asks nobody, changes nothing,
    and needs no session.
    """
    setattr(function, REPLAYABLE, True)
    return function


HOOK_CONTRACTS: Final[dict[str, HookContract]] = {}


def hook_contract(
    kind: HookKind, *, timeout_s: float = 5.0, deprecated: str | Mapping[str, str] = ""
) -> Callable[[_F], _F]:
    """Declare a hook specification together with its combining rule and deadline.

    What is `deprecated` goes on working until the next minor version of the contract; its users
    are told.
    """

    def mark(function: _F) -> _F:
        HOOK_CONTRACTS[function.__name__] = HookContract(kind, timeout_s, deprecated)
        return hookspec(function)

    return mark
