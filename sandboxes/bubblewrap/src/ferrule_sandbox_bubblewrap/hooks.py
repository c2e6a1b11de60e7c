"""The hooks of the bubblewrap sandbox: what `ferrule doctor` asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.hooks import Check
    from ferrule_hookspecs.plugins import PluginContext


@hookimpl
def ferrule_checks(context: PluginContext) -> Sequence[Check]:
    """Look at bubblewrap and at what Linux allows it."""
    from ferrule_sandbox_bubblewrap.checks import checks

    return checks(context)
