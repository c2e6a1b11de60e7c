"""Names that must stay what they are while a command runs: held open by this process.

Windows lets nobody rename or remove what is open without having agreed to that, nor a folder on the
way to it. Missing names are taken by stand-ins that the system removes when their handle is
closed, so that none is left behind when this process is killed.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_sandbox_windows.places import unique

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_hookspecs.sandbox import ResolvedPolicy
    from ferrule_sandbox_windows.system import Hold, System


class Names:
    """What is held for all commands that run; stand-ins are shared among them."""

    def __init__(self, system: System) -> None:
        """Hold nothing yet."""
        self._system = system
        self._stand_ins: dict[str, Hold] = {}
        self._users: dict[str, int] = {}

    def missing(self, policy: ResolvedPolicy) -> tuple[str, ...]:
        """Names that a command must not create: those that a stand-in has taken are missing."""
        names = unique(name for root in policy.writable_roots for name in root.forbidden)
        return tuple(
            name
            for name in names
            if name in self._stand_ins
            or (not os.path.lexists(name) and os.path.isdir(os.path.dirname(name)))
        )

    def existing(self, policy: ResolvedPolicy) -> tuple[str, ...]:
        """Names that a command may neither rename nor remove."""
        names: list[str] = []
        for root in policy.writable_roots:
            names += (root.path, *root.read_only, *root.pinned, *root.forbidden)
        return tuple(
            name for name in unique(names) if os.path.lexists(name) and name not in self._stand_ins
        )

    def hold(self, policy: ResolvedPolicy) -> ExitStack:
        """Take all names of a policy or none; closing what is returned lets go of them.

        Closing raises `SandboxUnavailableError` where something came into being after all.

        Raises:
            SandboxUnavailableError: One cannot be kept.
        """
        name = ""
        with ExitStack() as held:
            try:
                missing = self.missing(policy)
                for name in self.existing(policy):
                    held.callback(self._system.hold(name).close)
                for name in missing:
                    held.callback(self._take(name), name)
            except OSError as error:
                raise SandboxUnavailableError(
                    f"{name} is protected and cannot be kept as it is while a command runs:"
                    f" {error}; close what uses it"
                ) from error
            return held.pop_all()

    def _take(self, name: str) -> Callable[[str], None]:
        """Have a stand-in; returns what gives it back."""
        if name not in self._stand_ins:
            self._stand_ins[name] = self._system.stand_in(name)
        self._users[name] = self._users.get(name, 0) + 1
        return self._give_back

    def _give_back(self, name: str) -> None:
        self._users[name] -= 1
        if not self._users[name]:
            del self._users[name]
            self._stand_ins.pop(name).close()
            if _holds_something(name):
                raise SandboxUnavailableError(
                    f"{name} came into being while a command ran, although it is protected; look at"
                    " it before you trust it"
                )


def _holds_something(name: str) -> bool:
    """Whether a missing name is anything but gone, or an empty stand-in of another session."""
    try:
        return bool(os.listdir(name))
    except NotADirectoryError:
        return True
    except OSError:
        return False
