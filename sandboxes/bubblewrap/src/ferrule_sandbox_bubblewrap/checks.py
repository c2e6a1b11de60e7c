"""The checks that `ferrule doctor` shows of this sandbox, with mends for each kind of host."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from ferrule_confinement.control_groups import bounds_processes
from ferrule_confinement.landlock import SCOPES_SINCE, landlock_version
from ferrule_confinement.seccomp import is_supported
from ferrule_hookspecs.hooks import Check
from ferrule_sandbox_bubblewrap.host_facts import (
    HostFacts,
    read_facts,
    seccomp_actions,
)
from ferrule_sandbox_bubblewrap.probe import find_program, try_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_hookspecs.plugins import PluginContext

MEANINGS: Final[dict[str, str]] = {
    "sandbox.bubblewrap": "Where bubblewrap is, its version, and whether it works when tried.",
    "sandbox.groups": "Whether the number of processes of a command can be bounded here.",
    "sandbox.landlock": "Which version of Landlock Linux offers, the other way of confining.",
    "sandbox.namespaces": "Whether user namespaces are allowed, and which setting forbids them.",
    "sandbox.seccomp": "Whether Linux takes system call filters, and one is known for this"
    " processor.",
}
_INSTALL: Final = {
    "debian": "apt install bubblewrap",
    "ubuntu": "apt install bubblewrap",
    "fedora": "dnf install bubblewrap",
    "rhel": "dnf install bubblewrap",
    "suse": "zypper install bubblewrap",
    "arch": "pacman -S bubblewrap",
    "alpine": "apk add bubblewrap",
    "nixos": "add pkgs.bubblewrap to environment.systemPackages",
}
_APPARMOR: Final = "kernel.apparmor_restrict_unprivileged_userns"
_PROFILE: Final = (
    "printf '%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>'"
    " 'profile bwrap /usr/bin/bwrap flags=(unconfined) {' '  userns,' '}'"
    " | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap"
)
_CONTAINER: Final = (
    "start the container with a /proc that is not covered and a seccomp profile that allows unshare"
    " and mount, as in `podman run --security-opt unmask=ALL` or"
    " `docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
    " --security-opt systempaths=unconfined`; or use sandbox_backend landlock; or, where the"
    " container is confinement enough, sandbox_mode external-sandbox"
)
_LIMIT_S: Final = 5.0


def checks(context: PluginContext) -> Sequence[Check]:
    """Look at bubblewrap and at what Linux allows it."""
    if sys.platform != "linux":
        return [Check(name, "skip", "bubblewrap works on Linux only") for name in MEANINGS]
    facts = read_facts()
    program = find_program(context.environ.get("PATH", ""), os.path.realpath(context.cwd or "/"))
    failure = None if program is None else try_out(program)
    return [
        _bubblewrap(program, failure, facts),
        namespaces_check(facts, is_working=program is not None and failure is None),
        _seccomp(),
        _groups(facts),
        _landlock(),
    ]


def _bubblewrap(program: str | None, failure: str | None, facts: HostFacts) -> Check:
    if program is None:
        text = "bubblewrap (bwrap) is not installed"
        return Check("sandbox.bubblewrap", "warn", text, install_command(facts.system))
    version = _version(program)
    is_setuid = bool(os.stat(program).st_mode & stat.S_ISUID)
    text = f"{version or 'bubblewrap'} at {program}" + (", set-user-ID" if is_setuid else "")
    if failure is None:
        return Check("sandbox.bubblewrap", "ok", f"{text}, works")
    if not version:
        mend = f"install it anew: {install_command(facts.system)}"
    else:
        mend = "see sandbox.namespaces; or use sandbox_backend landlock"
    return Check("sandbox.bubblewrap", "warn", f"{text} does not work here: {failure}", mend)


def install_command(system: str) -> str:
    """Say how bubblewrap is installed on a system, named by os-release."""
    for name in system.replace("-", " ").split():
        if name in _INSTALL:
            return _INSTALL[name]
    return "install the package bubblewrap of your system"


def _version(program: str) -> str:
    try:
        ended = subprocess.run(
            [program, "--version"],
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout.decode("utf-8", "replace").strip() if ended.returncode == 0 else ""


def namespaces_check(facts: HostFacts, *, is_working: bool) -> Check:
    """Judge what Linux says about user namespaces.

    Args:
        facts: What it says.
        is_working: Whether bubblewrap made one just now; then no setting is in the way.
    """
    name = "sandbox.namespaces"
    shown = ", ".join(_shown(facts)) or "Linux has no switch for them"
    if is_working:
        return Check(name, "ok", f"user namespaces can be made ({shown})")
    obstacles = list(_obstacles(facts))
    if obstacles:
        words = " and ".join(setting for setting, _ in obstacles)
        mend = "; ".join(mend for _, mend in obstacles)
        return Check(name, "warn", f"user namespaces are forbidden by {words}", mend)
    if facts.is_container:
        text = f"the container seems to forbid user namespaces ({shown})"
        return Check(name, "warn", text, _CONTAINER)
    return Check(name, "skip", f"nothing forbids user namespaces, but none was made ({shown})")


def _shown(facts: HostFacts) -> Iterator[str]:
    if facts.userns_clone is not None:
        yield f"kernel.unprivileged_userns_clone is {facts.userns_clone}"
    if facts.apparmor is not None:
        yield f"{_APPARMOR} is {facts.apparmor}"
    if facts.max_user_namespaces is not None:
        yield f"user.max_user_namespaces is {facts.max_user_namespaces}"


def _obstacles(facts: HostFacts) -> Iterator[tuple[str, str]]:
    """Yield the settings that are in the way, each with its mend; root is subject to the last."""
    if facts.userns_clone == 0 and not facts.is_root:
        setting = "kernel.unprivileged_userns_clone"
        yield f"{setting}=0", _set(setting, 1)
    if facts.apparmor == 1 and not facts.is_root:
        yield f"AppArmor ({_APPARMOR}=1, the default of Ubuntu 24.04)", _PROFILE
    if facts.max_user_namespaces == 0:
        setting = "user.max_user_namespaces"
        yield f"{setting}=0", _set(setting, 15_000)


def _set(setting: str, value: int) -> str:
    line = f"{setting}={value}"
    return f"sudo sysctl -w {line} (to keep it: write that line into /etc/sysctl.d/60-ferrule.conf)"


def _seccomp() -> Check:
    name = "sandbox.seccomp"
    if not is_supported():
        text = "no system call filter is known for this processor"
        return Check(name, "warn", text, "use x86_64 or aarch64")
    if "errno" not in seccomp_actions():
        text = "Linux takes no system call filters here"
        return Check(name, "warn", text, "use a kernel with CONFIG_SECCOMP_FILTER")
    return Check(name, "ok", "Linux takes system call filters")


def _groups(facts: HostFacts) -> Check:
    name = "sandbox.groups"
    if not bounds_processes():
        text = "no control group is delegated, so root's commands may start any number of processes"
        mend = "run as another user, or delegate the pids controller (systemd: Delegate=pids)"
        return Check(name, "warn", text, mend)
    how = "by a control group" if facts.is_root else "by a limit on your processes"
    return Check(name, "ok", f"the number of processes of a command is bounded {how}")


def _landlock() -> Check:
    name, version = "sandbox.landlock", landlock_version()
    if not version:
        text = "Linux offers no Landlock; with the network on, abstract sockets stay in reach"
        return Check(name, "skip", text)
    if version < SCOPES_SINCE:
        text = (
            f"Linux offers Landlock {version}; with the network on, abstract sockets stay in reach"
        )
        return Check(name, "ok", text)
    return Check(name, "ok", f"Linux offers Landlock {version}, and abstract sockets are kept out")
