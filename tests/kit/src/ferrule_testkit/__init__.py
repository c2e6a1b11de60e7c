"""What plugin authors test with: a suite for each slot, a scripted model, a temporary home.

The suites are loaded on first use; see `docs/testing-plugins.md`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule_testkit.conformance.command import CommandConformance as CommandConformance
    from ferrule_testkit.conformance.compactor import CompactorConformance as CompactorConformance
    from ferrule_testkit.conformance.hooks import HooksConformance as HooksConformance
    from ferrule_testkit.conformance.provider import ProviderConformance as ProviderConformance
    from ferrule_testkit.conformance.reviewer import ReviewerConformance as ReviewerConformance
    from ferrule_testkit.conformance.sandbox import SandboxConformance as SandboxConformance
    from ferrule_testkit.conformance.store import StoreConformance as StoreConformance
    from ferrule_testkit.conformance.tool import ToolConformance as ToolConformance
    from ferrule_testkit.conformance.transport import TransportConformance as TransportConformance

_HOMES = {
    "CommandConformance": "command",
    "CompactorConformance": "compactor",
    "HooksConformance": "hooks",
    "ProviderConformance": "provider",
    "ReviewerConformance": "reviewer",
    "SandboxConformance": "sandbox",
    "StoreConformance": "store",
    "ToolConformance": "tool",
    "TransportConformance": "transport",
}
__all__ = list(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll] -- the names are lazy


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.conformance.{_HOMES[name]}"), name)
