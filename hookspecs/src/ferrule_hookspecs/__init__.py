"""The contract of Ferrule: all that a plugin may import.

Names are loaded on first use, so that a hook module costs no more than what it touches.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule_hookspecs.errors import FerruleError as FerruleError
    from ferrule_hookspecs.errors import ProviderError as ProviderError
    from ferrule_hookspecs.errors import SandboxUnavailableError as SandboxUnavailableError
    from ferrule_hookspecs.errors import ToolArgumentError as ToolArgumentError
    from ferrule_hookspecs.errors import ToolError as ToolError
    from ferrule_hookspecs.hooks import ContextFragment as ContextFragment
    from ferrule_hookspecs.hooks import ContextUpdate as ContextUpdate
    from ferrule_hookspecs.hooks import Continue as Continue
    from ferrule_hookspecs.hooks import Notification as Notification
    from ferrule_hookspecs.hooks import PromptReply as PromptReply
    from ferrule_hookspecs.markers import hookimpl as hookimpl
    from ferrule_hookspecs.plugins import PluginContext as PluginContext
    from ferrule_hookspecs.review import ReviewContext as ReviewContext
    from ferrule_hookspecs.review import ReviewOutcome as ReviewOutcome
    from ferrule_hookspecs.review import ReviewRequest as ReviewRequest
    from ferrule_hookspecs.review import Verdict as Verdict
    from ferrule_hookspecs.sandbox import Capabilities as Capabilities
    from ferrule_hookspecs.sandbox import Command as Command
    from ferrule_hookspecs.sandbox import CommandResult as CommandResult
    from ferrule_hookspecs.sandbox import Denial as Denial
    from ferrule_hookspecs.sandbox import Launch as Launch
    from ferrule_hookspecs.sandbox import ResolvedPolicy as ResolvedPolicy
    from ferrule_hookspecs.tools import Requirement as Requirement
    from ferrule_hookspecs.tools import Tool as Tool
    from ferrule_hookspecs.tools import ToolCall as ToolCall
    from ferrule_hookspecs.tools import ToolContext as ToolContext
    from ferrule_hookspecs.tools import ToolResult as ToolResult

_HOMES = {
    "errors": (
        "FerruleError",
        "ProviderError",
        "SandboxUnavailableError",
        "ToolArgumentError",
        "ToolError",
    ),
    "hooks": ("ContextFragment", "ContextUpdate", "Continue", "Notification", "PromptReply"),
    "markers": ("hookimpl",),
    "plugins": ("PluginContext",),
    "review": ("ReviewContext", "ReviewOutcome", "ReviewRequest", "Verdict"),
    "sandbox": (
        "Capabilities",
        "Command",
        "CommandResult",
        "Denial",
        "Launch",
        "ResolvedPolicy",
    ),
    "tools": ("Requirement", "Tool", "ToolCall", "ToolContext", "ToolResult"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = list(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll] -- the names are lazy


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
