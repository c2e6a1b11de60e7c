"""The remaining slot protocols, and the table of all slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.provider import ModelProvider, ModelRequest

HOOK_GROUP: Final = "ferrule.plugins"
TOOL_GROUP: Final = "ferrule.tools"
COMMAND_GROUP: Final = "ferrule.commands"
SANDBOX_COMMAND_GROUP: Final = "ferrule.sandbox_commands"
"""Words of `ferrule sandbox`: each a `RawCommand`, as in `ferrule.commands`."""
SLOT_GROUPS: Final[tuple[str, ...]] = (
    "ferrule.sandboxes",
    "ferrule.reviewers",
    "ferrule.transports",
    "ferrule.servers",
    "ferrule.providers",
    "ferrule.stores",
    "ferrule.compactors",
    "ferrule.engines",
)
ALL_GROUPS: Final[tuple[str, ...]] = (
    *(HOOK_GROUP, TOOL_GROUP, COMMAND_GROUP, SANDBOX_COMMAND_GROUP),
    *SLOT_GROUPS,
)


class CompactionResult(NamedTuple):
    """A shorter history that stands for the old one, and the summary's text."""

    history: Sequence[HistoryItem]
    summary: str


class Compactor(Protocol):
    """Shortens a history. Slot `ferrule.compactors`; constructed with a `PluginContext`."""

    name: str

    async def compact(
        self,
        request: ModelRequest,
        provider: ModelProvider,
        *,
        reason: Literal["manual", "auto", "overflow"],
    ) -> CompactionResult:
        """Shorten the request's input; raises `FerruleError` rather than lose what matters."""
        ...


class Engine(Protocol):
    """Runs many threads on an existing distributed engine. Slot `ferrule.engines`."""

    name: str

    async def submit(self, job: Mapping[str, object]) -> str:
        """Queue a run durably; returns its id."""
        ...

    async def result(self, job_id: str) -> Mapping[str, object]:
        """Await the durable result of a run."""
        ...
