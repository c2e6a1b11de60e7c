"""What several votes come to. Pure: nothing here waits, asks or reads.

Laws, tested by property in tests/test_algebra.py:

- Deny dominates: under `all_of` and `veto` one refusal refuses.
- Narrowing: one more member under `all_of` never widens, neither what is allowed nor for how long.
- Order: except in a chain the order of votes never matters.
- Threshold: `any_of` is `k_of_n` with k = 1, and `all_of` allows what it does with k = n.
- Nothing is allowed without a vote that allows it.
- Settled means settled: where `is_settled` holds, no further votes change whether it is allowed, or
  the scope of what is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Mode = Literal["chain", "all_of", "any_of", "k_of_n", "veto"]
Stance = Literal["accept", "decline", "cancel", "escalate", "unknown"]


class Vote(NamedTuple):
    """A member's word, and what all words come to.

    Attributes:
        stance: accept; decline; cancel refuses and ends the turn; escalate leaves it to somebody
            else; unknown is a member that failed and for whom a person shall speak.
        for_session: With accept: the very same call need not be asked about again.
        amendment: With accept: the offered change of policy that was accepted too.
    """

    stance: Stance
    for_session: bool = False
    amendment: tuple[str, ...] | None = None

    @property
    def refuses(self) -> bool:
        """Whether the call must not run."""
        return self.stance in ("decline", "cancel")

    @property
    def is_open(self) -> bool:
        """Whether somebody else has to decide."""
        return self.stance in ("escalate", "unknown")


DECLINE: Final = Vote("decline")
_ACCEPT: Final = Vote("accept")


def combine(mode: Mode, votes: Sequence[Vote], k: int = 1) -> Vote:
    """Say what votes come to; none at all refuse."""
    if not votes:
        return DECLINE
    if mode == "chain":
        return next((vote for vote in votes if vote.stance != "escalate"), Vote("escalate"))
    if mode == "all_of":
        return _refusal(votes) or _opening(votes) or _agreed(votes) or DECLINE
    if mode == "veto":
        return _refusal(votes) or _unheard(votes) or _agreed(votes) or Vote("escalate")
    return _threshold(votes, 1 if mode == "any_of" else k)


def is_settled(mode: Mode, votes: Sequence[Vote], pending: int, k: int = 1) -> bool:
    """Tell whether the members that have not answered yet cannot change the answer.

    Combining is monotone, so it suffices to try the two ends. A refusal may still become a cancel.
    """
    if not pending:
        return True
    if mode == "chain":
        return bool(votes) and votes[-1].stance != "escalate"
    lowest = combine(mode, [*votes, *[DECLINE] * pending], k)
    highest = combine(mode, [*votes, *[_ACCEPT] * pending], k)
    if lowest.refuses and highest.refuses:
        return True
    return lowest == highest == _ACCEPT


def _threshold(votes: Sequence[Vote], k: int) -> Vote:
    accepting = [vote for vote in votes if vote.stance == "accept"]
    still_open = [vote for vote in votes if vote.is_open]
    if len(accepting) >= k:
        return _agreed(accepting) or DECLINE
    if len(accepting) + len(still_open) >= k:
        return _opening(votes) or DECLINE
    return _refusal(votes) or DECLINE


def _refusal(votes: Sequence[Vote]) -> Vote | None:
    """The strictest refusal, if anybody refuses."""
    stances = {vote.stance for vote in votes if vote.refuses}
    return Vote("cancel" if "cancel" in stances else "decline") if stances else None


def _unheard(votes: Sequence[Vote]) -> Vote | None:
    return Vote("unknown") if any(vote.stance == "unknown" for vote in votes) else None


def _opening(votes: Sequence[Vote]) -> Vote | None:
    """Who else has to decide, if anybody leaves it open; a person before anybody else."""
    is_open = any(vote.is_open for vote in votes)
    return _unheard(votes) or (Vote("escalate") if is_open else None)


def _agreed(votes: Sequence[Vote]) -> Vote | None:
    """What those who accept agree on, if anybody does."""
    accepting = [vote for vote in votes if vote.stance == "accept"]
    if not accepting:
        return None
    amendments = {vote.amendment for vote in accepting}
    return Vote(
        "accept",
        all(vote.for_session for vote in accepting),
        amendments.pop() if len(amendments) == 1 else None,
    )
