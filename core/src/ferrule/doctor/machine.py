"""The machine: platform, container, Python, and the program itself."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule import __version__
from ferrule.hardening import ESCAPE, examine
from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ferrule.doctor.examination import Examination
    from ferrule.hardening import Hardening

_CONTAINER_MARKS: Final = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}
_CONTAINER_GROUPS: Final = ("docker", "kubepods", "containerd", "lxc", "libpod")


def checks(examination: Examination) -> Iterator[Check]:
    """Look at the machine."""
    yield platform_check(_release(), examination.environ)
    yield _python()
    yield _program(examination.environ)
    yield hardening_check(examine(examination.environ), examination.environ)


def platform_check(release: str, environ: Mapping[str, str]) -> Check:
    """Name the system, and what it runs in.

    Args:
        release: Release of the operating system's kernel.
        environ: The process environment.
    """
    words = f"{_system_name()}, {platform.system()} {release} on {platform.machine()}"
    if container := container_name(environ):
        words += f", in a container ({container})"
    if "microsoft" not in release.lower():
        return Check("machine.platform", "ok", words)
    if "wsl2" in release.lower():
        return Check("machine.platform", "ok", f"{words}, in WSL 2")
    return Check(
        "machine.platform",
        "fail",
        f"{words}, in WSL 1, which has no namespaces and so no sandbox",
        "change to WSL 2 from Windows: wsl --set-version DISTRIBUTION 2",
    )


def hardening_check(found: Hardening, environ: Mapping[str, str]) -> Check:
    """Say what keeps other programs from the memory of this one.

    Args:
        found: What holds.
        environ: The process environment.
    """
    name = "machine.hardening"
    holes = [
        *(["it can be traced"] if found.is_untraceable is False else ()),
        *(["it leaves core files"] if found.has_core_files else ()),
        *(f"{variable} is set" for variable in found.loader_variables),
    ]
    if not holes:
        shown = "" if found.is_untraceable is None else "it cannot be traced, "
        text = f"{shown}it leaves no core files, and nothing loads foreign code into it"
        return Check(name, "ok", text)
    mend = "start it as the program `ferrule`, which hardens itself"
    if environ.get(ESCAPE) == "1":
        mend = f"unset {ESCAPE}"
    return Check(name, "warn", f"its memory is open to others: {', '.join(holes)}", mend)


def container_name(environ: Mapping[str, str]) -> str:
    """Name the kind of container this runs in; empty where there is none."""
    for mark, name in _CONTAINER_MARKS.items():
        if os.path.exists(mark):
            return name
    if kind := environ.get("container"):
        return kind
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return "Kubernetes"
    groups = _read("/proc/1/cgroup")
    return next((name for name in _CONTAINER_GROUPS if name in groups), "")


def _system_name() -> str:
    if not hasattr(platform, "freedesktop_os_release"):
        return platform.system()
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.platform(terse=True)


def _release() -> str:
    return platform.release()


def _python() -> Check:
    kind = "its own environment" if sys.prefix != sys.base_prefix else "the system's environment"
    version = platform.python_version()
    implementation = platform.python_implementation()
    return Check(
        "machine.python",
        "ok",
        f"{implementation} {version} at {sys.executable}, {kind} {sys.prefix}",
    )


def _program(environ: Mapping[str, str]) -> Check:
    """Look for a second Ferrule that a shell would start instead of this one."""
    from shutil import which

    here = os.path.realpath(sys.argv[0])
    words = f"Ferrule {__version__}, started as {here}"
    found = which("ferrule", path=environ.get("PATH", ""))
    if found is None:
        return Check("machine.program", "ok", f"{words}; no `ferrule` is on PATH")
    is_same = os.path.realpath(found) == here or Path(found).parent == Path(sys.executable).parent
    if is_same:
        return Check("machine.program", "ok", words)
    return Check(
        "machine.program",
        "warn",
        f"{words}, but a shell starts {found}, which is another one",
        f"remove one of them, or put {Path(sys.executable).parent} first in PATH",
    )


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
