"""The identities of a session's commands, and the entries in access lists that name them.

Commands of the same policy share one. Entries are added when a policy is first met and stay until
the session ends, because the system hands them on to every file below a root. Protected places that
come up later are added to the same identity; where a policy protects less, it gets another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_sandbox_windows.journal import Journal, Record, mend_abandoned
from ferrule_sandbox_windows.security import new_sid

if TYPE_CHECKING:
    from pathlib import Path

    from ferrule_sandbox_windows.access_plan import AccessPlan, Ace
    from ferrule_sandbox_windows.system import System


class _Identity(NamedTuple):
    """An identity, what it is granted and what is refused it."""

    sid: str
    grants: tuple[Ace, ...]
    refusals: set[Ace]


class Identities:
    """All identities of one session."""

    def __init__(self, system: System, folder: Path) -> None:
        """Change nothing yet.

        Args:
            system: This machine.
            folder: Where journals are kept.
        """
        self._system = system
        self._folder = folder
        self._journal: Journal | None = None
        self._known: list[_Identity] = []
        self._touched: list[Record] = []

    def identity_for(self, plan: AccessPlan) -> str:
        """Return the identity to run a command with, once its entries are in place.

        Raises:
            SandboxUnavailableError: An access list could not be changed.
        """
        identity = self._fitting(plan)
        missing = [ace for ace in plan.refusals if ace not in identity.refusals]
        try:
            self._add(identity.sid, missing)
            identity.refusals.update(missing)
            if identity not in self._known:
                self._add(identity.sid, plan.grants)  # last: nothing is granted unprotected
                self._known.append(identity)
        except OSError as error:
            raise SandboxUnavailableError(
                f"the access lists for the sandbox could not be changed: {error}; you must be the"
                " owner of what is to be written, or allowed to change its permissions"
            ) from error
        return identity.sid

    def take_back(self) -> None:
        """Remove all entries.

        Raises:
            SandboxUnavailableError: Some could not be removed; the next session tries again.
        """
        self._known.clear()
        journal, self._journal = self._journal, None
        if journal is None:
            return
        fault = self._remove(self._touched)
        self._touched = []
        if fault is None:
            journal.finish()
            return
        journal.keep()
        raise SandboxUnavailableError(
            f"entries of the sandbox stay in access lists: {fault}; they grant nothing to anybody,"
            " and the next session tries to remove them"
        )

    def mend(self) -> int:
        """Remove what killed sessions left behind; returns how many there were."""
        return mend_abandoned(self._folder, lambda records: self._remove(records) is None)

    def _fitting(self, plan: AccessPlan) -> _Identity:
        wanted = set(plan.refusals)
        for known in self._known:
            if known.grants == plan.grants and known.refusals <= wanted:
                return known
        return _Identity(new_sid(), plan.grants, set())

    def _add(self, sid: str, entries: list[Ace] | tuple[Ace, ...]) -> None:
        if not entries:
            return
        if self._journal is None:
            self._journal = Journal(self._folder)
        record = Record(sid, tuple(dict.fromkeys(entry.path for entry in entries)))
        self._journal.write(record)
        self._touched.append(record)
        self._system.add_entries(sid, entries)

    def _remove(self, records: list[Record]) -> OSError | None:
        """Remove entries wherever that is possible; returns the first fault."""
        fault: OSError | None = None
        for sid, paths in reversed(records):
            for path in paths:
                try:
                    self._system.remove_entries(sid, (path,))
                except OSError as error:
                    fault = fault or error
        return fault
