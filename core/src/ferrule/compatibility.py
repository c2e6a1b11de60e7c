"""Decides from metadata alone whether a plugin fits: before any of its code is imported.

Called when plugins are judged. What cannot be read counts as not fitting.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ferrule.versions import satisfies

if TYPE_CHECKING:
    from ferrule.entry import Entry


def compatibility_fault(entry: Entry, contract_version: str) -> str:
    """Say why a plugin does not fit, and which side to upgrade; empty when it does."""
    return _python_fault(entry) or _contract_fault(entry, contract_version)


def compatibility_doubt(entry: Entry) -> str:
    """Say that nobody can tell whether a plugin fits; empty where its metadata tells."""
    if entry.requires_hookspecs:
        return ""
    return (
        "does not say which versions of ferrule-hookspecs it is made for, so that nobody can tell"
        ' beforehand whether it fits; its author adds a requirement such as "ferrule-hookspecs'
        '>=0.1,<0.2"'
    )


def _python_fault(entry: Entry) -> str:
    if not entry.requires_python:
        return ""
    wanted = f"{entry.distribution} {entry.version} needs Python "
    running = ".".join(map(str, sys.version_info[:3]))
    try:
        if satisfies(running, entry.requires_python):
            return ""
    except ValueError as error:
        return f"{wanted}{entry.requires_python!r}, which cannot be read: {error}"
    return (
        f"{wanted}{entry.requires_python}, Ferrule runs on {running}; install Ferrule with such a"
        f" Python, or another version of {entry.distribution}"
    )


def _contract_fault(entry: Entry, contract_version: str) -> str:
    if not entry.requires_hookspecs or not contract_version:
        return ""
    wanted = f"{entry.distribution} {entry.version} needs ferrule-hookspecs"
    try:
        if satisfies(contract_version, entry.requires_hookspecs):
            return ""
        lower = [c for c in entry.requires_hookspecs.split(",") if c.strip()[:2] in {">=", "~="}]
        is_host_old = any(
            not satisfies(contract_version, ">=" + clause.strip()[2:]) for clause in lower
        )
    except ValueError as error:
        return f"{wanted} {entry.requires_hookspecs!r}, which cannot be read: {error}"
    side = "ferrule-core and ferrule-hookspecs" if is_host_old else entry.distribution
    return f"{wanted}{entry.requires_hookspecs}, installed is {contract_version}; upgrade {side}"
