"""Codex's model history made fit to be sent by a Ferrule session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ferrule_import_codex.item_forms import tables, text
from ferrule_import_codex.tables import Table, as_table

if TYPE_CHECKING:
    from collections.abc import Mapping

_PRIVATE: Final = "internal_chat_message_metadata_passthrough"
_NEVER_SENT: Final = frozenset({"additional_tools", "ghost_snapshot", "other"})
_SEALED: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})
_CONTEXT: Final = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")
_WORDS_KEPT: Final = 80_000

_STAND_IN: Final = """\
You are a coding agent. You work together with the user in one workspace, with the tools that this \
session offers. Read before you change, keep changes small, check them, and say what you did."""
CONTINUED: Final = """\
This conversation began in Codex and continues in Ferrule. Only the tools that are offered now can \
be called; earlier calls may name others."""


def message(role: str, words: str) -> Table:
    """Build a message of one text."""
    content = [{"type": "input_text", "text": words}]
    return {"type": "message", "role": role, "content": content}


def user_words(item: Mapping[str, object]) -> str:
    """Return what the user said in a message; nothing for context that Codex wrote itself."""
    words = "\n".join(text(part.get("text")) for part in tables(item.get("content")))
    return "" if words.startswith(_CONTEXT) else words


@dataclass(slots=True)
class ModelItems:
    """Judges the items of one thread.

    Attributes:
        keeps_sealed: Whether the provider that goes on can read what the former one encrypted.
        base: The message a history begins with.
        said: The user's last messages, for compactions that only hold a summary.
        has_left_out: Whether items were left out because nobody else can read them.
    """

    keeps_sealed: bool
    base: Table = field(default_factory=lambda: message("developer", _STAND_IN))
    said: list[str] = field(default_factory=list[str])
    has_left_out: bool = False

    def take_meta(self, meta: Mapping[str, object]) -> None:
        """Remember the base prompt."""
        given = meta.get("base_instructions")
        if words := text((as_table(given) or {}).get("text")) or text(given):
            self.base = message("developer", words)

    def item(self, payload: Mapping[str, object]) -> Table | None:
        """Return an item as it can be sent; None where it cannot."""
        type_ = payload.get("type")
        if not isinstance(type_, str) or type_ in _NEVER_SENT:
            return None
        made = {key: value for key, value in payload.items() if key != _PRIVATE}
        if made.get("id") is None:
            made.pop("id", None)
        if not self.keeps_sealed:
            if type_ in _SEALED or type_ == "reasoning":
                self.has_left_out = True
                return None
            made.pop("id", None)  # it would ask for the reasoning that stood before it
        if type_.endswith("_output") and (output := as_table(made.get("output"))) is not None:
            made["output"] = text(output.get("content"))
        self._hear(made)
        return made

    def compacted(self, payload: Mapping[str, object]) -> list[Table] | None:
        """Return the history that a compaction leaves; None leaves it uncompacted."""
        replacement = payload.get("replacement_history")
        if not isinstance(replacement, list):
            said = [message("user", words) for words in self.said]
            return [self.base, *said, message("user", text(payload.get("message")))]
        items = tables(payload["replacement_history"])
        if not self.keeps_sealed and any(item.get("type") in _SEALED for item in items):
            self.has_left_out = True
            return None
        self.said.clear()
        return [self.base, *(made for item in items if (made := self.item(item)) is not None)]

    def _hear(self, item: Table) -> None:
        if item.get("type") != "message" or item.get("role") != "user":
            return
        words = user_words(item)
        if not words:
            return
        self.said.append(words)
        while len(self.said) > 1 and sum(map(len, self.said)) > _WORDS_KEPT:
            del self.said[0]
