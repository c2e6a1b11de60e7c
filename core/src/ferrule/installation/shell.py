"""Runs installers, and shows what is run and what they say."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from ferrule.environment import without_secrets
from ferrule.installation.requirement import without_secrets_in
from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


class Place(NamedTuple):
    """Where plugins are added and how the user hears of it.

    Attributes:
        home: `$FERRULE_HOME`.
        environ: The process environment.
        tell: Shows one line.
    """

    home: Path
    environ: Mapping[str, str]
    tell: Callable[[str], None]


class Ended(NamedTuple):
    """How a command ended, and all that it said."""

    code: int
    told: str

    @property
    def last_words(self) -> str:
        """The last lines of what it said."""
        lines = [line.rstrip() for line in self.told.splitlines() if line.strip()]
        return "\n".join(lines[-12:]) or "it said nothing"


class Shell(NamedTuple):
    """A place, and the variables that tell an installer where its environment lies."""

    place: Place
    variables: Mapping[str, str]

    def shown(self, command: Sequence[str]) -> str:
        """Spell a command as a user would type it, less passwords."""
        environ = self.place.environ
        told = [f"{n}={v}" for n, v in self.variables.items() if environ.get(n) != v]
        return shlex.join([*told, *map(without_secrets_in, command)])

    def run(self, command: Sequence[str]) -> None:
        """Show a command, run it, and show what it says.

        Raises:
            PluginError: It failed.
        """
        self.place.tell(f"$ {self.shown(command)}")
        ended = self.call(command)
        if ended.code:
            raise PluginError(f"{ended.last_words}\n{command[0]} ended with {ended.code}")
        for line in ended.told.splitlines():
            self.place.tell(f"  {line}")

    def call(self, command: Sequence[str]) -> Ended:
        """Run a command.

        In the home and not where the user stands: a workspace's settings for uv or pip must not say
        where plugins come from. And a build of a stranger's package gets no keys.

        Raises:
            PluginError: It cannot be started.
        """
        home, environ = self.place.home, self.place.environ
        own = {n: v for n, v in environ.items() if n.startswith(("UV_", "PIP_", "PIPX_"))}
        try:
            finished = subprocess.run(
                command,
                cwd=home,
                env={**without_secrets(environ), **own, **self.variables},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise PluginError(f"{command[0]} cannot be started: {error.strerror}") from None
        told = without_secrets_in(f"{finished.stdout}{finished.stderr}")  # not all hide them
        return Ended(finished.returncode, told)
