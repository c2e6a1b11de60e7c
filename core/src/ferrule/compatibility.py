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


def is_below(version: str, specifier: str) -> bool:
    """Tell whether a version is below where a specifier begins.

    Raises:
        ValueError: One of them cannot be read.
    """
    for clause in map(str.strip, specifier.split(",")):
        if clause[:2] in {">=", "~=", "=="} or clause[:1] == ">":
            operator = ">" if clause[:1] == ">" and clause[1:2] != "=" else ">="
            if not satisfies(version, operator + clause.lstrip(">=~ ").removesuffix(".*")):
                return True
    return False


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
        is_old = is_below(contract_version, entry.requires_hookspecs)
    except ValueError as error:
        return f"{wanted} {entry.requires_hookspecs!r}, which cannot be read: {error}"
    side = "ferrule-core and ferrule-hookspecs" if is_old else entry.distribution
    return f"{wanted}{entry.requires_hookspecs}, installed is {contract_version}; upgrade {side}"
