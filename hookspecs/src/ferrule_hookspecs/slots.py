"""The remaining slot protocols, and the table of all slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.history import HistoryItem, MessageItem
    from ferrule_hookspecs.provider import ModelProvider, ModelRequest

HOOK_GROUP: Final = "ferrule.plugins"
TOOL_GROUP: Final = "ferrule.tools"
COMMAND_GROUP: Final = "ferrule.commands"
SANDBOX_COMMAND_GROUP: Final = "ferrule.sandbox_commands"
"""Words of `ferrule sandbox`: each a `RawCommand`, as in `ferrule.commands`."""
PLUGIN_COMMAND_GROUP: Final = "ferrule.plugin_commands"
"""Words of `ferrule plugins`: each a `RawCommand`, as in `ferrule.commands`."""
SETTINGS_GROUP: Final = "ferrule.settings"
"""What a plugin lets users configure: a pydantic model, under the name of its table in
`plugins.settings`."""
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
    *(HOOK_GROUP, TOOL_GROUP, COMMAND_GROUP, SANDBOX_COMMAND_GROUP, PLUGIN_COMMAND_GROUP),
    SETTINGS_GROUP,
    *SLOT_GROUPS,
)


class CompactionMaterial(NamedTuple):
    """What a compactor builds a shorter history from, beside the request.

    Attributes:
        prefix: How many items at the beginning of the input stand before the conversation. They
            stay: the kernel puts them in front of what it is given, so that what a provider has
            cached of them stays good.
        user_texts: What the user wrote, oldest first and whole, whatever was cut of it before.
        ledger: The message in which the kernel keeps what was done; None where nothing was.
        tokens: How many tokens the input has, as far as it is known or can be estimated.
        window: Tokens of input and output together; None where it is not known.
    """

    prefix: int
    user_texts: Sequence[str]
    ledger: MessageItem | None
    tokens: int
    window: int | None = None


class CompactionResult(NamedTuple):
    """What stands for the history from now on.

    Attributes:
        history: Everything behind the prefix. The ledger belongs in it as it was given; the kernel
            puts it at the beginning where it is left out.
        summary: The text of the summary; never blank.
    """

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
        material: CompactionMaterial,
    ) -> CompactionResult:
        """Shorten the request's input; raises `FerruleError` rather than lose what matters.

        `request` is what the model would be asked next, its tools included: asking with the same
        input and one item more at its end reads from the provider's cache. With the reason
        `overflow` the provider has just refused the input as too long. What `provider` uses is
        counted as the turn's.
        """
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
