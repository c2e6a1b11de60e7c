"""The backend: turns a command into a call of ssh that runs it on the other machine.

It confines nothing there, and says so: it enforces no feature, and refuses every policy that wants
something confined. A backend that cannot do something must not pretend; Ferrule asks `probe` what
it may rely on, and `prepare` has the last word.
"""

import os
import secrets
import shlex
import shutil
import subprocess
from functools import partial
from typing import Final

from ferrule_hookspecs import (
    Capabilities,
    Command,
    CommandResult,
    Denial,
    Launch,
    PluginContext,
    ResolvedPolicy,
    SandboxUnavailableError,
)
from ferrule_hookspecs.errors import PolicyUnenforceableError
from gallery_remote.files import NoFiles

_KEPT: Final = ("HOME", "LOGNAME", "PATH", "SSH_AUTH_SOCK", "USER")
_LONGEST: Final = 130_000  # bytes; a word of a command line holds 128 KiB
_PATIENCE_S: Final = 120
_STRICT: Final = (
    *("BatchMode=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=60", "EscapeChar=none"),
    *("ForwardAgent=no", "ClearAllForwardings=yes", "PermitLocalCommand=no", "LogLevel=ERROR"),
)


class RemoteBackend:
    """Runs commands on another machine, unconfined."""

    name = "remote"

    def __init__(self, context: PluginContext) -> None:
        self._settings = {key: str(value) for key, value in context.settings.items()}
        self._here = os.path.realpath(context.cwd or "/")
        # Ferrule's own environment has secrets; ssh needs next to nothing of it.
        self._env = {name: context.environ[name] for name in _KEPT if name in context.environ}
        self._program = shutil.which("ssh", path=self._env.get("PATH"))

    def probe(self) -> Capabilities:
        """Tell what is configured; nobody logs in before the first command."""
        if self._program is None:
            return _unable("ssh is missing; install openssh-client")
        if not self._settings.get("host"):
            return _unable("no machine is named; set plugins.settings.remote.host")
        reason = f"commands run on {self._settings['host']}, NOT CONFINED there"
        return Capabilities(True, reason, frozenset(), local_files=False)

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build the call of ssh; raise where something would have to be confined."""
        found = self.probe()
        if not found.available:
            raise SandboxUnavailableError(found.reason)
        if not policy.unconfined or command.door is not None:
            text = f"nothing confines commands on {self._settings['host']}, so that {policy.mode}"
            raise PolicyUnenforceableError(f"{text} cannot be enforced; use danger-full-access")
        run = f".ferrule-remote-{secrets.token_hex(8)}"
        script = self._script(command, run)
        if len(os.fsencode(script)) > _LONGEST:
            raise SandboxUnavailableError("the command and its environment are too long for ssh")
        return Launch(
            self._call(script, "-tt" if command.tty else "-T"),
            self._env,
            "/",
            cleanup=partial(self._end, run),
            forward_signal=lambda pid, number: self._signal(run, number),
        )

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """Nothing is refused over there, so no failure is the sandbox's."""

    def files(self, policy: ResolvedPolicy) -> NoFiles:
        """Return what stands for files of the other machine: None would mean those of this one."""
        return NoFiles(str(self._settings.get("host")))

    async def aclose(self) -> None:
        """Every command has its own connection; nothing is held."""

    def _script(self, command: Command, run: str) -> str:
        """Write what the shell over there runs.

        It notes its process, which leads a group of all that it starts, and it stays, so that a
        command that is ended by a signal is told as a shell tells it.
        """
        words = ["env", "-i", *(f"{name}={value}" for name, value in command.env.items())]
        there = shlex.quote(self._there(command.cwd))
        started = shlex.join([*words, *command.argv])
        return f"(umask 077; echo $$ >~/{run}); (cd {there} && exec {started}); exit $?"

    def _there(self, path: str) -> str:
        """Where a path of the session lies over there."""
        workspace = self._settings.get("workspace")
        if workspace and (path == self._here or path.startswith(f"{self._here}/")):
            return workspace + path.removeprefix(self._here)
        return path

    def _signal(self, run: str, number: int) -> bool:
        """Send a signal to the command's group; tells whether it was there."""
        return self._ask(f"kill -{number} -- -$(cat ~/{run})")

    def _end(self, run: str) -> None:
        """End what the command left behind."""
        self._ask(f"kill -9 -- -$(cat ~/{run}) 2>/dev/null; rm -f ~/{run}")

    def _ask(self, script: str) -> bool:
        try:
            done = subprocess.run(
                self._call(script, "-T"),
                env=self._env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0

    def _call(self, script: str, terminal: str) -> tuple[str, ...]:
        settings = self._settings
        words = [str(self._program), terminal, "-p", settings.get("port", "22")]
        for option in _STRICT:
            words += ["-o", option]
        if settings.get("known_hosts"):
            words += ["-o", f'UserKnownHostsFile="{settings["known_hosts"]}"']
        if settings.get("identity"):
            words += ["-o", "IdentitiesOnly=yes", "-i", settings["identity"]]
        if settings.get("user"):
            words += ["-l", settings["user"]]
        return (*words, "--", settings["host"], script)


def _unable(reason: str) -> Capabilities:
    return Capabilities(False, reason, local_files=False)
