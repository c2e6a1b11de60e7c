"""Sees what an import does that it should not: forks, connections, changes of what others run.

Used by the probe's child alone, where what was done ends with the process. Code that means to hide
may still do so: what runs in the process of Ferrule is trusted, and this is no sandbox.
"""

from __future__ import annotations

import builtins
import ipaddress
import os
import sys
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

_JUDGING: Final = (
    *("ferrule_hookspecs.review", "ferrule_hookspecs.evaluator", "ferrule_hookspecs.ruling"),
    *("ferrule_hookspecs.sandbox", "ferrule_hookspecs.permissions", "ferrule.dispatcher"),
)
"""Known from the beginning, so that nobody who imports them first can change them unseen."""
_FORKS: Final = ("os.fork", "os.forkpty")
_OURS: Final = ("ferrule.", "ferrule_hookspecs")
_CHANGING: Final = "_"
"""The name under which translations and interactive sessions keep what they like."""
_Names = dict[str, object]


class ImportWatch:
    """Watches the imports of one process.

    Attributes:
        is_tainted: Whether what others run was replaced: no later import can be judged here.
    """

    def __init__(self) -> None:
        """Listen from now on."""
        for name in _JUDGING:
            import_module(name)
        self.is_tainted = False
        self._seen: list[str] = []
        self._known = _everybodys()
        sys.addaudithook(self._hear)

    def fault(self) -> str:
        """Tell what was done since the last asking that should not be; empty for nothing."""
        found = [*self._seen, *self._replaced()]
        self._seen.clear()
        return found[0] if found else ""

    def _replaced(self) -> list[str]:
        now = _everybodys()
        changed = [
            f"its import replaces {name}"
            for name, value in self._known.items()
            if now.get(name) is not value
        ]
        self._known = now
        self.is_tainted = self.is_tainted or bool(changed)
        return changed

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in _FORKS:
            self._seen.append("its import forks the process")
        elif event == "socket.connect" and isinstance(arguments[1], tuple):
            address = cast("tuple[object, ...]", arguments[1])
            self._seen.append(f"its import connects to {address[0]}")
        elif event == "socket.bind" and _is_service(arguments[1]):
            self._seen.append("its import listens on the network")


def _everybodys() -> _Names:
    """What everybody runs, by name: built-in functions, those of `os`, and the contract's."""
    found = _functions("builtins", vars(builtins)) | _functions("os", vars(os))
    for name, module in list(sys.modules.items()):
        if name.startswith(_OURS):
            found |= _functions(name, vars(module))
    return found


def _functions(owner: str, names: Mapping[str, object]) -> _Names:
    """The callables among some names, and those of classes that are defined there."""
    found: _Names = {}
    for name, value in list(names.items()):
        if name == _CHANGING or not callable(value):
            continue
        found[f"{owner}.{name}"] = value
        if isinstance(value, type) and value.__module__ == owner and owner != "builtins":
            for inner, each in list(vars(value).items()):
                if isinstance(each, FunctionType | classmethod | staticmethod | property):
                    found[f"{owner}.{name}.{inner}"] = cast("object", each)
    return found


def _is_service(address: object) -> bool:
    """Whether binding here serves others; libraries bind port 0 to see whether there is IPv6."""
    if not isinstance(address, tuple) or len(cast("tuple[object, ...]", address)) < 2:
        return False
    host, port = cast("tuple[object, ...]", address)[:2]
    try:
        return port != 0 or not ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return True
