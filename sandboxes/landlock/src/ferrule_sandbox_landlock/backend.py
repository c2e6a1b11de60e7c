"""The slot driver `landlock` of `ferrule.sandboxes`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ferrule_confinement.control_groups import (
    bounds_processes,
    give_back,
    remove_groups,
    take_groups,
)
from ferrule_confinement.landlock import landlock_version
from ferrule_confinement.program import find_program
from ferrule_confinement.scratch import has_scratch, with_scratch
from ferrule_confinement.seccomp import Refusals
from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.sandbox import Capabilities, Feature, Launch
from ferrule_sandbox_landlock.confined_start import confined_start
from ferrule_sandbox_landlock.grants import grant_policy
from ferrule_sandbox_landlock.private_scratch import make_scratch, remove_scratch
from ferrule_sandbox_landlock.probe import examine
from ferrule_sandbox_landlock.ruleset import TRUNCATE_SINCE, Ruleset

if TYPE_CHECKING:
    from ferrule_confinement.control_groups import ControlGroup
    from ferrule_confinement.starter import Starter
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import (
        Command,
        CommandResult,
        Denial,
        FileSystem,
        ResolvedPolicy,
    )

_ENFORCED: Final[frozenset[Feature]] = frozenset(
    ("filesystem", "deny_read", "network", "seccomp", "proc_sys", "readable_roots")
)


class LandlockBackend:
    """Confines commands with Landlock and seccomp; satisfies `SandboxBackend`."""

    name = "landlock"

    def __init__(self, context: PluginContext) -> None:
        """Keep the settings; nothing is tried before it is needed."""
        settings = context.table("sandboxes", "landlock")
        self._local_sockets = settings.get("local_sockets") is True
        self._capabilities: Capabilities | None = None

    def probe(self) -> Capabilities:
        """Tell what works on this machine; cheap after the first call."""
        if self._capabilities is None:
            finding = examine(self, local_sockets=self._local_sockets)
            enforced = set(_ENFORCED)
            if not self._local_sockets:
                enforced.add("unix_sockets")
            if bounds_processes():
                enforced.add("resources")
            self._capabilities = Capabilities(
                finding.works, finding.reason, frozenset(enforced if finding.works else ())
            )
        return self._capabilities

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build the launch of one command.

        Raises:
            SandboxUnavailableError: Landlock does not work here.
            PolicyUnenforceableError: The policy asks for no confinement, or for what Landlock
                cannot do.
        """
        if policy.unconfined:
            raise PolicyUnenforceableError(
                "the landlock sandbox confines every command; use the sandbox backend 'none'"
                f" for {policy.mode}"
            )
        found = self.probe()
        if not found.available:
            raise SandboxUnavailableError(found.reason)
        return self.launch(policy, command)

    def launch(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Do what `prepare` does, without asking first whether it works here."""
        if not os.path.isdir(command.cwd):
            raise SandboxUnavailableError(f"the working directory {command.cwd} does not exist")
        program = find_program(policy, command)
        if program.failure is not None:
            return Launch(tuple(program.failure), env={}, cwd="/")
        run = _Run()
        try:
            env = run.room(policy, command)
            run.confine(policy, self._refusals(policy))
        except OSError as error:
            run.cleanup()
            raise SandboxUnavailableError(f"the sandbox landlock cannot start: {error}") from error
        except BaseException:
            run.cleanup()
            raise
        return Launch(
            argv=(f"/proc/self/fd/{run.executable}", program.path, *command.argv),
            env=env,
            cwd=command.cwd,
            pass_fds=tuple(run.passed),
            started=run.started,
            cleanup=run.cleanup,
        )

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """Tell whether the sandbox, and not the command itself, made it fail."""
        from ferrule_confinement import denials

        return denials.classify(policy, result)

    def files(self, policy: ResolvedPolicy) -> FileSystem | None:
        """None: files are local."""
        return None

    async def aclose(self) -> None:
        """Remove the control groups that are kept for the next command."""
        remove_groups()

    def _refusals(self, policy: ResolvedPolicy) -> Refusals:
        return Refusals(
            internet=not policy.network,
            local_sockets=not self._local_sockets,
            machine_objects=True,
            metadata=policy.mode == "read-only",
            path_truncation=landlock_version() < TRUNCATE_SINCE,
            tracing=not policy.debugging,
        )


class _Run:
    """What one command holds, and how it is given back."""

    def __init__(self) -> None:
        self.executable = -1
        self.passed: list[int] = []
        self._groups: list[ControlGroup] = []
        self._scratch: str | None = None
        self._starter: Starter | None = None
        self._report = -1

    def room(self, policy: ResolvedPolicy, command: Command) -> dict[str, str]:
        """Return the environment, with a temporary folder that may be written."""
        if has_scratch(policy, command.env):
            return dict(command.env)
        self._scratch = make_scratch()
        return with_scratch(command.env, self._scratch)

    def confine(self, policy: ResolvedPolicy, refusals: Refusals) -> None:
        """Make the ruleset, the bounds and the program that takes them on."""
        ruleset = Ruleset(network=policy.network)
        self.passed.append(ruleset.descriptor)
        grant_policy(ruleset, policy, self._scratch)
        self._groups = take_groups(policy)
        members = {
            group.controller: os.open(group.members, os.O_WRONLY | os.O_CLOEXEC)
            for group in self._groups
        }
        self.passed += members.values()
        self._report, theirs = os.pipe()
        self.passed.append(theirs)
        self._starter = confined_start(policy, ruleset.descriptor, members, refusals)
        self.executable = self._starter.open(theirs)
        self.passed.append(self.executable)

    def started(self) -> None:
        """Close what the command has inherited."""
        while self.passed:
            os.close(self.passed.pop())

    def cleanup(self) -> None:
        """Give everything back.

        Raises:
            SandboxUnavailableError: The command was not run, because it could not be confined.
        """
        self.started()
        give_back(self._groups)
        self._groups.clear()
        if self._scratch is not None:
            remove_scratch(self._scratch)
            self._scratch = None
        failure = self._failure()
        if failure is not None:
            raise SandboxUnavailableError(
                f"the sandbox landlock could not be applied ({failure}); the command did not run"
            )

    def _failure(self) -> str | None:
        """Read what the starter reported, once."""
        report, self._report = self._report, -1
        if report == -1:
            return None
        if self._starter is None:
            os.close(report)
            return None
        return self._starter.read_report(report)
