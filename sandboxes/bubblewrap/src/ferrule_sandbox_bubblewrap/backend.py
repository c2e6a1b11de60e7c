"""The slot driver `bubblewrap` of `ferrule.sandboxes`."""

from __future__ import annotations

import atexit
import os
from functools import partial
from typing import TYPE_CHECKING, Final

from ferrule_confinement.control_groups import bounds_processes, remove_groups
from ferrule_confinement.placeholders import Guard, is_file_name, place
from ferrule_confinement.program import find_program
from ferrule_confinement.sealed_file import sealed_file
from ferrule_confinement.seccomp import Refusals, filter_program
from ferrule_confinement.stand_in_watchdog import Watchdog
from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.sandbox import Capabilities, Feature, Launch
from ferrule_sandbox_bubblewrap.arguments import (
    View,
    environment_arguments,
    sandbox_arguments,
)
from ferrule_sandbox_bubblewrap.command_signals import forward_signal
from ferrule_sandbox_bubblewrap.covered_sockets import CoveredSockets
from ferrule_sandbox_bubblewrap.doors import Doors
from ferrule_sandbox_bubblewrap.foreground import foreground_argv
from ferrule_sandbox_bubblewrap.host_sockets import host_sockets, service_folders
from ferrule_sandbox_bubblewrap.limits import Bounds, bounds_for
from ferrule_sandbox_bubblewrap.probe import Finding, examine
from ferrule_sandbox_bubblewrap.scoped_start import ScopedStart, is_scopable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import (
        Command,
        CommandResult,
        Denial,
        FileSystem,
        ResolvedPolicy,
    )

_MAX_WORDS: Final = 8_500  # bubblewrap reads at most 9,000 arguments
_ENFORCED: Final[frozenset[Feature]] = frozenset(
    (
        "filesystem",
        "protected_paths",
        "missing_names",
        "deny_read",
        "network",
        "unix_sockets",
        "pids",
        "ipc",
        "seccomp",
        "proc_sys",
        "readable_roots",
        "metadata",
        "door",
    )
)


class BubblewrapBackend:
    """Confines commands with bubblewrap; satisfies `SandboxBackend`."""

    name = "bubblewrap"

    def __init__(self, context: PluginContext) -> None:
        """Keep the context; nothing is started before the first command."""
        self._context = context
        self._finding: Finding | None = None
        self._watchdog = Watchdog()
        self._doors = Doors()
        self._filters: dict[Refusals, int] = {}

    def probe(self) -> Capabilities:
        """Tell what works on this machine; cheap after the first call."""
        finding = self._examined()
        if finding.program is None:
            return Capabilities(available=False, reason=finding.reason)
        enforced: frozenset[Feature] = _ENFORCED
        if bounds_processes():
            enforced = frozenset((*_ENFORCED, "resources"))
        return Capabilities(available=True, reason=finding.reason, enforced=enforced)

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build the launch of one command.

        Raises:
            SandboxUnavailableError: bubblewrap does not work here or cannot protect something.
            PolicyUnenforceableError: The policy asks for no confinement.
        """
        if policy.unconfined:
            raise PolicyUnenforceableError(
                "the bubblewrap sandbox confines every command; use the sandbox backend 'none'"
                f" for {policy.mode}"
            )
        program = self._examined().program
        if program is None:
            raise SandboxUnavailableError(self._examined().reason)
        if not os.path.isdir(command.cwd):
            raise SandboxUnavailableError(f"the working directory {command.cwd} does not exist")
        failing = find_program(policy, command).failure
        if failing is not None:
            return Launch(tuple(failing), env={}, cwd="/")
        return self._confined(program, policy, command)

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """Tell whether the sandbox, and not the command itself, made it fail."""
        from ferrule_confinement import denials

        return denials.classify(policy, result)

    def files(self, policy: ResolvedPolicy) -> FileSystem | None:
        """None: files are local."""
        return None

    async def aclose(self) -> None:
        """End the watchdog and close the filter."""
        self.close()

    def close(self) -> None:
        """Do what `aclose` does where no event loop runs."""
        self._watchdog.close()
        self._doors.close()
        remove_groups()
        atexit.unregister(self.close)
        while self._filters:
            os.close(self._filters.popitem()[1])

    def _examined(self) -> Finding:
        if self._finding is None:
            self._finding = examine(
                self._context.environ.get("PATH", ""),
                os.path.realpath(self._context.cwd or "/"),
                os.path.join(self._context.home, "cache", "bubblewrap"),
            )
        return self._finding

    def _confined(self, program: str, policy: ResolvedPolicy, command: Command) -> Launch:
        guard, view = self._protect(policy)
        run = _Run(guard, self._watchdog)
        run.covered = CoveredSockets(view.sockets)
        try:
            run.leash = self._watchdog.leash()
            bounds = run.bounds = bounds_for(policy)
            if command.door is not None and not policy.network:
                bounds.opening = partial(self._doors.open, command.door)
            bounds.when_up = run.covered.tidy
            bounds.open()
            run.opened.append(self._filter_copy(policy))
            words = sandbox_arguments(policy, command.cwd, view)
            words += environment_arguments(policy, command.env)
            words += ["--seccomp", str(run.opened[0])]
            words += ["--info-fd", str(bounds.info), "--block-fd", str(bounds.gate)]
            words += ["--sync-fd", str(run.leash)]  # its first process holds it, no other does
            if not command.tty:
                words.append("--new-session")
            run.opened.append(_argument_file(words))
            if policy.network and is_scopable(program):
                run.scope = ScopedStart()
        except BaseException:
            run.cleanup()
            raise
        start = (program,) if run.scope is None else run.scope.argv(program)
        argv = foreground_argv(command.argv) if command.tty else command.argv
        return Launch(
            argv=(*start, "--args", str(run.opened[1]), "--", *argv),
            env={},
            cwd="/",
            pass_fds=run.passed,
            started=run.started,
            cleanup=run.cleanup,
            forward_signal=forward_signal,
            settled=run.settled if run.covered else None,
        )

    def _protect(self, policy: ResolvedPolicy) -> tuple[Guard, View]:
        """Put stand-ins where protected names are missing, and have the watchdog know of them."""
        roots = policy.writable_roots
        forbidden = dict.fromkeys(path for root in roots for path in root.forbidden)
        existing = dict.fromkeys(path for root in roots for path in root.read_only)
        for path in forbidden:  # before they are there: a kill may come at any moment
            self._watchdog.watch("f" if is_file_name(path) else "d", path)
        guard, present = place(list(forbidden))
        for path in existing:
            if os.path.islink(path):
                guard.links[path] = os.readlink(path)
        for path, target in guard.links.items():
            self._watchdog.watch("l", f"{path}//{target}")
        protected = [path for path in existing if path not in guard.links and os.path.exists(path)]
        return guard, View([*protected, *present], host_sockets(), service_folders())

    def _filter_copy(self, policy: ResolvedPolicy) -> int:
        """Open the sealed filter once more: every run needs a read position of its own."""
        refusals = Refusals(tracing=not policy.debugging)
        if not self._filters:
            atexit.register(self.close)  # for a kernel that ends without closing its backends
        if refusals not in self._filters:
            program = filter_program(refusals=refusals)
            self._filters[refusals] = sealed_file("ferrule-filter", program)
        return os.open(f"/proc/self/fd/{self._filters[refusals]}", os.O_RDONLY | os.O_CLOEXEC)


class _Run:
    """What one command holds, and how it is given back."""

    def __init__(self, guard: Guard, watchdog: Watchdog) -> None:
        self._guard = guard
        self._watchdog = watchdog
        self.leash = -1
        self.bounds: Bounds | None = None
        self.scope: ScopedStart | None = None
        self.covered = CoveredSockets()
        self.opened: list[int] = []

    @property
    def passed(self) -> tuple[int, ...]:
        """What the command's start inherits."""
        pipes = () if self.bounds is None else (self.bounds.info, self.bounds.gate)
        scope = () if self.scope is None else self.scope.passed
        return (self.leash, *self.opened, *pipes, *scope)

    def started(self) -> None:
        self._close_files()
        if self.scope is not None:
            self.scope.started()
        if self.bounds is not None:
            self.bounds.started()

    def settled(self) -> bool:
        """Wait until the sandbox stands; False when a socket vanished from under its cover."""
        if self.bounds is None:
            return True
        self.bounds.stands.wait()
        return self.bounds.is_up or not self.covered.have_vanished()

    def cleanup(self) -> None:
        """Take the stand-ins away.

        Raises:
            SandboxUnavailableError: Something protected was removed or changed during the run, or
                the command could not be confined and did not run.
        """
        self._close_files()
        if self.bounds is not None:
            self.bounds.close()
        door_failure = "" if self.bounds is None else self.bounds.failure
        failure = None if self.scope is None else self.scope.close()
        self.covered.tidy()
        links = dict(self._guard.links)
        tampered = self._guard.release()
        for path, target in links.items():
            self._watchdog.forget("l", f"{path}//{target}")
        if door_failure:
            raise SandboxUnavailableError(
                f"the way to the managed network cannot be made ({door_failure}); the command did"
                " not run; without [network] enabled commands run without any network"
            )
        if failure is not None:
            raise SandboxUnavailableError(
                f"abstract sockets of this machine cannot be kept out of the sandbox ({failure});"
                " the command did not run"
            )
        if tampered:
            raise SandboxUnavailableError(
                f"{', '.join(tampered)}: the protection was removed while the command ran;"
                " look at what is there now before you trust it"
            )

    def _close_files(self) -> None:
        while self.opened:
            os.close(self.opened.pop())


def _argument_file(words: Sequence[str]) -> int:
    if len(words) > _MAX_WORDS:
        raise SandboxUnavailableError(
            f"the sandbox would need {len(words)} arguments, more than bubblewrap takes;"
            " protect fewer places or pass fewer environment variables"
        )
    return sealed_file("ferrule-arguments", os.fsencode("\0".join(words) + "\0"))
