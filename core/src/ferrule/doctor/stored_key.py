"""What `ferrule login` left in `$FERRULE_HOME`, as far as a provider would use it."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from pathlib import Path

ID: Final = "provider.credentials"
_FOREIGN: Final = 0o077
_AGAIN: Final = "sign in again: `ferrule login`"


class Key(NamedTuple):
    """What was found out about a provider's key.

    Attributes:
        check: What may be told.
        value: The key, for a request of the doctor's own; empty where there is none.
    """

    check: Check
    value: str = ""


def stored_key(home: Path) -> Key | None:
    """Look at `auth.json`; None where nobody is signed in."""
    path = home / "auth.json"
    try:
        facts = path.lstat()
        text = path.read_text("utf-8", "replace") if stat.S_ISREG(facts.st_mode) else ""
    except FileNotFoundError:
        return None
    except OSError as error:
        return _unusable(f"{path} cannot be read: {error.strerror}", "give yourself the right to")
    if stat.S_ISLNK(facts.st_mode):
        return _unusable(f"{path} is a link, which is not followed", "put the file itself there")
    if os.name == "posix" and facts.st_uid != os.geteuid():
        return _unusable(f"{path} belongs to another user", f"remove it, and {_AGAIN}")
    if os.name == "posix" and facts.st_mode & _FOREIGN:
        mode = stat.S_IMODE(facts.st_mode)
        mend = f"run `chmod 600 {path}`, and sign in again if others may have read it"
        return _unusable(f"{path} is open to other users (mode {mode:o})", mend)
    return _read(text, path)


def _read(text: str, path: Path) -> Key:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return _unusable(f"{path} is damaged", _AGAIN)
    table = cast("dict[str, object]", found)
    if table.get("kept_in") == "keyring":
        return Key(Check(ID, "ok", "`ferrule login` has put it into the keyring of this system"))
    tokens = table.get("tokens")
    held = cast("dict[str, object]", tokens) if isinstance(tokens, dict) else {}
    value = held.get("access_token") or table.get("OPENAI_API_KEY")
    if not isinstance(value, str) or not value.strip():
        return _unusable(f"{path} holds neither a key nor a token", _AGAIN)
    what = "tokens of an account" if held else "a key"
    return Key(Check(ID, "ok", f"`ferrule login` has stored {what} in {path}"), value.strip())


def _unusable(text: str, mend: str) -> Key:
    return Key(Check(ID, "fail", text, mend))
