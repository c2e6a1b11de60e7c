"""Runs every check: the kernel's own by category, and those of plugins, all at the same time.

Whatever a check does wrong is its own failure: it becomes a failed check, and the others go on.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import anyio

from ferrule.abandonable import AbandonableCall
from ferrule.dispatcher import Dispatcher
from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from ferrule.doctor.examination import Examination
    from ferrule.entry import Entry

_HOOK: Final = "ferrule_checks"
_STATUSES: Final = frozenset({"ok", "warn", "fail", "skip"})
_FAULTS: Final = "plugins.checks."
_LIMIT_S: Final = 120.0
"""A bound on the kernel's own checks: a home with gigabytes of threads is read through."""
_OWN: Final[dict[str, str]] = {
    "config": "configuration",
    "git": "git",
    "home": "home",
    "leftovers": "leftovers",
    "machine": "machine",
    "network": "network",
    "plugins": "plugins",
    "provider": "provider",
    "sandbox": "sandbox",
    "threads": "threads",
}
"""The module of each category; it has a generator function `checks`."""

Checks = Iterator[Check] | AsyncIterator[Check]


class Finding(NamedTuple):
    """A check that was made.

    Attributes:
        check: What it found.
        duration_ms: How long it took; a plugin's checks are made together and share it.
        plugin: The plugin that made it; empty for the kernel's own.
    """

    check: Check
    duration_ms: float
    plugin: str = ""

    @property
    def category(self) -> str:
        """The part of its id before the first dot."""
        return self.check.id.partition(".")[0]


def is_wanted(check_id: str, wanted: Sequence[str]) -> bool:
    """Tell whether a check is asked for, by category or by id; nothing asked for means all."""
    return not wanted or check_id in wanted or check_id.partition(".")[0] in wanted


async def examine(examination: Examination, wanted: Sequence[str] = ()) -> list[Finding]:
    """Make all checks that are asked for; sorted by id."""
    found: list[Finding] = []
    manager = await AbandonableCall(lambda: examination.manager).run()  # read once, before all
    serving = () if manager is None else manager.hooks.serving(_HOOK)
    categories = {word.partition(".")[0] for word in wanted}
    async with anyio.create_task_group() as group:
        for category, module in _OWN.items():
            if not wanted or category in categories:
                group.start_soon(_examine_category, category, module, examination, found)
        for entry in serving:
            group.start_soon(_ask_plugin, entry, examination, found)
    kept = [
        finding
        for finding in found
        # A plugin that failed may be the very one whose checks are asked for.
        if is_wanted(finding.check.id, wanted) or finding.check.id.startswith(_FAULTS)
    ]
    return sorted(kept, key=lambda finding: (finding.check.id, finding.plugin))


async def _examine_category(
    category: str, module: str, examination: Examination, found: list[Finding]
) -> None:
    clock = _Clock()
    fault = f"the checks of {category} took longer than {_LIMIT_S:g} s"
    with anyio.move_on_after(_LIMIT_S):
        try:
            function = import_module(f"ferrule.doctor.{module}").checks
            made = cast("Callable[[Examination], Checks]", function)(examination)
            if isinstance(made, AsyncIterator):
                async for check in made:
                    found.append(Finding(check, clock.lap_ms()))  # noqa: PERF401 -- as in `_drain`
            else:
                await AbandonableCall(lambda: _drain(made, clock, found)).run()
        except Exception as error:  # noqa: BLE001 -- one category's fault must not hide the others
            fault = f"the checks of {category} failed: {type(error).__name__}: {error}"
        else:
            return
    check = Check(f"{category}.checks", "fail", fault, "look at that place yourself; it is unusual")
    found.append(Finding(check, clock.lap_ms()))


def _drain(checks: Iterator[Check], clock: _Clock, found: list[Finding]) -> None:
    for check in checks:
        found.append(Finding(check, clock.lap_ms()))  # noqa: PERF401 -- kept where a later one fails


async def _ask_plugin(entry: Entry, examination: Examination, found: list[Finding]) -> None:
    """Ask one plugin, through a dispatcher of its own, so that its faults are told apart."""
    faults: list[str] = []
    clock = _Clock()
    answers = await Dispatcher([entry], faults.append).gather(_HOOK, context=examination.context)
    duration = clock.lap_ms()
    checks: list[Check] = []
    for _, answer in answers:
        try:
            checks += [_checked(each) for each in cast("Sequence[object]", answer)]
        except (TypeError, ValueError) as error:
            faults.append(f"{entry.label}: hook {_HOOK} returned no checks: {error}")
    for fault in faults:
        detail = fault.removesuffix(f"; {entry.mend}")
        checks.append(Check(_FAULTS + entry.name, "fail", detail, entry.mend))
    found += [Finding(check, duration, entry.name) for check in checks]


def _checked(value: object) -> Check:
    """Return a plugin's check.

    Raises:
        ValueError: It is none.
    """
    if (
        not isinstance(value, Check)
        or value.status not in _STATUSES
        or "." not in value.id
        or not all(map(_is_text, value))
    ):
        raise ValueError(f"{value!r} is not a Check with an id such as `category.what`")
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


class _Clock:
    """Measures from one check to the next."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap_ms(self) -> float:
        now = time.perf_counter()
        passed, self._last = now - self._last, now
        return round(passed * 1000, 1)
