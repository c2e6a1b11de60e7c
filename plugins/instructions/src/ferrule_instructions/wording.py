"""What the model reads of files of instructions: all of them at first, changes later."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_instructions.document import Document


def whole_text(cwd: str, documents: Sequence[Document]) -> str:
    """Frame the files as models know them."""
    own = [_text(each).strip() for each in documents if each.is_own]
    project = "\n\n".join(_text(each) for each in documents if not each.is_own)
    parts = [*own, *([project] if project else [])]
    body = "\n\n--- project-doc ---\n\n".join(parts)
    return f"# AGENTS.md instructions for {cwd}\n\n<INSTRUCTIONS>\n{body}\n</INSTRUCTIONS>"


def state_of(documents: Sequence[Document]) -> str:
    """Say how the files are, to be compared later; empty where there are none."""
    state = {each.path: _digest(each) for each in documents}
    return json.dumps(state, separators=(",", ":")) if state else ""


def change_text(told: str, documents: Sequence[Document]) -> str:
    """Say what differs from what the model was told."""
    before = cast("Mapping[str, str]", json.loads(told)) if told else {}
    parts = ["# AGENTS.md instructions that changed"]
    for document in documents:
        if before.get(document.path) != _digest(document):
            was = "says now, in place of what it said" if document.path in before else "is new"
            parts.append(
                f"{document.path} {was}:\n<INSTRUCTIONS>\n{_text(document)}\n</INSTRUCTIONS>"
            )
    there = {document.path for document in documents}
    parts += [f"{path} does not hold any more." for path in before if path not in there]
    return "\n\n".join(parts)


def _text(document: Document) -> str:
    """The text, with a visible mark where it was cut."""
    left_out = document.size - document.kept
    if left_out <= 0:
        return document.text
    mark = (
        f"[Cut here: {left_out} of {document.size} bytes of {document.path} are left out, because"
        " project_doc_max_bytes is used up. Read the file itself for the rest.]"
    )
    return f"{document.text}\n{mark}" if document.text else mark


def _digest(document: Document) -> str:
    from hashlib import blake2b

    return blake2b(_text(document).encode(errors="replace"), digest_size=8).hexdigest()
