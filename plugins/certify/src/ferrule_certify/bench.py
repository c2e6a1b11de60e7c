"""Runs commands for one attempt and brings back what became of them.

A probe's driver gets a `Bench`: the same one with the sandbox and, for the control, without.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_certify.listeners import new_word
from ferrule_certify.probe import Outcome
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.sandbox import Command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_certify.probe import Mode, Probe
    from ferrule_certify.stage import Stage, Stages
    from ferrule_certify.target import Target
    from ferrule_certify.traps import Traps
    from ferrule_hookspecs.sandbox import Launch

SECONDS: Final = 120
STARTS: Final = 3
"""How often a command is prepared whose sandbox failed over what changed on the machine."""
RUN_VARIABLE: Final = "CERTIFY_RUN"
_ANSWER: Final = b"FERRULE-CERTIFY "
_BAD_CALL: Final = 31


class Finished(NamedTuple):
    """How a command ended: its exit code (128 + n for signal n), its output, what was noticed."""

    code: int
    output: bytes
    errors: bytes
    complaint: str = ""


class Running(NamedTuple):
    """A command that runs, and how it was started."""

    process: subprocess.Popen[bytes]
    launch: Launch

    def signal(self, number: int) -> None:
        """Deliver a signal as the kernel does."""
        forward = self.launch.forward_signal
        with suppress(ProcessLookupError):
            if forward is None or not forward(self.process.pid, number):
                os.killpg(self.process.pid, number)


class Bench:
    """One attempt: a stage of its own, a policy, and the target commands run in."""

    def __init__(self, target: Target, stages: Stages, traps: Traps, mode: Mode) -> None:
        """Make a stage; `close` removes it."""
        self.target = target
        self.traps = traps
        self.mode: Mode = mode
        self.word = new_word()
        self.stage: Stage = stages.new()
        self.policy = stages.policy(self.stage, mode, {})
        self.is_racing = False
        self._stages = stages

    def grant(self, probe: Probe) -> None:
        """Change the policy as a probe asks for."""
        changes = dict(probe.changes)
        if changes.get("unix_sockets") == "service":
            changes["unix_sockets"] = (str(self.traps.facts["service"]),)
        self.policy = self._stages.policy(self.stage, self.mode, changes)

    def close(self) -> None:
        """Remove the stage, and whatever a command has left running."""
        for process in self.survivors():
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        self._stages.remove(self.stage)

    def command(
        self, argv: Sequence[str], cwd: str = "", env: dict[str, str] | None = None
    ) -> Command:
        """Build a command with the usual environment."""
        environment = {**self.stage.environment(self.mode), RUN_VARIABLE: self.word, **(env or {})}
        door = self.traps.listeners.door() if self.mode == "door" else None
        return Command(tuple(argv), cwd or str(self.stage.workspace), environment, door=door)

    @contextmanager
    def running(self, command: Command, *, stdin: int = subprocess.DEVNULL) -> Iterator[Running]:
        """Start a command; whatever happens it is gone afterwards.

        Raises:
            FerruleError: The backend refused it, or found afterwards that it was tampered with.
        """
        for _ in range(STARTS - 1):
            with self._started(command, stdin) as run:
                if run.launch.settled is None or run.launch.settled():
                    yield run
                    return
        with self._started(command, stdin) as run:
            yield run

    @contextmanager
    def _started(self, command: Command, stdin: int) -> Iterator[Running]:
        launch = self.target.launch(self.stage, self.policy, command)
        try:
            with subprocess.Popen(
                launch.argv,
                env=dict(launch.env),
                cwd=launch.cwd,
                pass_fds=launch.pass_fds,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            ) as process:
                try:
                    if launch.started is not None:
                        launch.started()
                    yield Running(process, launch)
                finally:
                    if process.poll() is None:
                        _kill(process.pid)
        finally:
            if launch.cleanup is not None:
                launch.cleanup()

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        cwd: str = "",
        env: dict[str, str] | None = None,
    ) -> Finished:
        """Run a command to its end."""
        ended: Finished | None = None
        pipe = subprocess.DEVNULL if stdin is None else subprocess.PIPE
        try:
            with self.running(self.command(argv, cwd, env), stdin=pipe) as run:
                output, errors = run.process.communicate(stdin, timeout=SECONDS)
                code = run.process.returncode
                ended = Finished(128 - code if code < 0 else code, output, errors)
        except FerruleError as error:
            if ended is None:
                raise
            return ended._replace(complaint=str(error))
        return ended

    def attempt(self, probe: Probe) -> Outcome:
        """Have the program inside make a probe's attempt."""
        request = {
            "probe": probe.id,
            "module": probe.module,
            "kind": probe.kind,
            "racing": self.is_racing,
            "facts": {**self.traps.facts, **self.stage.facts(), "token": self.word},
        }
        argv = (sys.executable, "-I", "-S", str(self._stages.program), json.dumps(request))
        return _answer(self.run(argv))

    def survivors(self) -> list[int]:
        """Find processes of this attempt that still run."""
        if sys.platform != "linux":
            return []
        mark = f"{RUN_VARIABLE}={self.word}".encode()
        return [process for process in _processes() if mark in _environment(process)]


def _answer(ended: Finished) -> Outcome:
    for line in reversed(ended.output.splitlines()):
        if line.startswith(_ANSWER):
            answer = json.loads(line[len(_ANSWER) :])
            is_absent = bool(answer.get("not_here"))
            return Outcome(bool(answer["reached"]), str(answer["detail"]), is_absent)
    text = ended.errors[-300:].decode("utf-8", "replace").strip()
    if ended.code == 128 + _BAD_CALL:
        return Outcome(reached=False, detail="killed for a bad system call")
    return Outcome(None, f"no answer, exit code {ended.code}: {text}")


def _kill(group: int) -> None:
    with suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _environment(process: int) -> bytes:
    with suppress(OSError), open(f"/proc/{process}/environ", "rb") as file:
        return file.read()
    return b""
