"""The calls by which a command confines itself, in the order in which they are possible."""

from __future__ import annotations

import os
import resource
import struct
from functools import cache
from typing import TYPE_CHECKING, Final

from ferrule_confinement.seccomp import filter_program
from ferrule_confinement.starter import Data, Filter, Starter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_confinement.seccomp import Refusals
    from ferrule_hookspecs.sandbox import ResolvedPolicy

_PR_SET_PDEATHSIG, _SIGKILL = 1, 9
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_CAPABILITY_VERSION: Final = 0x20080522
_CLOSE_ON_EXEC: Final = 4
_FIRST_INHERITED, _LAST_DESCRIPTOR = 3, 0xFFFFFFFF
_SECCOMP_FILTER: Final = 1


def confined_start(
    policy: ResolvedPolicy, ruleset: int, groups: Mapping[str, int], refusals: Refusals
) -> Starter:
    """List the calls of one command.

    Args:
        policy: For the bounds.
        ruleset: Descriptor of the Landlock ruleset.
        groups: By what it bounds, the descriptor of a control group's list of members.
        refusals: What the filter refuses.
    """
    starter = Starter()
    for group in groups.values():
        starter.call("write", group, Data(b"0"), 1)  # zero stands for whoever writes
    starter.call("prctl", _PR_SET_PDEATHSIG, _SIGKILL)
    for limit, value in _limits(policy, groups):
        starter.call("prlimit64", 0, limit, Data(struct.pack("<2Q", value, value)))
    starter.call("prctl", _PR_SET_NO_NEW_PRIVS, 1)
    for capability in _bounding_set() if os.geteuid() == 0 else ():
        starter.call("prctl", _PR_CAPBSET_DROP, capability)  # root would get them back
    starter.call("capset", Data(struct.pack("<Ii", _CAPABILITY_VERSION, 0)), Data(bytes(24)))
    starter.call("landlock_restrict_self", ruleset)
    starter.call("close_range", _FIRST_INHERITED, _LAST_DESCRIPTOR, _CLOSE_ON_EXEC)
    starter.call("seccomp", _SECCOMP_FILTER, 0, Filter(filter_program(refusals=refusals)))
    return starter


def _limits(policy: ResolvedPolicy, groups: Mapping[str, int]) -> list[tuple[int, int]]:
    limits = [(resource.RLIMIT_CORE, 0)]
    if policy.max_processes is not None and "pids" not in groups:
        limits.append(_lowered(resource.RLIMIT_NPROC, _threads_now() + policy.max_processes))
    if policy.max_memory_bytes is not None and "memory" not in groups:
        limits.append(_lowered(resource.RLIMIT_AS, policy.max_memory_bytes))
    return limits


def _lowered(limit: int, value: int) -> tuple[int, int]:
    _, hard = resource.getrlimit(limit)
    return limit, value if hard == resource.RLIM_INFINITY else min(value, hard)


def _threads_now() -> int:
    """How many threads the machine runs: the limit counts all of the user's, not the command's."""
    with open("/proc/loadavg", "rb") as file:
        return int(file.read().split()[3].partition(b"/")[2])


@cache
def _bounding_set() -> tuple[int, ...]:
    """The capabilities that programs of root get."""
    with open("/proc/self/status", encoding="utf-8") as file:
        line = next(line for line in file if line.startswith("CapBnd:"))
    mask = int(line.split()[1], 16)
    return tuple(number for number in range(mask.bit_length()) if mask >> number & 1)
