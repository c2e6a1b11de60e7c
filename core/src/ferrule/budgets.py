"""Budgets of a turn, a thread and a tree of threads, kept by the kernel.

What a thread spends counts towards its turn, itself and its tree, and so on up: a subagent's
spending counts towards the running turn and the tree of every thread above it. Asked before each
request and told after each response; where a budget is used up, every turn it bounds is cut.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast
from weakref import WeakSet

import anyio

from ferrule.budget_account import (
    NOTHING,
    Account,
    BudgetExceededError,
    Clock,
    Limits,
    Used,
)
from ferrule.transcript import spent_so_far
from ferrule.usage import nothing_spent, price_usd, tell_usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

    from ferrule.recorder import Recorder
    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.models import ModelPrices
    from ferrule_hookspecs.ops import TurnBudget
    from ferrule_hookspecs.store import RolloutRecord
    from ferrule_hookspecs.threads import TokenUsage

_BESIDE = "usage_beside"


class Budgets:
    """The budgets of one session.

    Attributes:
        turn_spent: What the responses of the running turn, or the last one, came to.
        thread_spent: The same of the whole thread.
    """

    def __init__(
        self,
        recorder: Recorder,
        config: Mapping[str, object],
        records: Sequence[RolloutRecord] = (),
        parent: Budgets | None = None,
    ) -> None:
        """Take up what the stored records of the thread say was spent."""
        limits = _limits(config)
        self.turn_spent = nothing_spent()
        self.thread_spent = spent_so_far(records)
        self._beside, self._below = _stored_beside(records)
        own = Used(self.thread_spent.tokens["totalTokens"], self.thread_spent.usd, _count(records))
        own = own.plus(self._beside)
        seconds = _seconds(records)
        self._turn_limits = limits["turn"]
        self._turn: Account | None = None
        self._thread = Account("thread", limits["thread"], own, Clock(seconds))
        self._tree = Account("tree", limits["tree"], own.plus(self._below), Clock(seconds))
        self._recorder = recorder
        self._scope: anyio.CancelScope | None = None
        self._why = ""
        self._children: WeakSet[Budgets] = WeakSet()
        self._parent = parent
        if parent is not None:
            parent._children.add(self)

    @asynccontextmanager
    async def turn(self, parts: SessionParts, asked: TurnBudget | None) -> AsyncGenerator[None]:
        """Run a turn within its budgets; it is cut where one is used up meanwhile.

        Raises:
            BudgetExceededError: One is used up, or cannot be kept.
        """
        self.turn_spent = nothing_spent()
        self._turn = Account("turn", self._turn_limits.narrowed(_asked(asked)))
        accounts = list(self._accounts())
        for account in accounts:
            account.clock.start()
        try:
            self._refuse_unpriced(parts)
            self.check()
            nearest = min(accounts, key=lambda account: account.remaining_s)
            scope = anyio.CancelScope(deadline=anyio.current_time() + nearest.remaining_s)
            async with anyio.create_task_group() as group:
                group.start_soon(self._warn_of_time, accounts)
                with scope:
                    self._scope = scope
                    yield
                group.cancel_scope.cancel()
            if scope.cancelled_caught:
                why = self._why or str(self._excess() or nearest.out_of_time())
                self._cut(None, why)
                raise BudgetExceededError(why)
        finally:
            for account in accounts:
                account.clock.stop()
            self._turn = self._scope = None
            self._why = ""

    def check(self) -> None:
        """Refuse a request where a budget is used up.

        Raises:
            BudgetExceededError: One is.
        """
        if (error := self._excess()) is not None:
            raise error

    def count(self, parts: SessionParts, usage: TokenUsage, *, has_open_calls: bool) -> None:
        """Count a response of the turn, and tell clients; its open calls end with the budget."""
        prices = parts.settings.model_info.prices if parts.settings.model_info else None
        self.turn_spent = self.turn_spent.plus(usage, prices)
        self.thread_spent = self.thread_spent.plus(usage, prices)
        tell_usage(parts, usage, self.turn_spent, self.thread_spent)
        self._spend(_used(usage, prices), has_open_calls=has_open_calls)

    def count_beside(self, usage: TokenUsage | None, prices: ModelPrices | None) -> None:
        """Count a response that is none of the turn's own, such as a review's or a compaction's."""
        used = Used(0, None, 1) if usage is None else _used(usage, prices)
        self._beside = self._beside.plus(used)
        self._record_beside()
        self._spend(used, has_open_calls=False)

    def _accounts(self) -> Iterator[Account]:
        """Yield the budgets that this thread spends from, the nearest first."""
        yield from (() if self._turn is None else (self._turn,))
        yield self._thread
        yield self._tree
        above = self._parent
        while above is not None:
            yield from (() if above._turn is None else (above._turn,))
            yield above._tree
            above = above._parent

    def _excess(self) -> Exception | None:
        found = (account.excess() for account in self._accounts())
        return next((error for error in found if error is not None), None)

    def _refuse_unpriced(self, parts: SessionParts) -> None:
        info = parts.settings.model_info
        if info is not None and info.prices is not None:
            return
        for account in self._accounts():
            if (error := account.unpriced(parts.settings.model)) is not None:
                raise error

    def _spend(self, used: Used, *, has_open_calls: bool) -> None:
        spare = None if has_open_calls else self
        self._take([*self._own(), self._thread], used, spare)
        above = self._parent
        while above is not None:
            above._below = above._below.plus(used)
            above._record_beside()
            above._take(above._own(), used, spare)
            above = above._parent

    def _own(self) -> list[Account]:
        """What subagents spend from, too."""
        return [self._tree] if self._turn is None else [self._turn, self._tree]

    def _take(self, accounts: list[Account], used: Used, spare: Budgets | None) -> None:
        """Count towards these; `spare` has nothing to cut and stops by itself."""
        for account in accounts:
            account.add(used)
            for warning in account.warnings():
                self._recorder.warning(warning)
            if (error := account.excess()) is not None:
                self._cut(spare, str(error))

    def _cut(self, spare: Budgets | None, why: str) -> None:
        """End the turns of this thread and of all below it, which say why when it is over."""
        if self is not spare and self._scope is not None:
            self._why = self._why or why
            self._scope.cancel()
        for child in self._children:
            child._cut(spare, why)

    async def _warn_of_time(self, accounts: Sequence[Account]) -> None:
        while (delay := min(account.warning_in_s for account in accounts)) < float("inf"):
            await anyio.sleep(max(delay, 0.01))
            for account in accounts:
                for warning in account.warnings():
                    self._recorder.warning(warning)

    def _record_beside(self) -> None:
        """Store what no response of the thread's own turns tells, in all, for who resumes it."""
        self._recorder.record(
            "event_msg",
            {"type": _BESIDE, "thread": self._beside._asdict(), "below": self._below._asdict()},
        )


def _limits(config: Mapping[str, object]) -> dict[str, Limits]:
    table = cast("Mapping[str, Mapping[str, object]]", config.get("budgets") or {})
    return {scope: Limits.read(table.get(scope, {})) for scope in ("turn", "thread", "tree")}


def _asked(budget: TurnBudget | None) -> Limits:
    given = budget or {}
    return Limits(
        given.get("tokens"), given.get("costUsd"), given.get("seconds"), given.get("requests")
    )


def _used(usage: TokenUsage, prices: ModelPrices | None) -> Used:
    usd = None if prices is None else price_usd(usage, prices)
    return Used(usage["totalTokens"], usd, 1)


def _count(records: Sequence[RolloutRecord]) -> int:
    """Count the responses; what only says how long a shortened history is, is none."""
    usages = (
        cast("Mapping[str, object]", record["payload"]["response"])
        for record in records
        if record["type"] == "token_usage_record" and "response" in record["payload"]
    )
    return sum(
        not usage.get("totalTokens") or any(map(usage.get, ("inputTokens", "outputTokens")))
        for usage in usages
    )


def _seconds(records: Sequence[RolloutRecord]) -> float:
    ends = (
        record["payload"].get("duration_ms")
        for record in records
        if record["payload"].get("type") in ("task_complete", "turn_aborted")
    )
    return sum(each for each in ends if isinstance(each, int | float)) / 1000


def _stored_beside(records: Sequence[RolloutRecord]) -> tuple[Used, Used]:
    for record in reversed(records):
        if record["payload"].get("type") == _BESIDE:
            found = cast("Mapping[str, Mapping[str, int]]", record["payload"])
            return Used(**found["thread"]), Used(**found["below"])
    return NOTHING, NOTHING
