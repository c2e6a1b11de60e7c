"""More folders of skills that a client names while a server runs; sessions of it see them, too."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ferrule_hookspecs.plugins import PluginContext, Runtime

_roots: WeakKeyDictionary[Runtime, tuple[Path, ...]] = WeakKeyDictionary()


def extra_roots(context: PluginContext) -> Sequence[Path]:
    """The folders of the running kernel."""
    return () if context.runtime is None else _roots.get(context.runtime, ())


def set_extra_roots(runtime: Runtime, roots: Sequence[Path]) -> None:
    """Replace the folders."""
    _roots[runtime] = tuple(roots)
