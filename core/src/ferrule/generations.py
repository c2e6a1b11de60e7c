"""What is installed, as it is now: one generation of plugins follows another between turns.

The kernel asks here for the plugin manager of a configuration. Before every turn a look at time
stamps tells whether anything changed on disk; where it did, the index is read anew, what changed is
probed in a child process, and its modules are imported anew. What is broken, or cannot be replaced
in a running process, goes on as it was, and that is said once.
"""

from __future__ import annotations

import gc
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
from ferrule.containment import FAULTS
from ferrule.entry import Approval
from ferrule.manager import PluginManager
from ferrule.recent import Recent
from ferrule.trust import governance_of, judge
from ferrule.watched import Print, own_stamp, print_of, watched_by
from ferrule_hookspecs.errors import ConfigError, FerruleError
from ferrule_hookspecs.slots import HOOK_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule.host import LocalHost
    from ferrule.index import Index
    from ferrule.trust import State
    from ferrule.watched import Watched

_KEPT: Final = 32
_CARRIED: Final = 8
"""For how many configurations the next generation is made ready before it is asked for."""
_SWITCHED_OFF: Final = frozenset({"disabled", "blocked"})
_UNUSABLE: Final = frozenset({"broken", "incompatible"})


class Generations:
    """The plugins of one kernel.

    Attributes:
        host: What knows what is installed, and reads configurations.
    """

    def __init__(self, host: LocalHost, report: Callable[[str], None]) -> None:
        """Look at nothing yet; `report` is told what goes wrong, in sentences."""
        self.host = host
        self._tell = report
        self._managers: Recent[Mapping[str, object], PluginManager] = Recent(_KEPT)
        self._watched: Watched | None = None
        self._coming: Watched | None = None
        self._refused: dict[str, Print] = {}
        self._pinned: dict[str, str] = {}
        self._told: set[str] = set()
        self._told_before: frozenset[str] = frozenset()
        self._waiting: list[str] = []
        self._barred: Mapping[tuple[str, str, str], Entry] = {}
        self._lock = anyio.Lock()  # one renewal at a time; who comes second finds it done

    def manager(self, values: Mapping[str, object]) -> PluginManager:
        """Return the plugin manager of a configuration."""
        self._watch()  # who is asked first: what changes from then on is seen
        return self._managers.get(
            values, lambda: PluginManager(self.host.index, values, report=self._report)
        )

    def pin(self, entry: Entry, purpose: str) -> None:
        """Have a distribution stay as it is, because what was made of it cannot be replaced."""
        self._pinned.setdefault(entry.distribution, purpose)

    async def refresh(self) -> None:
        """Look whether anything changed on disk, and take it up."""
        if not self._watch().has_changed():
            return
        async with self._lock:
            self._coming = self._watch()
            if not self._coming.has_changed():
                return
            self._told_before, self._told = frozenset(self._told), set()
            try:
                await anyio.to_thread.run_sync(self._renew)
            except OSError as error:  # such as a machine without processes left
                self._report(f"what has changed of plugins cannot be taken up: {error}")
            finally:
                self._watched = self._coming  # only now, so that others wait for what they see
                self._tell_waiting()

    async def prepare(self, values: Mapping[str, object]) -> None:
        """Make what `manager` returns; what has to be probed for it keeps no other session waiting.

        Raises:
            ConfigError: The table `plugins` cannot be obeyed.
        """
        async with self._lock:
            try:
                await anyio.to_thread.run_sync(self.manager, values)
            finally:
                self._tell_waiting()

    def _watch(self) -> Watched:
        """Return what is looked at."""
        if self._watched is None:
            self._watched = watched_by(self.host.index, self.host.environ)
        return self._watched

    def _tell_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for fault in waiting:
            self._tell(fault)

    def _report(self, fault: str) -> None:
        """Tell what the generation before has not told already."""
        self._told.add(fault)
        if fault in self._told_before:
            return
        if self._lock.locked():  # perhaps in another thread than those who listen
            self._waiting.append(fault)
        else:
            self._tell(fault)

    def _renew(self) -> None:
        """Put the next generation in the place of this one, where it differs."""
        index = self._renewed()
        if index is None:
            self._told |= self._told_before
            return
        managers: Recent[Mapping[str, object], PluginManager] = Recent(_KEPT)
        for values, _ in self._managers.pairs()[-_CARRIED:]:
            made = partial(PluginManager, index, values, report=self._report, barred=self._barred)
            managers.get(values, made)
        self.host.index, self._managers = index, managers
        gc.unfreeze()  # what was frozen at the start may be garbage from now on

    def _renewed(self) -> Index | None:
        """Read the index anew; None where it says of plugins what it said before."""
        old = self.host.index
        try:
            new = self.host.read_index()
        except FerruleError as error:
            self._coming = watched_by(old, self.host.environ, is_new=False)
            self._report(f"plugins stay as they are: {error}")
            return None
        before, after = _grouped(old.all_entries()), _grouped(new.all_entries())
        changed = [name for name in {**before, **after} if _differs(before, after, name)]
        try:
            self._barred = self._not_allowed(new, changed)
        except ConfigError as error:  # nobody knows what may be imported: looked at again later
            self._report(f"plugins stay as they are: {error}")
            return None
        self._coming = watched_by(new, self.host.environ)
        held = {name for name in changed if name in before and name in BUILT_IN_DISTRIBUTIONS}
        self._name_upgrades(old, new)
        theirs = [name for name in changed if name not in held]
        broken, active = self._tried(new, {n: before.get(n, []) for n in theirs})
        for name in theirs:
            if fault := self._fault(name, before.get(name, []), after.get(name, []), broken):
                held.add(name)
                self._refuse(after.get(name, []), before[name], fault)
            else:
                self._refused.pop(name, None)
                self._follow(name, before.get(name, []), active.get(name, []), held)
        new.hold(old, {*held, *(name for name in before if name in BUILT_IN_DISTRIBUTIONS)})
        return new if _said(new) != _said(old) else None

    def _tried(
        self, new: Index, known: Mapping[str, Sequence[Entry]]
    ) -> tuple[Mapping[str, str], Mapping[str, Sequence[Entry]]]:
        """Probe what may be used somewhere; returns the faults and what is usable of each."""
        broken: dict[str, str] = {}
        active: dict[str, dict[tuple[str, str, str], Entry]] = {}
        for values, manager in self._managers.pairs():
            was_used = {entry.key for entry in manager.usable()}
            trial = PluginManager(new, values, report=_unheard, barred=self._barred)
            missing = [] if manager.required_missing() else trial.required_missing()
            for entry, state, reason in trial.standings:
                name = entry.distribution
                if name not in known:
                    continue
                if missing and state == "active" and manager.requires(entry):
                    broken.setdefault(name, missing[0])  # such as another version than is required
                elif state == "active":
                    active.setdefault(name, {})[entry.key] = entry
                elif state in _UNUSABLE and any(each.key in was_used for each in known[name]):
                    broken.setdefault(name, reason)
        return broken, {name: list(entries.values()) for name, entries in active.items()}

    def _not_allowed(
        self, new: Index, changed: Collection[str]
    ) -> Mapping[tuple[str, str, str], Entry]:
        """Mark what changed and is not allowed by now, though sessions may not know it yet.

        Raises:
            ConfigError: The rules cannot be obeyed.
        """
        from ferrule.config.load import load_plugin_rules

        rules = governance_of({"plugins": load_plugin_rules(self.host.home, self.host.admin)})
        entries = [entry for entry in new.all_entries() if entry.distribution in changed]
        judged = judge(entries, rules, contract_version=self.host.index.contract_version)
        return {
            entry.key: _marked(entry, state, reason)
            for entry, state, reason in judged
            if state in _SWITCHED_OFF or state == "untrusted"
        }

    def _fault(
        self,
        name: str,
        before: Sequence[Entry],
        after: Sequence[Entry],
        broken: Mapping[str, str],
    ) -> str:
        """Say why a distribution stays as it was; empty when it need not."""
        if not before:
            return ""
        if name in broken:
            return f"what is there now cannot be used: {broken[name]}"
        there = {entry.key for entry in after}
        gone = [e for e in before if e.key not in there and (not after or e.group == HOOK_GROUP)]
        if self._guards(gone):
            lost = f"what is there now has no {gone[0].name!r}" if after else "its files are gone"
            return f"it guards and {lost}; name it in plugins.disabled to do without it"
        purpose = self._pinned.get(name, "")
        if not purpose and not _same_code(before, after):
            from ferrule.editions import current_edition

            edition = current_edition(name)
            purpose = edition.fixed if edition is not None else ""
        return f"it cannot be replaced while Ferrule runs: {purpose}; restart it" if purpose else ""

    def _guards(self, entries: Sequence[Entry]) -> bool:
        """Whether a gap would be left where a distribution is no longer there."""
        from ferrule.guarding import is_guard

        managers = [manager for _, manager in self._managers.pairs()]
        return any(
            is_guard(entry) or any(manager.requires(entry) for manager in managers)
            for entry in entries
        )

    def _follow(
        self, name: str, before: Sequence[Entry], active: Sequence[Entry], held: set[str]
    ) -> None:
        """Import what changed; the old code stays where that fails."""
        from ferrule.editions import follow

        if _same_code(before, active):
            return
        try:
            follow(name, active)
        except FAULTS as error:  # an import may raise anything
            held.add(name)
            fault = f"what is there now cannot be imported: {type(error).__name__}: {error}"
            self._refuse(active, before, fault)

    def _refuse(self, after: Sequence[Entry], before: Sequence[Entry], fault: str) -> None:
        """Say why a distribution goes on as it was; again only when its files change again."""
        distribution = before[0].distribution
        found = print_of(after)
        if self._refused.get(distribution) != found:
            self._refused[distribution] = found
            self._report(f"{before[0].label} goes on as it was: {fault}")

    def _name_upgrades(self, old: Index, new: Index) -> None:
        """Say that parts of Ferrule itself were changed; only a new process can use those."""
        known = {e.distribution: e.version for e in old.all_entries()}
        found = {e.distribution: e.version for e in new.all_entries()}
        upgraded = sorted(
            f"{name} {found[name]}"
            for name, version in known.items()
            if name in BUILT_IN_DISTRIBUTIONS and found.get(name, version) != version
        )
        if upgraded:
            self._report(f"restart Ferrule to use {', '.join(upgraded)}; what runs stays as it is")


def _unheard(fault: str) -> None:
    """Whatever is wrong is told by the manager that is used afterwards."""


def _marked(entry: Entry, state: State, reason: str) -> Entry:
    """Have an entry be judged in the same way whatever a session's configuration says.

    What was only not approved stays a gap where it guards; what was switched off is none.
    """
    if state in _SWITCHED_OFF:
        return entry._replace(off=entry.off or "the configuration")
    return entry._replace(approval=(entry.approval or Approval())._replace(fault=reason))


def _grouped(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.distribution, []).append(entry)
    return found


def _differs(
    before: Mapping[str, Sequence[Entry]], after: Mapping[str, Sequence[Entry]], name: str
) -> bool:
    return print_of(before.get(name, ())) != print_of(after.get(name, ()))


def _same_code(before: Sequence[Entry], after: Sequence[Entry]) -> bool:
    """Whether the modules of a distribution are what they were."""
    code = [{(e.location, e.target, own_stamp(e)) for e in each} for each in (before, after)]
    return code[0] == code[1]


def _said(index: Index) -> Print:
    return print_of(index.all_entries())
