"""Keeps abstract sockets of the machine out of reach of commands that may use the network.

They belong to the network, which such a command shares with the machine, and have no path that
could be covered. Landlock can keep to the sandbox what a process connects to, without a rule about
files, which would forbid bubblewrap its mounts. So a program of a few instructions takes that on
itself and then becomes bubblewrap.
"""

from __future__ import annotations

import os
import stat

from ferrule_confinement.landlock import SCOPES_SINCE, create_ruleset, landlock_version
from ferrule_confinement.starter import Starter

_PR_SET_NO_NEW_PRIVS = 38
_CLOSE_ON_EXEC = 4


class ScopedStart:
    """The start of one command.

    Attributes:
        passed: What the program inherits.
    """

    def __init__(self) -> None:
        """Make the program.

        Raises:
            OSError: The system forbids programs that lie in memory (`vm.memfd_noexec`).
        """
        self.passed: list[int] = []
        self._starter = Starter()
        self._report = -1
        try:
            ruleset = create_ruleset(0, landlock_version(), network=True)
            self.passed.append(ruleset)
            self._report, theirs = os.pipe()
            self.passed.append(theirs)
            self._executable = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
            self.passed.append(self._executable)
            self._starter.call("prctl", _PR_SET_NO_NEW_PRIVS, 1)
            self._starter.call("landlock_restrict_self", ruleset)
            for descriptor in self.passed:
                self._starter.call("close_range", descriptor, descriptor, _CLOSE_ON_EXEC)
            made = self._starter.open(theirs)
            os.dup2(made, self._executable, inheritable=False)  # it closes itself by its number
            os.close(made)
        except BaseException:
            self.close()
            raise

    def argv(self, program: str) -> tuple[str, ...]:
        """What starts a program with it; the program's arguments follow."""
        return (f"/proc/self/fd/{self._executable}", program, program)

    def started(self) -> None:
        """Close what the program has inherited."""
        while self.passed:
            os.close(self.passed.pop())

    def close(self) -> str | None:
        """Give everything back; says which step failed, if any."""
        self.started()
        report, self._report = self._report, -1
        return None if report == -1 else self._starter.read_report(report)


def is_scopable(program: str) -> bool:
    """Whether bubblewrap can be started so; one with set-user-id would lose what it needs."""
    return landlock_version() >= SCOPES_SINCE and not os.stat(program).st_mode & stat.S_ISUID
