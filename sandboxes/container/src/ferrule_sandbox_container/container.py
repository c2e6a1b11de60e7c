"""One running container: what it was made with, what runs in it, and how it ends."""

from __future__ import annotations

import os
import secrets
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ferrule_confinement.anchor import Anchor
from ferrule_confinement.placeholders import Guard, is_file_name, place
from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_sandbox_container.control import INSIDE
from ferrule_sandbox_container.view import SCRATCH, View, identities

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_confinement.stand_in_watchdog import Watchdog
    from ferrule_sandbox_container.control import ControlFolder
    from ferrule_sandbox_container.engine import Engine
    from ferrule_sandbox_container.settings import Settings

MARK: Final = "io.ferrule.session"
_REMOVAL_SECONDS: Final = 60


class Container:
    """A container whose first process is the session's anchor, so that it ends with the session."""

    def __init__(
        self, engine: Engine, settings: Settings, view: View, control: ControlFolder
    ) -> None:
        """Keep what it is to be made with; `start` makes it."""
        self.view = view
        self.name = f"ferrule-{os.getpid()}-{secrets.token_hex(4)}"
        self.running: set[str] = set()
        self._engine = engine
        self._settings = settings
        self._control = control
        self._guard = Guard()
        self._identities: dict[str, tuple[int, int] | None] = {}
        self._anchor: Anchor | None = None

    @property
    def anchor(self) -> Anchor:
        """Speaks to its first process.

        Raises:
            SandboxUnavailableError: It does not run.
        """
        if self._anchor is None:
            raise SandboxUnavailableError("the container of the session does not run")
        return self._anchor

    def start(self, watchdog: Watchdog) -> None:
        """Put stand-ins where protected names are missing, and start it.

        Raises:
            SandboxUnavailableError: The engine cannot start it.
        """
        try:
            self._protect(watchdog)
            self._anchor = Anchor(self._arguments(), self._engine.env)
            self._anchor.ask("ping")
        except BaseException as error:
            self.close(watchdog)
            if isinstance(error, SandboxUnavailableError):
                raise SandboxUnavailableError(
                    f"{self._engine.version} cannot start a container of"
                    f" {self._settings.image!r}: {error}"
                ) from error
            raise

    def serves(self, view: View) -> bool:
        """Whether commands under a view can run in it."""
        if self._anchor is None or not self._anchor.is_alive or self.view != view:
            return False
        return identities(self.view) == self._identities

    def tampered(self) -> list[str]:
        """Put back symbolic links that were changed; returns them and the stand-ins that are gone.

        A stand-in that was removed outside takes its mount with it.
        """
        now = identities(self.view)
        changed = Guard(links=dict(self.view.links)).release()
        stand_ins = (held.path for held in self._guard.placeholders)
        return changed + [path for path in stand_ins if now[path] != self._identities[path]]

    def end(self, command: str) -> None:
        """End what is left of a command."""
        self.running.discard(command)
        if self._anchor is not None and self._anchor.is_alive:
            with suppress(SandboxUnavailableError):  # then everything in it has ended
                self._anchor.ask("end", command, "" if self.running else "idle")

    def close(self, watchdog: Watchdog) -> None:
        """End it and take the stand-ins away."""
        if self._anchor is not None:
            self._anchor.close()
            self._anchor = None
            self._remove()
        links = dict(self._guard.links)
        self._guard.release()
        for path, target in links.items():
            watchdog.forget("l", f"{path}//{target}")

    def _remove(self) -> None:
        """Remove what the engine itself did not; it is nobody's fault when nothing is left."""
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                self._engine.call("rm", "--force", self.name),
                env=dict(self._engine.env),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_REMOVAL_SECONDS,
                check=False,
            )

    def _protect(self, watchdog: Watchdog) -> None:
        for path in self.view.protected:  # before they are there: a kill may come at any moment
            if not os.path.lexists(path):
                watchdog.watch("f" if is_file_name(path) else "d", path)
        self._guard, _ = place(self.view.protected)
        self._guard.links.update(self.view.links)
        for path, target in self.view.links:
            watchdog.watch("l", f"{path}//{target}")
        self._identities = identities(self.view)

    def _arguments(self) -> tuple[str, ...]:
        settings, kind = self._settings, self._engine.kind
        words = ["run", "--rm", "-i", "--pull=never", "--name", self.name, f"--label={MARK}=1"]
        words += ["--log-driver=none", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
        words += ["--read-only", f"--tmpfs={SCRATCH}:rw,exec,nosuid,nodev,mode=1777"]
        if kind == "podman":
            words += ["--read-only-tmpfs=false", "--http-proxy=false"]
        elif settings.runtime:
            words.append(f"--runtime={settings.runtime}")
        words += self._identity() + self._network() + self._bounds()
        words += [word for mount in self._mounts() for word in ("--mount", mount)]
        words += [*settings.extra_args, "--entrypoint=/bin/sh", settings.image]
        return self._engine.call(*words, self._control.anchor)

    def _identity(self) -> list[str]:
        """Have files that commands make belong to the caller."""
        if self._settings.user:
            return [f"--user={self._settings.user}"]
        if self._engine.keeps_id:
            return ["--userns=keep-id"]
        return [] if self._engine.is_rootless else [f"--user={os.getuid()}:{os.getgid()}"]

    def _network(self) -> list[str]:
        if not self.view.network:
            return ["--network=none"]
        return [f"--network={self._settings.network}"] if self._settings.network else []

    def _bounds(self) -> list[str]:
        processes = self._settings.pids or self.view.processes
        words = ["--ulimit=core=0:0"]
        if processes and self._engine.bounds:
            words.append(f"--pids-limit={processes}")
        elif processes and self._engine.kind == "podman":
            words += ["--pids-limit=0", f"--ulimit=nproc={processes}:{processes}"]
        memory = self._settings.memory or (str(self.view.memory) if self.view.memory else "")
        if memory and self._engine.bounds:
            words.append(f"--memory={memory}")
        return words

    def _mounts(self) -> Iterator[str]:
        """Outer ones first: later ones cover earlier ones."""
        view = self.view
        kinds = dict.fromkeys((*view.writable, *view.pinned, *view.sockets), "rw")
        kinds |= dict.fromkeys((*view.readable, *view.protected), "ro")
        wanted = [(path, path, kind) for path, kind in kinds.items()]
        wanted += [(source, target, "ro") for source, target in view.mounts]
        for path in view.masked:
            cover = (
                self._control.hidden_folder if os.path.isdir(path) else self._control.hidden_file
            )
            wanted.append((cover, path, "ro"))
        wanted.append((self._control.path, INSIDE, "ro"))
        for source, target, kind in sorted(wanted, key=lambda mount: (mount[1].count("/"), mount)):
            if os.path.lexists(source):
                yield _mount(source, target, kind)


def _mount(source: str, target: str, kind: str) -> str:
    for path in (source, target):
        if any(letter in path for letter in '"\n\r'):
            raise SandboxUnavailableError(
                f"{path!r} cannot be shared with a container: its name holds a quote or a line end"
            )
    fields = ["type=bind", f"source={source}", f"target={target}"]
    if kind == "ro":
        fields.append("readonly")
    return ",".join(f'"{field}"' if "," in field else field for field in fields)
