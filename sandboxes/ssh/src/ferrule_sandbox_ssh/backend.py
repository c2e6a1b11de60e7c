"""The slot driver `ssh` of `ferrule.sandboxes`: commands and files of another machine."""

from __future__ import annotations

import atexit
import os
import shutil
from itertools import count
from typing import TYPE_CHECKING, Literal

from ferrule_confinement.far_command import command_script
from ferrule_confinement.far_files import FarFiles
from ferrule_hookspecs.errors import (
    ConfigError,
    FerruleError,
    PolicyUnenforceableError,
    SandboxUnavailableError,
)
from ferrule_hookspecs.evaluator import decide_canonical, is_inside
from ferrule_hookspecs.sandbox import Capabilities, Launch
from ferrule_sandbox_ssh.connection import Connection
from ferrule_sandbox_ssh.settings import Settings, read_settings

if TYPE_CHECKING:
    from ferrule_confinement.anchor import Anchor
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import (
        Command,
        CommandResult,
        Denial,
        FileSystem,
        ResolvedPolicy,
    )


class SshBackend:
    """Runs commands on another machine; satisfies `SandboxBackend`."""

    name = "ssh"

    def __init__(self, context: PluginContext) -> None:
        """Keep the context; nobody logs in before the first command."""
        self._context = context
        self._settings: Settings | None = None
        self._connection: Connection | None = None
        self._files: dict[tuple[str, ...], Anchor] = {}
        self._numbers = count(1)

    def probe(self) -> Capabilities:
        """Tell what the configuration says; whether the machine answers is seen when it must."""
        try:
            settings = self._configured()
            self._program()
        except (ConfigError, SandboxUnavailableError) as error:
            return Capabilities(available=False, reason=str(error), local_files=False)
        reason = f"commands run on {settings.host}, "
        if settings.enforces:
            reason += f"by {settings.prefix[0]}, which confines them as [sandboxes.ssh] says"
        else:
            reason += "NOT CONFINED there; name a sandbox as `prefix` and what it `enforces`"
        return Capabilities(
            available=True, reason=reason, enforced=settings.enforces, local_files=False
        )

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build the launch of one command.

        Raises:
            SandboxUnavailableError: The machine cannot be logged in to.
            PolicyUnenforceableError: The policy confines something, and nothing there does.
        """
        prefix = self._prefix(policy)
        connection = self._connected()
        number = str(next(self._numbers))
        path = f"{connection.folder}/{number}"
        script = command_script(
            command._replace(cwd=self._far(command.cwd)), prefix, f"echo $$ >{path}.pid\n"
        )
        connection.anchor.write(f"{path}.sh", script, umask="077")
        run = _Run(connection.anchor, number)
        return Launch(
            argv=connection.call(f"exec /bin/sh {path}.sh", "-tt" if command.tty else "-T"),
            env=connection.env,
            cwd="/",
            cleanup=run.cleanup,
            forward_signal=run.forward_signal,
        )

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """Tell whether the sandbox over there, and not the command itself, made it fail."""
        if policy.unconfined:
            return None
        from ferrule_confinement import denials

        return denials.classify(policy, result)

    def files(self, policy: ResolvedPolicy) -> FileSystem | None:
        """Files of the other machine, within what confines commands there."""

        def anchor() -> Anchor:
            return self._file_anchor(self._prefix(policy))

        def judge(operation: Literal["read", "write"], path: str) -> Denial | None:
            return decide_canonical(policy, operation, self._near(path))

        return FarFiles(policy, anchor, judge, place=self._far)

    async def aclose(self) -> None:
        """Log out."""
        self.close()

    def close(self) -> None:
        """Do what `aclose` does where no event loop runs."""
        atexit.unregister(self.close)
        while self._files:
            self._files.popitem()[1].close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _prefix(self, policy: ResolvedPolicy) -> tuple[str, ...]:
        """Fill in what confines commands over there."""
        if policy.unconfined:
            return ()
        settings = self._configured()
        if not settings.prefix:
            raise PolicyUnenforceableError(
                f"nothing confines commands on {settings.host}, so that {policy.mode} cannot be"
                " enforced; name a sandbox as `prefix` of [sandboxes.ssh], or ask for"
                " danger-full-access"
            )
        values = {
            "{mode}": policy.mode,
            "{network}": "true" if policy.network else "false",
            "{cwd}": self._far(policy.cwd),
        }
        words: list[str] = []
        for word in settings.prefix:
            for name, value in values.items():
                word = word.replace(name, value)  # one after the other
            words.append(word)
        return tuple(words)

    def _far(self, path: str) -> str:
        """Where a path of the session lies over there."""
        workspace, here = self._configured().workspace, os.path.realpath(self._context.cwd or "/")
        if workspace and is_inside(path, here):
            return os.path.normpath(workspace + path.removeprefix(here))
        return path

    def _near(self, path: str) -> str:
        """What a path over there is called by the policy."""
        workspace, here = self._configured().workspace, os.path.realpath(self._context.cwd or "/")
        if workspace and is_inside(path, workspace):
            return os.path.normpath(here + path.removeprefix(workspace))
        return path

    def _file_anchor(self, prefix: tuple[str, ...]) -> Anchor:
        anchor = self._files.get(prefix)
        if anchor is None or not anchor.is_alive:
            anchor = self._files[prefix] = self._connected().files(prefix)
        return anchor

    def _connected(self) -> Connection:
        if self._connection is None or not self._connection.anchor.is_alive:
            self.close()
            atexit.register(self.close)  # for a kernel that ends without closing its backends
            self._connection = Connection(
                self._program(), self._configured(), self._context.environ
            )
        return self._connection

    def _configured(self) -> Settings:
        if self._settings is None:
            self._settings = read_settings(self._context.table("sandboxes", self.name))
        return self._settings

    def _program(self) -> str:
        program = shutil.which("ssh", path=self._context.environ.get("PATH", os.defpath))
        if program is None or not os.path.isabs(program):
            raise SandboxUnavailableError(
                "there is no ssh here; install it, as in `apt install openssh-client`"
            )
        return program


class _Run:
    """One command on the other machine."""

    def __init__(self, anchor: Anchor, number: str) -> None:
        self._anchor = anchor
        self._number = number

    def forward_signal(self, pid: int, number: int) -> bool:
        """Send a signal to the command's process group; tells whether it was there."""
        try:
            self._anchor.ask("signal", self._number, str(number))
        except (OSError, FerruleError):
            return False
        return True

    def cleanup(self) -> None:
        """End what the command left behind; without the connection that has been done there."""
        try:
            self._anchor.ask("end", self._number)
        except (OSError, SandboxUnavailableError):
            return
