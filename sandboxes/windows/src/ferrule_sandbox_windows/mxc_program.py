"""Finds MXC, and asks it what it can do on this machine.

It is an executable of Microsoft's that comes with the npm package `@microsoft/mxc-sdk`. Never is it
looked for in the working directory: who can put a program there would be the sandbox.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_sandbox_windows.places import lies_in

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM: Final = "wxc-exec.exe"
MIN_BUILD: Final = 26100
_FOLDERS: Final = {"amd64": "x64", "x86_64": "x64", "arm64": "arm64", "aarch64": "arm64"}
_PROBE_SECONDS: Final = 20


class MxcFacts(NamedTuple):
    """What MXC says of itself.

    Attributes:
        tier: What it confines with.
        hides_paths: Whether it can keep paths from being read.
        warnings: What it warns of.
    """

    tier: str
    hides_paths: bool = False
    warnings: tuple[str, ...] = ()


def find_mxc(
    settings: Mapping[str, object], environ: Mapping[str, str], workspace: str
) -> str | None:
    """Return the program: the configured one, else that of `MXC_BIN_DIR`, else that on PATH.

    Raises:
        SandboxUnavailableError: The configured one is not there.
    """
    configured = settings.get("mxc")
    if isinstance(configured, str):
        if not os.path.isabs(configured) or not os.path.isfile(configured):
            raise SandboxUnavailableError(
                f"there is no program {configured!r}; mend `mxc` in [sandboxes.windows]: the"
                f" absolute path of {PROGRAM}"
            )
        return configured
    folders = environ.get("PATH", "").split(os.pathsep)
    if own := environ.get("MXC_BIN_DIR"):
        machine = _FOLDERS.get(platform.machine().lower(), "x64")
        folders = [os.path.join(own, machine), own, *folders]
    for folder in folders:
        path = os.path.join(folder, PROGRAM)
        if (
            os.path.isabs(folder)
            and not lies_in(os.path.realpath(folder), workspace)
            and os.path.isfile(path)
        ):
            return path
    return None


def ask_mxc(program: str) -> MxcFacts:
    """Run MXC's own probe.

    Raises:
        SandboxUnavailableError: It did not answer as expected.
    """
    try:
        ended = subprocess.run(
            [program, "--probe"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
            cwd=os.path.dirname(program),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxUnavailableError(f"{program} --probe failed: {error}") from error
    if ended.returncode:
        said = " ".join(ended.stderr.decode("utf-8", "replace").split())
        raise SandboxUnavailableError(
            f"{program} --probe ended with exit code {ended.returncode}:"
            f" {said or 'it said nothing'}"
        )
    return read_facts(ended.stdout)


def read_facts(printed: bytes) -> MxcFacts:
    """Read what `--probe` prints.

    Raises:
        SandboxUnavailableError: It is something else.
    """
    try:
        told: object = json.loads(printed)
    except ValueError:
        told = None
    told = cast("dict[str, object]", told) if isinstance(told, dict) else {}
    tier = told.get("tier")
    if not isinstance(tier, str):
        raise SandboxUnavailableError("MXC did not tell what it confines with (`wxc-exec --probe`)")
    found = told.get("probes")
    probes = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    listed = told.get("warnings")
    warnings = cast("list[object]", listed) if isinstance(listed, list) else []
    hides_paths = probes.get("baseContainerSupportsDenyPaths") is True
    return MxcFacts(tier, hides_paths, tuple(str(each) for each in warnings))
