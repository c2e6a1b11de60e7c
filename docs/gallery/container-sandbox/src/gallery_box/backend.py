"""The backend: turns a policy and a command into one `podman run` or `docker run`.

The container sees the image, and of this machine the working directory and the writable roots. So
most of what a policy forbids is not there at all; what is protected inside of a root is mounted
over. What this does not know how to enforce it refuses: `ENFORCED` is what Ferrule relies on.
"""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from functools import cached_property, partial
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
from ferrule_hookspecs.sandbox import Feature

# Not `missing_names`: what is mounted over has to exist. Not `unix_sockets`: those in the workspace
# are in reach. Not `seccomp` and `resources`: whether they work depends on the machine.
ENFORCED: Final[frozenset[Feature]] = frozenset(
    {"filesystem", "protected_paths", "deny_read", "network", "pids", "ipc", "metadata"}
)
_KEPT: Final = ("DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "HOME", "PATH", "XDG_RUNTIME_DIR")
_PATIENCE_S: Final = 120
# No right of root, none to be had; nothing of the image can be changed but /tmp, which is new.
_TIGHT: Final = (
    *("--rm", "--interactive", "--pull=never", "--read-only", "--cap-drop=ALL"),
    *("--security-opt=no-new-privileges", "--security-opt=label=disable"),
)
# The first process of a container ignores signals it does not expect, so a shell is that one: the
# command is its child, and how that ended is told as shells tell it.
_SHELL: Final = ("/bin/sh", "-c", '"$@"; exit $?', "sh")


class BoxBackend:
    """Runs every command in a new container, which ends with it."""

    name = "box"

    def __init__(self, context: PluginContext) -> None:
        self._engine = str(context.settings.get("engine") or "podman")
        self._is_docker = "docker" in os.path.basename(self._engine)
        self._image = str(context.settings.get("image") or "")
        self._env = {name: context.environ[name] for name in _KEPT if name in context.environ}
        self._program = shutil.which(self._engine, path=self._env.get("PATH"))

    def probe(self) -> Capabilities:
        """Tell whether it works here, and what it enforces."""
        return self._capabilities

    @cached_property
    def _capabilities(self) -> Capabilities:
        if self._program is None:
            return Capabilities(False, f"{self._engine} is missing; install podman or docker")
        if not self._image:
            return Capabilities(False, "no image is named; set plugins.settings.box.image")
        tried = self._ask("run", *self._options(), "--network=none", self._image, *_SHELL, "true")
        if tried:
            return Capabilities(False, f"{self._engine} runs no {self._image} here: {tried}")
        return Capabilities(True, f"in {self._image}, by {self._program}", ENFORCED)

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build the launch; raise rather than start with less than the policy asks for."""
        found = self.probe()
        if self._program is None or not found.available:
            raise SandboxUnavailableError(found.reason)
        _refuse_unknown(policy, command)
        name = f"ferrule-box-{secrets.token_hex(8)}"
        words = [*self._options(), f"--name={name}", f"--workdir={command.cwd}"]
        words += ["--tty"] if command.tty else []
        words.append("--network=host" if policy.network else "--network=none")
        words += [f"--mount={mount}" for mount in _mounts(policy)]
        words += [f"--env={variable}={value}" for variable, value in command.env.items()]
        return Launch(
            (self._program, "run", *words, self._image, *_SHELL, *command.argv),
            self._env,
            "/",
            cleanup=partial(self._remove, name),
            forward_signal=lambda pid, number: self._signal(name, number),
        )

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """Tell a refusal of the sandbox from a failure of the command."""
        if result.exit_code and b"Read-only file system" in result.output:
            return Denial("write", "the sandbox lets nothing be written there", is_inferred=True)
        return None

    def files(self, policy: ResolvedPolicy) -> None:
        """Return nothing: the workspace is this machine's, and Ferrule's own access serves."""

    async def aclose(self) -> None:
        """Every container ends with its command; nothing is held."""

    def _options(self) -> tuple[str, ...]:
        if self._is_docker:
            # Its daemon is root, and what is written would be root's.
            return (*_TIGHT, f"--user={os.geteuid()}:{os.getegid()}")
        return (*_TIGHT, "--unsetenv-all", "--read-only-tmpfs=false")

    def _signal(self, name: str, number: int) -> bool:
        """Send a signal to all there is in the container but its first process."""
        return not self._ask("exec", name, "/bin/sh", "-c", f"kill -{number} -1")

    def _remove(self, name: str) -> None:
        """Remove a container that its command left, such as one whose engine was killed."""
        # Docker kills at once; podman asks first and waits, if it is not told otherwise.
        self._ask("rm", "--force", *(() if self._is_docker else ("--time=0",)), name)

    def _ask(self, *words: str) -> str:
        """Have the engine do something; returns why it could not."""
        try:
            done = subprocess.run(
                [str(self._program), *words],
                env=self._env,
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PATIENCE_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return done.stderr.strip()[-500:] or "it failed" if done.returncode else ""


def _mounts(policy: ResolvedPolicy) -> Iterator[str]:
    """Write what is shown of this machine.

    A place has one mount, and what is said last about it counts; engines themselves put those of
    places further down on top of the others.
    """
    roots = policy.writable_roots
    kinds: dict[str, str] = {policy.cwd: "readonly"}
    shown = [policy.cwd, *(root.path for root in roots)]
    if any(_is_inside(policy.cwd, root.path) for root in roots):
        del kinds[policy.cwd]
    if not any(root.path == "/tmp" for root in roots):  # noqa: S108 -- the container's own
        kinds["/tmp"] = "scratch"  # noqa: S108
    kinds |= dict.fromkeys((root.path for root in roots), "")
    for root in roots:
        kinds |= dict.fromkeys(root.pinned, "")  # what is mounted cannot be renamed or removed
        kinds |= dict.fromkeys(root.read_only, "readonly")
    for path in policy.deny_read:  # elsewhere than below these it is not there
        if any(_is_inside(path, place) for place in shown) and os.path.lexists(path):
            kinds[path] = "hidden folder" if os.path.isdir(path) else "hidden file"
    return (_mount(_plain(path), kind) for path, kind in kinds.items())


def _mount(path: str, kind: str) -> str:
    match kind:
        case "scratch":
            return f"type=tmpfs,destination={path},tmpfs-mode=1777"
        case "hidden folder":
            return f"type=tmpfs,destination={path},tmpfs-mode=0000"
        case "hidden file":
            return f"type=bind,source=/dev/null,destination={path},readonly"
        case _:
            return f"type=bind,source={path},destination={path}{kind and f',{kind}'}"


def _plain(path: str) -> str:
    if any(sign in path for sign in ',"\n\r'):  # a mount is a line of comma-separated values
        raise SandboxUnavailableError(f"the name of {path} cannot be told to a container engine")
    return path


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def _refuse_unknown(policy: ResolvedPolicy, command: Command) -> None:
    """Refuse what this backend does not know how to do, or how to enforce."""
    links = [path for root in policy.writable_roots for path in root.read_only]
    wishes = {
        "a command without a sandbox": policy.unconfined,
        "a bound on what can be read": policy.readable_roots is not None,
        "a network proxy": command.door is not None,
        "a socket of a service outside": bool(policy.unix_sockets),
        "a protected symbolic link": any(map(os.path.islink, links)),
        "the root folder as writable": any(root.path == "/" for root in policy.writable_roots),
    }
    for wish, is_wanted in wishes.items():
        if is_wanted:
            raise PolicyUnenforceableError(f"the sandbox box cannot do this: {wish}")
