"""The hook by which sessions learn about their model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.models import ModelInfo
    from ferrule_hookspecs.plugins import PluginContext


@hookimpl
async def ferrule_models(context: PluginContext, model: str | None) -> Sequence[ModelInfo]:
    """Tell what the catalogue says about a model, or about all."""
    from ferrule_models.catalogue import read_catalogue

    configured = context.config.get("model_catalog_json")
    return read_catalogue(context.home, configured if isinstance(configured, str) else None, model)
