"""Brings threads over: each is streamed into the thread store, whole or not at all."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, Protocol

from ferrule_hookspecs.errors import FerruleError
from ferrule_import_codex.conversion import Conversion
from ferrule_import_codex.library import Library, SourceRollout
from ferrule_import_codex.model_items import ModelItems
from ferrule_import_codex.report import Finding, Status
from ferrule_import_codex.rollout_lines import Damage
from ferrule_import_codex.source import CodexHome, UnreadableError
from ferrule_import_codex.tables import as_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_hookspecs.store import RolloutRecord, ThreadStore

_AUTH_LIMIT: Final = 1 << 20


class StoppedError(Exception):
    """The import was told to stop; the thread on its way is not stored."""


class Progress(Protocol):
    """Is told how far the import has come, and tells whether it shall go on."""

    @property
    def is_stopped(self) -> bool:
        """Whether somebody asked for an end."""
        ...

    def __call__(self, done: int, total: int) -> None:
        """Take the counts."""
        ...


@dataclass(frozen=True, slots=True)
class SessionImport:
    """Brings the threads of a Codex home over.

    Attributes:
        source: The Codex home.
        provider: The model provider that goes on serving; empty when it changes.
        limit: Only so many, the last begun first.
        since: Only those begun at that Unix time or later.
        dry_run: Read everything, store nothing.
    """

    source: CodexHome
    provider: str
    limit: int | None = None
    since: float | None = None
    dry_run: bool = False

    def run(self, store: ThreadStore, progress: Progress) -> Iterator[Finding]:
        """Bring them over, one per step.

        Raises:
            StoppedError: `progress` asked for an end.
        """
        library = Library.read(self.source)
        yield from library.findings
        chosen = library.newest_first()
        if self.since is not None:
            chosen = [rollout for rollout in chosen if rollout.created_at >= self.since]
        chosen = chosen[: self.limit]
        if len(chosen) < len(library.rollouts):
            older = len(library.rollouts) - len(chosen)
            yield Finding(
                "sessions", f"{older} threads", "left", "not asked for (--limit, --since)"
            )
        has_login = uses_chatgpt(self.source)
        for done, rollout in enumerate(chosen):
            progress(done, len(chosen))
            yield self._thread(_Thread(library, rollout, has_login, progress), store)
        progress(len(chosen), len(chosen))

    def _thread(self, thread: _Thread, store: ThreadStore) -> Finding:
        rollout = thread.rollout
        records = thread.records(self.provider)
        try:
            if self.dry_run:
                is_new = store.find(rollout.thread_id) is None
                if is_new:
                    for _ in records:
                        pass
            else:
                is_new = store.add(
                    rollout.thread_id,
                    records,
                    created_at=rollout.created_at,
                    archived=rollout.archived,
                )
        except (FerruleError, OSError, ValueError, RecursionError) as error:
            note = f"{rollout.entry.name}: {error}"
            return Finding("sessions", rollout.thread_id, "failed", note)
        if not is_new:
            return Finding("sessions", rollout.thread_id, "present")
        status, note = thread.outcome()
        return Finding("sessions", rollout.thread_id, status, note)


@dataclass(slots=True)
class _Thread:
    """One thread on its way."""

    library: Library
    rollout: SourceRollout
    has_login: bool
    progress: Progress
    damage: Damage = field(default_factory=Damage)
    conversion: Conversion | None = None

    def records(self, provider: str) -> Iterator[RolloutRecord]:
        """Yield its records, once."""
        lines = self.library.lines(self.rollout, self.damage)
        first = next(lines, None)
        if first is None:
            raise UnreadableError("is empty by now")
        was = first.payload.get("model_provider")
        # What OpenAI encrypts for a ChatGPT account opens with no API key.
        keeps_sealed = was == provider and not (was == "openai" and self.has_login)
        rollout = self.rollout
        self.conversion = Conversion(
            rollout.thread_id,
            rollout.entry.name,
            ModelItems(keeps_sealed),
            self.library.names.get(rollout.thread_id),
            rollout.cwd,
        )
        for record in self.conversion.records(chain((first,), lines)):
            if self.progress.is_stopped:
                raise StoppedError
            yield record

    def outcome(self) -> tuple[Status, str]:
        """Tell what a user should know about it."""
        notes: list[str] = []
        status: Status = "taken"
        if missing := self.library.missing_ancestor(self.rollout):
            status = "damaged"
            notes.append(f"its beginning is missing: the thread {missing} is not there")
        if self.damage.count:
            status = "damaged"
            lines = ", ".join(f"{self.rollout.entry.name}:{n}" for n in self.damage.numbers)
            notes.append(f"{self.damage.count} lines hold no record: {lines}")
        conversion = self.conversion
        if conversion is not None and conversion.items.has_left_out:
            status = "changed" if status == "taken" else status
            notes.append(
                "encrypted reasoning left out: only the provider and account that wrote it can"
                " read it"
            )
        if conversion is not None and conversion.unknown_items:
            status = "changed" if status == "taken" else status
            notes.append(f"not shown: {', '.join(sorted(conversion.unknown_items))}")
        return status, "; ".join(notes)


def uses_chatgpt(source: CodexHome) -> bool:
    """Whether Codex was logged in with an account rather than an API key."""
    try:
        auth = as_table(json.loads(source.read("auth.json", limit=_AUTH_LIMIT))) or {}
    except (UnreadableError, ValueError, RecursionError):
        return False
    return as_table(auth.get("tokens")) is not None or auth.get("auth_mode") == "chatgpt"
