"""The hook of the contract: what package managers and build tools need, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.recipes import Recipe


@hookimpl
def ferrule_recipes(context: PluginContext) -> Sequence[Recipe]:
    """Offer every recipe."""
    from ferrule_recipes.recipes import RECIPES

    return RECIPES
