"""What a session is made of; built by the thread manager, read by everything inside a session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from ferrule.approvals import ApprovalMemory
from ferrule.metering import metered
from ferrule.permissions import Grants
from ferrule.policy import policy_mode
from ferrule.tool_offer import ToolOffer
from ferrule_hookspecs.tools import TurnInfo

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from ferrule.budgets import Budgets
    from ferrule.dispatcher import Dispatcher
    from ferrule.family import Family
    from ferrule.kept_values import KeptValues
    from ferrule.processes import ProcessOwner
    from ferrule.recipes import RecipeBook
    from ferrule.recorder import Recorder
    from ferrule.reloading import Reloading
    from ferrule.way_out import WayOut
    from ferrule_hookspecs.events import ServerRequest
    from ferrule_hookspecs.models import ModelInfo
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxPolicy
    from ferrule_hookspecs.provider import ModelProvider
    from ferrule_hookspecs.review import Reviewer
    from ferrule_hookspecs.sandbox import ResolvedPolicy, SandboxBackend
    from ferrule_hookspecs.slots import Compactor
    from ferrule_hookspecs.tools import Tool
    from ferrule_hookspecs.workspace_view import WorkspaceView


@dataclass(slots=True)
class Settings:
    """What sticks to a thread and may change from turn to turn."""

    model: str
    cwd: str
    approval_policy: ApprovalPolicy
    sandbox_policy: SandboxPolicy
    reviewer: str = "user"
    service_tier: str | None = None
    extra_roots: tuple[str, ...] = ()
    reasoning_effort: str | None = None
    reasoning_summary: str | None = None
    verbosity: str | None = None
    context_window: int | None = None
    auto_compact_limit: int | None = None
    output_token_limit: int = 10_000
    model_info: ModelInfo | None = None

    @property
    def network_rules(self) -> tuple[str, ...]:
        """Rules of the managed network that the permission profile brings along."""
        policy = self.sandbox_policy
        return (
            tuple(policy.get("networkRules", ())) if policy["type"] == "permissionProfile" else ()
        )


@dataclass(slots=True)
class SessionParts:
    """The plugins and values one session works with.

    `reviewer`, `review_provider`, `backend` and `unconfined` load their driver on first call, so
    that a session that needs none pays for none.
    """

    context: PluginContext
    settings: Settings
    hooks: Dispatcher
    provider: ModelProvider
    tools: Mapping[str, Tool]
    reviewer: Callable[[str], Reviewer]
    resolve_reviewer: Callable[[str], str]
    review_provider: Callable[[str], ModelProvider]
    backend: Callable[[ResolvedPolicy], SandboxBackend]
    unconfined: Callable[[], SandboxBackend]
    compactor: Callable[[], Compactor] | None
    owner: ProcessOwner
    close_plugins: Callable[[], Awaitable[None]]
    recorder: Recorder
    recipes: RecipeBook
    budgets: Budgets
    kept: KeptValues
    ask_client: Callable[[ServerRequest], Awaitable[Mapping[str, object]]] | None = None
    memory: ApprovalMemory = field(default_factory=ApprovalMemory)
    grants: Grants = field(default_factory=Grants)
    parent_thread_id: str | None = None
    parent: SessionParts | None = None
    family: Family | None = None
    allowed: Mapping[str, Sequence[str]] = field(default_factory=dict[str, "Sequence[str]"])
    provider_name: str = ""
    policy_plugin: str = ""
    instruction_sources: Sequence[str] = ()
    wants_diff: bool = False
    way_out: WayOut | None = None
    view: WorkspaceView | None = None
    call_began: anyio.Event = field(default_factory=anyio.Event)
    reloading: Reloading | None = None
    offer: ToolOffer = field(init=False)

    def __post_init__(self) -> None:
        """Make what asks the parts themselves."""
        self.offer = ToolOffer(self)
        self.review_provider = metered(self, self.review_provider)

    def offered_tools(self) -> Mapping[str, Tool]:
        """The tools that the model in use may call."""
        info = self.settings.model_info
        disabled = () if info is None else info.disabled_tools
        return {
            name: tool
            for name, tool in self.tools.items()
            if name not in disabled
            and not tool.internal
            and (self.ask_client is not None or not tool.needs_client)
        }

    def find_reviewer(self, name: str) -> Reviewer:
        """Return a reviewer by its name, the thread's without one."""
        if self.parent is not None and not name:
            name = self.parent.reviewer_name
        return self.reviewer(name or self.settings.reviewer)

    @property
    def reviewer_name(self) -> str:
        """Who reviews the calls of the session, and of those that work for it."""
        if self.parent is not None:
            return self.parent.reviewer_name
        return self.settings.reviewer if self.family is None else self.family.facts.reviewer

    @property
    def home(self) -> Path:
        """`$FERRULE_HOME`."""
        return self.context.home

    def turn_info(self, turn_id: str) -> TurnInfo:
        """Describe a turn to plugins."""
        return TurnInfo(
            self.context.thread_id,
            turn_id,
            self.settings.cwd,
            self.settings.model,
            self.parent_thread_id,
            approval_policy=self.settings.approval_policy,
            sandbox_mode=policy_mode(self.settings.sandbox_policy),
        )
