"""The slot driver `windows` of `ferrule.sandboxes`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.sandbox import Capabilities
from ferrule_sandbox_windows.launching import launch_of
from ferrule_sandbox_windows.mxc_program import MIN_BUILD, ask_mxc, find_mxc
from ferrule_sandbox_windows.mxc_way import MxcWay
from ferrule_sandbox_windows.program import find_program
from ferrule_sandbox_windows.run_folder import RunFolder
from ferrule_sandbox_windows.token_way import TokenWay
from ferrule_sandbox_windows.trial import Trial, place_of, run_to_its_end

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import (
        Command,
        CommandResult,
        Denial,
        Feature,
        FileSystem,
        Launch,
        ResolvedPolicy,
    )
    from ferrule_sandbox_windows.system import System

UNPROVED: Final = "the backend is not yet proved on a real machine"


class Way(Protocol):
    """One of the ways to confine a command."""

    words: str

    @property
    def claims(self) -> frozenset[Feature]:
        """What it may enforce, where a trial does not show otherwise."""
        ...

    def describe(self) -> str:
        """Tell how it works."""
        ...

    def launch(
        self, policy: ResolvedPolicy, command: Command, environ: Mapping[str, str]
    ) -> Launch:
        """Build the launch of one command."""
        ...

    def close(self) -> None:
        """Give back what it holds for the session."""
        ...


class _Choice(NamedTuple):
    """The way that is taken, or none, and what was found."""

    way: Way | None
    capabilities: Capabilities


class WindowsBackend:
    """Confines commands on Windows; satisfies `SandboxBackend`."""

    name = "windows"

    def __init__(self, context: PluginContext, system: System | None = None) -> None:
        """Nothing is tried before it is needed.

        Args:
            context: The session.
            system: Another machine than this one.
        """
        self._context = context
        self._folder = context.home / "sandbox-windows"
        self._system = system if system is not None or sys.platform != "win32" else _this_system()
        self._choice: _Choice | None = None

    def probe(self) -> Capabilities:
        """Tell what works on this machine; cheap after the first call."""
        return self._chosen().capabilities

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build the launch of one command.

        Raises:
            SandboxUnavailableError: Neither way works here.
            PolicyUnenforceableError: The policy asks for no confinement, or for a drive that has
                no access lists.
        """
        way, found = self._chosen()
        if way is None:
            raise SandboxUnavailableError(found.reason)
        if policy.unconfined:
            raise PolicyUnenforceableError(
                "the windows sandbox confines every command; use the sandbox backend 'none'"
                f" for {policy.mode}"
            )
        if not os.path.isdir(command.cwd):
            raise SandboxUnavailableError(f"the working directory {command.cwd} does not exist")
        program = find_program(command)
        if program is None:
            return launch_of("--missing", *command.argv[:1], environ=self._context.environ)
        found_command = command._replace(argv=(program, *command.argv[1:]))
        try:
            return way.launch(policy, found_command, self._context.environ)
        except OSError as error:
            raise SandboxUnavailableError(f"the sandbox could not be prepared: {error}") from error

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """Tell whether the sandbox, and not the command itself, made it fail."""
        from ferrule_sandbox_windows.denials import classify

        return classify(policy, result)

    def files(self, policy: ResolvedPolicy) -> FileSystem | None:
        """None: files are local."""
        return None

    async def aclose(self) -> None:
        """Take back what was changed for commands."""
        choice, self._choice = self._choice, None
        if choice is not None and choice.way is not None:
            choice.way.close()

    def _chosen(self) -> _Choice:
        if self._choice is None:
            self._choice = self._choose()
        return self._choice

    def _choose(self) -> _Choice:
        if self._system is None:
            reason = f"this sandbox is for Windows only ({UNPROVED}); choose another one"
            return _Choice(None, Capabilities(False, reason))
        faults: list[str] = []
        for way in self._ways(self._system, faults):
            fault, enforced = self._try(way)
            if fault is None:
                passed = f"; {'; '.join(faults)}" if faults else ""
                reason = f"{way.words}: {way.describe()}; {UNPROVED}{passed}"
                return _Choice(way, Capabilities(True, reason, enforced))
            faults.append(f"{way.words} does not work here: {fault}")
            way.close()
        return _Choice(None, Capabilities(False, f"{'; '.join(faults)} ({UNPROVED})"))

    def _ways(self, system: System, faults: list[str]) -> Iterator[Way]:
        try:
            if system.build() >= MIN_BUILD:
                program = find_mxc(
                    self._context.table("sandboxes", "windows"),
                    self._context.environ,
                    self._context.cwd,
                )
                if program is not None:
                    yield MxcWay(system, program, ask_mxc(program), self._folder)
        except SandboxUnavailableError as error:
            faults.append(str(error))
        yield TokenWay(system, self._folder)

    def _try(self, way: Way) -> tuple[str | None, frozenset[Feature]]:
        """Find out what of a way's claims holds; returns why it does not work, or what holds."""
        try:
            folder = RunFolder(self._folder)
        except OSError as error:
            return str(error), frozenset()
        trial: Trial | None = None
        try:
            trial = Trial(place_of(folder.path))
            environ = self._context.environ
            launch = way.launch(trial.policy(way.claims), trial.command(environ), environ)
            fault = run_to_its_end(launch)
            fault, broken = (fault, frozenset()) if fault else trial.outcome()
            if fault is None and "filesystem" in broken:
                fault = "a trial could write where the policy forbids it"
            return fault, way.claims - broken
        except (OSError, SandboxUnavailableError) as error:
            return str(error), frozenset()
        finally:
            if trial is not None:
                trial.close()
            folder.remove()


def _this_system() -> System:
    from ferrule_sandbox_windows.win32_system import Win32System

    return Win32System()
