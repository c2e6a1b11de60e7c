"""What was decided, beside what would be: counts, changes and how exact the repetition is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_policy.action import Action
    from ferrule_policy.redecision import Redecision
    from ferrule_policy.replay import Outcome


class Line(NamedTuple):
    """One action.

    Attributes:
        action: The action.
        now: What the policy says.
        other: What the policy it is compared with says.
    """

    action: Action
    now: Redecision | None
    other: Redecision | None = None

    @property
    def was(self) -> str:
        """What it was: of the other policy where there is one, else as it was recorded."""
        if self.other is not None:
            return self.other.decision
        return self.action.recorded.decision or "unknown"

    @property
    def is_changed(self) -> bool:
        """Whether it comes out differently."""
        return self.now is not None and self.was not in ("unknown", self.now.decision)

    @property
    def is_identical(self) -> bool:
        """Whether the decision and every plugin's opinion are those that were recorded."""
        recorded = self.action.recorded
        if self.now is None or recorded.opinions is None:
            return False
        said = {
            plugin: (one.decision, one.reason, one.rule)
            for plugin, one in self.now.verdicts.items()
        }
        stored = {
            plugin: (one["decision"], one["reason"], one["rule"])
            for plugin, one in recorded.opinions.items()
        }
        return said == stored and self.now.decision == recorded.decision


@dataclass(frozen=True, slots=True)
class Comparison:
    """All actions.

    Attributes:
        lines: One for each.
        is_diff: Whether two policies are compared, rather than one with the record.
    """

    lines: Sequence[Line]
    is_diff: bool

    @classmethod
    def of(cls, actions: Sequence[Action], now: Outcome, other: Outcome | None) -> Comparison:
        """Put decisions side by side."""
        others = other.decisions if other else [None] * len(actions)
        lines = [Line(*each) for each in zip(actions, now.decisions, others, strict=True)]
        return cls(lines, other is not None)

    @property
    def changed(self) -> list[Line]:
        """What comes out differently."""
        return [line for line in self.lines if line.is_changed]

    @property
    def before(self) -> Mapping[str, int]:
        """How often which decision was made before."""
        return Counter(line.was for line in self.lines)

    @property
    def after(self) -> Mapping[str, int]:
        """How often which decision would be made now."""
        return Counter(line.now.decision if line.now else "unknown" for line in self.lines)

    @property
    def recorded(self) -> list[Line]:
        """Those whose decision was stored with its facts."""
        return [line for line in self.lines if line.action.recorded.opinions is not None]
