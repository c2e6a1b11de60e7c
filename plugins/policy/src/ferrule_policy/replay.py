"""Makes decisions of the past again under one policy; nothing runs and nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.tools import TurnInfo
from ferrule_policy.action import approval_policy
from ferrule_policy.redecision import Redecision, Stand, redecided

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ferrule_hookspecs.host import Config, Host, Kernel
    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxMode
    from ferrule_policy.action import Action

_LASTING: Final = frozenset({"user", "managed"})


class Policy(NamedTuple):
    """A policy to decide under.

    Attributes:
        host: The command, with the policy's folder as its home.
        is_given: Whether the folder was named. What it says of approvals and the sandbox then beats
            what held at the time.
    """

    host: Host
    is_given: bool

    @property
    def name(self) -> str:
        """The folder."""
        return str(self.host.home)


@dataclass(slots=True)
class Outcome:
    """The decisions under one policy, in the order of the actions.

    Attributes:
        decisions: What would be decided; None where it cannot be told.
        faults: Why it cannot be told, by folder.
        notices: What plugins said the user should know.
        left_out: Plugins that cannot be asked about calls of the past.
    """

    decisions: list[Redecision | None]
    faults: dict[str, str] = field(default_factory=dict[str, str])
    notices: list[str] = field(default_factory=list[str])
    left_out: set[str] = field(default_factory=set[str])


def policy_at(host: Host, folder: Path | None, option: str) -> Policy:
    """Take a folder as a policy, the present home without one.

    Raises:
        FerruleError: There is no policy in it.
    """
    if folder is None:
        return Policy(host, is_given=False)
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise FerruleError(f"{option}: {folder} is no folder; name one with config.toml or rules/")
    if not (folder / "config.toml").is_file() and not (folder / "rules").is_dir():
        raise FerruleError(f"{option}: {folder} holds neither config.toml nor rules/")
    return Policy(host.at(folder), is_given=True)


def replayed(policy: Policy, actions: Sequence[Action]) -> Outcome:
    """Decide about every action."""

    async def main(kernel: Kernel) -> Outcome:
        return await _Replay(kernel, policy, actions).run()

    return policy.host.run(main)


class _Replay:
    """One pass over the actions, folder by folder: each has its own configuration."""

    def __init__(self, kernel: Kernel, policy: Policy, actions: Sequence[Action]) -> None:
        self._kernel = kernel
        self._policy = policy
        self._actions = actions
        self._outcome = Outcome([None] * len(actions))

    async def run(self) -> Outcome:
        by_folder: dict[str, list[int]] = {}
        for number, action in enumerate(self._actions):
            by_folder.setdefault(action.cwd or "/", []).append(number)
        for cwd, numbers in by_folder.items():
            await self._folder(cwd, numbers)
        return self._outcome

    async def _folder(self, cwd: str, numbers: Sequence[int]) -> None:
        try:
            config = self._kernel.config(ConfigRequest(cwd))
        except FerruleError as error:
            self._outcome.faults[cwd] = str(error)
            return
        stand = _stand_of(config)
        for number in numbers:
            action = self._actions[number]
            self._outcome.decisions[number] = await self._decide(config, stand, action, cwd)

    async def _decide(
        self, config: Config, stand: Stand, action: Action, cwd: str
    ) -> Redecision | None:
        stand = self._at_the_time(config, stand, action)
        turn = TurnInfo(
            action.thread_id,
            action.turn_id,
            cwd,
            action.model,
            approval_policy=stand.approval,
            sandbox_mode=stand.sandbox,
        )
        found = await self._kernel.assess(config, action.call, turn)
        self._outcome.left_out.update(found.left_out)
        self._outcome.notices += found.notices
        return redecided(action, found, stand, self._kernel.rule)

    def _at_the_time(self, config: Config, stand: Stand, action: Action) -> Stand:
        """What held in the turn, unless the folder that was named says otherwise."""
        if action.approval is not None and not self._says(config, "approval_policy"):
            stand = stand._replace(approval=action.approval)
        if action.sandbox is not None and not self._says(config, "sandbox_mode"):
            stand = stand._replace(sandbox=action.sandbox)
        return stand

    def _says(self, config: Config, key: str) -> bool:
        return self._policy.is_given and config.origin(key).layer in _LASTING


def _stand_of(config: Config) -> Stand:
    approval: ApprovalPolicy = approval_policy(config.get("approval_policy")) or "on-request"
    return Stand(
        approval,
        cast("SandboxMode", config.get("sandbox_mode")),
        str(config.get("policy_plugin")),
        config.allowed.get("sandbox_mode"),
    )
