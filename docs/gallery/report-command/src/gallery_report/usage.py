"""What threads used, read from their rollouts: the records that the store keeps of each thread."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final, NamedTuple, cast

from ferrule_hookspecs.store import ThreadFilter, ThreadStore, ThreadSummary

_PAGE: Final = 100


class Row(NamedTuple):
    """What was used on a day of a model; `usd` is None where a price was not known."""

    day: str
    model: str
    requests: int
    input: int
    cached: int
    output: int
    usd: float | None

    def plus(self, other: "Row") -> "Row":
        """Add the numbers of another row; what nobody knows stays unknown."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return self._replace(
            requests=self.requests + other.requests,
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
            usd=usd,
        )


def read_rows(store: ThreadStore) -> Iterator[Row]:
    """Yield a row for every response of every thread.

    A fork begins with a copy of another thread's turns, so each turn counts where it is older.
    """
    known: set[str] = set()
    for thread in sorted(_threads(store), key=lambda each: each.created_at):
        turns: set[str] = set()
        for turn, row in _rows(store, thread):
            turns.add(turn)
            if turn not in known:
                yield row
        known |= turns


def _threads(store: ThreadStore) -> Iterator[ThreadSummary]:
    """List all threads, those put away and those of agents among them."""
    for archived in (False, True):
        wanted = ThreadFilter(archived=archived, include_subagents=True, limit=_PAGE)
        for offset in count(0, _PAGE):
            page = store.list(replace(wanted, offset=offset))
            yield from page
            if len(page) < _PAGE:
                break


def _rows(store: ThreadStore, thread: ThreadSummary) -> Iterator[tuple[str, Row]]:
    """Yield a row for every response of one thread, with the id of its turn."""
    model, turn, so_far = thread.model or "", thread.thread_id, 0.0
    for record in store.read(thread.thread_id):
        payload = cast("Mapping[str, Any]", record["payload"])
        if record["type"] == "turn_context":
            model = str(payload.get("model") or model)
        elif payload.get("type") == "task_started":
            turn, so_far = str(payload.get("turn_id")), 0.0
        elif record["type"] == "token_usage_record" and "response" in payload:
            # A record tells what its turn has cost by then; the response cost the difference.
            before, so_far = so_far, (payload.get("cost") or {}).get("turnUsd")
            usd = None if before is None or so_far is None else so_far - before
            used = payload["response"]
            tokens = (used["inputTokens"], used["cachedInputTokens"], used["outputTokens"])
            yield turn, Row(record["timestamp"][:10], model, 1, *tokens, usd)


def sum_up(rows: Iterable[Row]) -> list[Row]:
    """Add the rows of the same day and model; the newest day comes first."""
    sums: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = (row.day, row.model)
        sums[key] = sums[key].plus(row) if key in sums else row
    return sorted(sums.values(), key=lambda row: (row.day, row.model), reverse=True)
