"""Which hooks may run: those of the administrator, and those whose very definition was trusted."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from typing import TYPE_CHECKING, Final, Literal

from ferrule_hooks.definitions import is_list, is_table
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ferrule_hooks.handler import Handler
    from ferrule_hookspecs.plugins import PluginContext

State = Literal["trusted", "untrusted", "changed", "off"]
FILE: Final = "hooks-trust.json"


class TrustFileError(FerruleError):
    """The file of trusted hooks cannot be read or written."""


class TrustStore:
    """The hooks a user trusts, by file and hash, in `$FERRULE_HOME/hooks-trust.json`."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE
        self._entries = self._read()

    def holds(self, handler: Handler) -> bool:
        """Tell whether exactly this hook is trusted."""
        wanted = handler.source.file, handler.trust_hash()
        return any((entry["file"], entry["hash"]) == wanted for entry in self._entries)

    def knows_place(self, handler: Handler) -> bool:
        """Tell whether what stood in the hook's place was trusted once."""
        return any(entry["key"] == handler.key for entry in self._entries)

    def add(self, handlers: Iterable[Handler]) -> None:
        """Trust hooks; what was trusted in their places is trusted no more."""
        handlers = list(handlers)
        self._forget(handlers)
        self._entries += [
            {
                "key": handler.key,
                "file": handler.source.file,
                "hash": handler.trust_hash(),
                "runs": handler.target,
                "trusted_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            }
            for handler in handlers
        ]
        self._write()

    def remove(self, handlers: Iterable[Handler]) -> None:
        """Trust hooks no more."""
        handlers = list(handlers)
        gone = {(handler.source.file, handler.trust_hash()) for handler in handlers}
        self._entries = [e for e in self._entries if (e["file"], e["hash"]) not in gone]
        self._forget(handlers)
        self._write()

    def _forget(self, handlers: Iterable[Handler]) -> None:
        places = {handler.key for handler in handlers}
        self._entries = [entry for entry in self._entries if entry["key"] not in places]

    def _read(self) -> list[dict[str, str]]:
        try:
            with open(self.path, encoding="utf-8") as file:
                value: object = json.load(file)
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise TrustFileError(
                f"{self.path} cannot be read, so that no hook is trusted: {error}; delete it and "
                "trust your hooks again with `ferrule hooks trust`"
            ) from None
        hooks = value.get("hooks") if is_table(value) else None
        entries = [entry for entry in (hooks if is_list(hooks) else []) if is_table(entry)]
        keys = ("key", "file", "hash", "runs", "trusted_at")
        return [{key: str(entry.get(key, "")) for key in keys} for entry in entries]

    def _write(self) -> None:
        text = json.dumps({"version": 1, "hooks": self._entries}, indent=1, ensure_ascii=False)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            number, name = tempfile.mkstemp(dir=self.path.parent, prefix=".hooks-trust")
            try:
                with os.fdopen(number, "w", encoding="utf-8") as file:
                    file.write(text + "\n")
                os.replace(name, self.path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
        except OSError as error:
            raise TrustFileError(f"{self.path} cannot be written: {error.strerror}") from error


class TrustRules:
    """Judges hooks by what the user and the administrator decided."""

    def __init__(self, context: PluginContext) -> None:
        self.store = TrustStore(context.home)
        self.only_managed = _only_managed(context)
        hooks = context.table("hooks")
        self.is_bypassed = hooks.get("dangerously_bypass_trust") is True
        state = hooks.get("state")
        self._codex: Mapping[str, object] = state if is_table(state) else {}

    def state(self, handler: Handler) -> State:
        """Tell how a hook stands."""
        noted = self._codex.get(handler.key)
        entry = noted if is_table(noted) else {}
        if handler.source.standing == "administrator":
            return "trusted"
        if self.only_managed or entry.get("enabled") is False:
            return "off"
        if self.is_bypassed or self.store.holds(handler):
            return "trusted"
        # A hash of Codex covers the definition alone, which is not enough where more is trusted.
        if entry.get("trusted_hash") == handler.trust_hash():
            return "trusted"
        is_changed = "trusted_hash" in entry or self.store.knows_place(handler)
        return "changed" if is_changed else "untrusted"


def _only_managed(context: PluginContext) -> bool:
    """Read whether the administrator allows no hooks but his own; a broken file allows none."""
    path = context.admin / "requirements.toml"
    if not path.is_file():
        return False
    import tomllib

    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return True
    return values.get("allow_managed_hooks_only", False) is not False
