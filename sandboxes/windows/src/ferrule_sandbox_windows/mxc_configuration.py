"""What a resolved policy is for MXC: the configuration of one container.

Everything is refused by default, so what may be read is granted, too: the drives of the machine
where a policy hides nothing else. MXC knows nothing of names, so that protected places, folders
that hold them and missing names are held open besides (`holds.py`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import PolicyUnenforceableError
from ferrule_sandbox_windows.command_line import command_line, environment_entries
from ferrule_sandbox_windows.places import (
    lies_in_any,
    protected_places,
    unique,
    with_targets,
    writable_roots,
)

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import Command, ResolvedPolicy

VERSION: Final = "0.8.0-alpha"
_CLOSED: Final = {
    "egress": {"default": "deny"},
    "ingress": {"default": "deny", "hostLoopback": "deny"},
}
_OPEN: Final = {
    "egress": {"default": "allow"},
    "ingress": {"default": "deny", "hostLoopback": "deny"},
}


class Surroundings(NamedTuple):
    """What a configuration depends on beside the policy.

    Attributes:
        name: What this container is called; no other that runs is called so.
        drives: The roots of the drives of this machine.
        scratch: A private folder that may be written although nothing else may.
        hides_paths: Whether MXC can keep paths from being read here.
    """

    name: str
    drives: tuple[str, ...]
    scratch: str | None = None
    hides_paths: bool = False


def make_configuration(
    policy: ResolvedPolicy, command: Command, around: Surroundings
) -> dict[str, object]:
    """Say a policy and a command as a container's configuration.

    Raises:
        SandboxUnavailableError: The command has no command line or environment on Windows.
    """
    scratch = () if around.scratch is None else (around.scratch,)
    readable = around.drives if policy.readable_roots is None else policy.readable_roots
    hidden = with_targets(policy.deny_read) if around.hides_paths else ()
    kept = unique((*readable, *protected_places(policy)))
    return {
        "version": VERSION,
        "containerId": around.name,
        "containment": "processcontainer",
        "lifecycle": {"destroyOnExit": True, "preservePolicy": False},
        "process": {
            "commandLine": command_line(command.argv),
            "cwd": command.cwd,
            "env": environment_entries(command.env),
            "timeout": 0,
        },
        "filesystem": {
            "readwritePaths": [*writable_roots(policy), *scratch],
            "readonlyPaths": [each for each in kept if not lies_in_any(each, hidden)],
            "deniedPaths": list(hidden),
        },
        "network": _OPEN if policy.network else _CLOSED,
        "processContainer": {
            "leastPrivilege": False,
            "capabilities": ["internetClient"] if policy.network else [],
            "ui": {
                "isolation": "container",
                "desktopSystemControl": False,
                "systemSettings": "none",
                "ime": False,
            },
        },
        # PowerShell does not start without windows of its own.
        "ui": {"disable": False, "clipboard": "none", "injection": False},
        # Else MXC would change the access lists of whole drives where it lacks a better way.
        "fallback": {"allowDaclMutation": False},
    }


def as_text(configuration: dict[str, object]) -> bytes:
    """Write a configuration down.

    Raises:
        PolicyUnenforceableError: A path or a variable is not text.
    """
    text = json.dumps(configuration, ensure_ascii=False, indent=1)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        around = text[max(0, error.start - 40) : error.end]
        raise PolicyUnenforceableError(
            f"the sandbox windows cannot name {around!r}, which is not UTF-8; rename it"
        ) from None
