"""The container engine: which one, what it can do here, and how it is called."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_sandbox_container.settings import Settings

ENGINES: Final = ("podman", "docker", "nerdctl")
_SECONDS: Final = 60
_KEPT_PREFIXES: Final = ("CONTAINER", "DOCKER_", "NERDCTL_", "XDG_")
_KEPT: Final = frozenset(
    ("DBUS_SESSION_BUS_ADDRESS", "HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "USER")
)


@dataclass(frozen=True, slots=True)
class Engine:
    """A container engine that answers.

    Attributes:
        program: Its absolute path.
        kind: Which of the three it is.
        version: What it says it is.
        is_rootless: Whether it runs without root's rights.
        bounds: Whether it can bound processes and memory here.
        filters: Whether it filters system calls.
        keeps_id: Whether it can have the caller's number inside.
        runtime: The runtime asked for; empty for its own choice.
        env: The environment it is called with.
    """

    program: str
    kind: str
    version: str
    is_rootless: bool
    bounds: bool
    filters: bool
    keeps_id: bool
    runtime: str
    env: Mapping[str, str]

    def call(self, *arguments: str) -> tuple[str, ...]:
        """Build a call of it."""
        general = ("--runtime", self.runtime) if self.runtime and self.kind == "podman" else ()
        return (self.program, *general, *arguments)


class EngineError(Exception):
    """There is no engine that works; the message is a sentence."""


def find_engine(settings: Settings, environ: Mapping[str, str], workspace: str) -> Engine:
    """Find the engine and ask it about itself.

    Raises:
        EngineError: There is none, it does not work here, or it lacks the image.
    """
    program = _program(settings.engine, environ.get("PATH", ""), workspace)
    kind = next((kind for kind in ENGINES if kind in os.path.basename(program)), "docker")
    env = {
        name: value
        for name, value in environ.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }
    engine = Engine(program, kind, "", False, False, False, False, settings.runtime, env)
    found = _described(engine)
    if not settings.image:
        raise EngineError(
            f"{found.version} works, but no image is named; write image = "
            '"NAME" below [sandboxes.container] in your config.toml'
        )
    if _output(found, "image", "inspect", "--format", "{{.Id}}", settings.image) is None:
        raise EngineError(
            f"{found.version} has no image {settings.image!r}; fetch it with"
            f" `{kind} pull {settings.image}` or build it"
        )
    return found


def _program(name: str, path: str, workspace: str) -> str:
    if os.path.isabs(name):
        if os.access(name, os.X_OK):
            return name
        raise EngineError(f"{name} cannot be run; correct `engine` of [sandboxes.container]")
    for wanted in (name,) if name else ENGINES:
        for folder in filter(os.path.isabs, path.split(os.pathsep)):
            found = os.path.join(folder, wanted)
            is_planted = os.path.realpath(found).startswith(workspace.rstrip("/") + "/")
            if os.access(found, os.X_OK) and os.path.isfile(found) and not is_planted:
                return found
    raise EngineError(
        f"there is no {name or 'podman, docker or nerdctl'} here; install one, as in"
        " `apt install podman`"
    )


def _described(engine: Engine) -> Engine:
    template = "json" if engine.kind == "podman" else "{{json .}}"
    text = _output(engine, "info", "--format", template)
    try:
        facts = _table(json.loads(text or ""))
    except ValueError:
        raise EngineError(
            f"{engine.program} does not answer; see what `{engine.kind} info` says"
        ) from None
    return _of_podman(engine, facts) if engine.kind == "podman" else _of_docker(engine, facts)


def _of_podman(engine: Engine, facts: Mapping[str, object]) -> Engine:
    host = _table(facts.get("host"))
    security = _table(host.get("security"))
    is_rootless = security.get("rootless") is True
    if host.get("serviceIsRemote") is True:
        raise EngineError("podman is connected to another machine, whose files are not these")
    version = _table(facts.get("version")).get("Version", "")
    mapped = _table(host.get("idMappings")).get("uidmap")
    return Engine(
        program=engine.program,
        kind=engine.kind,
        version=f"podman {version}",
        is_rootless=is_rootless,
        bounds=not is_rootless or _has_both(host.get("cgroupControllers")),
        filters=security.get("seccompEnabled") is True,
        keeps_id=is_rootless and isinstance(mapped, list) and len(cast("list[object]", mapped)) > 1,
        runtime=engine.runtime,
        env=engine.env,
    )


def _of_docker(engine: Engine, facts: Mapping[str, object]) -> Engine:
    if not facts.get("ServerVersion"):
        raise EngineError(f"{engine.kind} reaches no engine; see what `{engine.kind} info` says")
    security = str(facts.get("SecurityOptions") or "")
    return Engine(
        program=engine.program,
        kind=engine.kind,
        version=f"{engine.kind} {facts['ServerVersion']}",
        is_rootless="rootless" in security,
        bounds=facts.get("PidsLimit") is True and facts.get("MemoryLimit") is True,
        filters="seccomp" in security and "unconfined" not in security,
        keeps_id=False,
        runtime=engine.runtime,
        env=engine.env,
    )


def _output(engine: Engine, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            engine.call(*arguments),
            env=dict(engine.env),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _has_both(controllers: object) -> bool:
    return isinstance(controllers, list) and {"memory", "pids"} <= set(
        cast("list[str]", controllers)
    )
