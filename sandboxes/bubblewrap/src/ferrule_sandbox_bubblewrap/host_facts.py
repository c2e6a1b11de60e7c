"""What Linux says about itself, as far as a sandbox depends on it. Used by the doctor's checks."""

from __future__ import annotations

import os
import platform
from typing import Final, NamedTuple

_SYSCTL: Final = "/proc/sys/"
_CONTAINER_MARKS: Final = ("/.dockerenv", "/run/.containerenv")
_CONTAINER_GROUPS: Final = ("docker", "kubepods", "containerd", "lxc", "libpod")


class HostFacts(NamedTuple):
    """The facts.

    Attributes:
        system: `ID` and `ID_LIKE` of os-release, such as `ubuntu debian`.
        userns_clone: `kernel.unprivileged_userns_clone`; None where Linux has no such switch.
        apparmor: `kernel.apparmor_restrict_unprivileged_userns`; None as above.
        max_user_namespaces: `user.max_user_namespaces`; None as above.
        is_container: Whether this runs in a container.
        is_root: Whether this runs as root.
    """

    system: str = ""
    userns_clone: int | None = None
    apparmor: int | None = None
    max_user_namespaces: int | None = None
    is_container: bool = False
    is_root: bool = False


def read_facts() -> HostFacts:
    """Read the facts of this machine."""
    return HostFacts(
        system=_system(),
        userns_clone=_sysctl("kernel/unprivileged_userns_clone"),
        apparmor=_sysctl("kernel/apparmor_restrict_unprivileged_userns"),
        max_user_namespaces=_sysctl("user/max_user_namespaces"),
        is_container=_is_container(),
        is_root=os.geteuid() == 0,
    )


def seccomp_actions() -> tuple[str, ...]:
    """Return what a system call filter may do here; empty where there are no filters."""
    return tuple(_read(f"{_SYSCTL}kernel/seccomp/actions_avail").split())


def _system() -> str:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    return f"{release.get('ID', '')} {release.get('ID_LIKE', '')}".strip()


def _sysctl(name: str) -> int | None:
    text = _read(_SYSCTL + name).strip()
    return int(text) if text.isdigit() else None


def _is_container() -> bool:
    groups = _read("/proc/1/cgroup")
    return (
        any(os.path.exists(mark) for mark in _CONTAINER_MARKS)
        or "container" in os.environ
        or "KUBERNETES_SERVICE_HOST" in os.environ
        or any(name in groups for name in _CONTAINER_GROUPS)
    )


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
