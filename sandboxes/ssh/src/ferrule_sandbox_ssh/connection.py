"""The connection to another machine: one login, which every command and file request shares."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Final

from ferrule_confinement.anchor import Anchor
from ferrule_confinement.anchor_script import MACHINE_ANCHOR
from ferrule_confinement.far_command import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_sandbox_ssh.settings import Settings

_KEPT: Final = frozenset(("HOME", "LOGNAME", "PATH", "SSH_AUTH_SOCK", "USER"))
_STRICT: Final = (
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ControlPersist=no",
    "EscapeChar=none",
    "ServerAliveInterval=15",
    "LogLevel=ERROR",
)
# The script is read from the input rather than put into the command line, which the login shell,
# whatever it is, would read first.
_READ_SCRIPT: Final = 'eval "$(dd bs=%d count=1 iflag=fullblock 2>/dev/null)"'


class Connection:
    """A login on another machine; it ends, and what was started through it, with this process."""

    def __init__(self, program: str, settings: Settings, environ: Mapping[str, str]) -> None:
        """Log in.

        Raises:
            SandboxUnavailableError: That fails.
        """
        self.env = {name: value for name, value in environ.items() if name in _KEPT}
        self._program = program
        self._settings = settings
        self._folder = tempfile.mkdtemp(prefix="ferrule-ssh-")  # short: a socket's path is bounded
        try:
            self.anchor = self._anchor(())
            self.folder = self.anchor.first_line()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def files(self, prefix: Sequence[str]) -> Anchor:
        """Start a second anchor for files, within what confines commands."""
        anchor = self._anchor(prefix)
        anchor.first_line()
        return anchor

    def call(self, command: str, *options: str) -> tuple[str, ...]:
        """Build a call of ssh."""
        settings = self._settings
        words = [self._program, *options, "-S", os.path.join(self._folder, "control")]
        for option in _STRICT:
            words += ["-o", option]
        if settings.known_hosts:
            words += ["-o", f"UserKnownHostsFile={_in_config(settings.known_hosts)}"]
        if settings.identity:
            words += ["-o", "IdentitiesOnly=yes", "-i", settings.identity]
        if settings.port:
            words += ["-p", str(settings.port)]
        if settings.user:
            words += ["-l", settings.user]
        return (*words, "--", settings.host, command)

    def close(self) -> None:
        """End what was started, and log out."""
        self.anchor.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _anchor(self, prefix: Sequence[str]) -> Anchor:
        script = MACHINE_ANCHOR.encode()
        words = [*map(quoted, prefix), "/bin/sh", "-c", quoted(_READ_SCRIPT % len(script))]
        master = "-M" if not os.path.exists(os.path.join(self._folder, "control")) else "-T"
        return Anchor(self.call("exec " + " ".join(words), "-T", master), self.env, script)


def _in_config(path: str) -> str:
    """Quote a path as ssh's configuration wants it."""
    return f'"{path}"' if " " in path else path
