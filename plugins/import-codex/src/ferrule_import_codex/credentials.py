"""Brings a stored API key over where that is asked for; tokens of an account stay behind."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

from ferrule_import_codex.files import write_whole
from ferrule_import_codex.report import Finding
from ferrule_import_codex.source import UnreadableError
from ferrule_import_codex.tables import as_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ferrule_import_codex.source import CodexHome

NAME: Final = "auth.json"
_LIMIT: Final = 1 << 20
_TOKENS: Final = (
    "tokens of an account serve one program only, two would sign each other out: `ferrule login`"
)


def credentials(
    source: CodexHome, target: Path, config: Mapping[str, object], *, dry_run: bool
) -> Iterator[Finding]:
    """Copy the API key of `auth.json`.

    Args:
        source: The Codex home.
        target: `$FERRULE_HOME`.
        config: Its configuration, which says where credentials are kept.
        dry_run: Write nothing.
    """
    if not source.has(NAME):
        return
    try:
        auth = as_table(json.loads(source.read(NAME, limit=_LIMIT))) or {}
    except (UnreadableError, ValueError, RecursionError):
        yield Finding("other", NAME, "left", "it cannot be read")
        return
    key = auth.get("OPENAI_API_KEY")
    if as_table(auth.get("tokens")) is not None or not isinstance(key, str) or not key.strip():
        yield Finding("other", NAME, "left", _TOKENS)
    elif config.get("cli_auth_credentials_store", "file") not in ("file", "auto"):
        note = "credentials are kept elsewhere here: `ferrule login --with-api-key`"
        yield Finding("other", NAME, "left", note)
    else:
        yield _take(key.strip(), target / NAME, dry_run=dry_run)


def _take(key: str, place: Path, *, dry_run: bool) -> Finding:
    if os.path.lexists(place):
        return Finding("other", NAME, "kept", "`ferrule logout` first if Codex's key is wanted")
    if not dry_run:
        text = json.dumps({"auth_mode": "apikey", "OPENAI_API_KEY": key}, indent=2)
        try:
            write_whole(place, text.encode())
        except OSError as error:
            return Finding("other", NAME, "failed", f"cannot write {place}: {error.strerror}")
    return Finding("other", NAME, "secret", "the API key, in a file that only you can read")
