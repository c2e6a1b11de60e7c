"""The hooks of the file tools: what `ferrule doctor` asks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.hooks import Check
    from ferrule_hookspecs.plugins import PluginContext


@hookimpl
def ferrule_checks(context: PluginContext) -> Sequence[Check]:
    """Look for the program that searches."""
    from ferrule_files.checks import checks

    return checks(context)
