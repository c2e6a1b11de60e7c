"""What an open session takes up of a configuration that changes while it lives.

Only what says which plugins, servers, hooks and skills there are; everything that decides what the
session may do, and with which model, stays as its owner set it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import anyio.to_thread

from ferrule.stamps import file_stamp
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule.host import LocalHost
    from ferrule_hookspecs.host import Config, ConfigRequest

TAKEN_UP: Final = ("hooks", "mcp_servers", "plugins", "skills")
_KEPT: Final = {"hooks": ("dangerously_bypass_trust",)}
"""What stays of a table that is taken up: it would let more run than the session was opened for."""


class Renewal(NamedTuple):
    """A configuration as a session may have it from now on.

    Attributes:
        config: All that was read.
        values: What the session goes by: its own, with what is taken up.
        keys: What differs.
    """

    config: Config
    values: Mapping[str, object]
    keys: Sequence[str]


class ConfigRenewal:
    """Looks whether the files of one session's configuration have changed."""

    def __init__(self, host: LocalHost, config: Config, warn: Callable[[str], None]) -> None:
        """Begin with what the session was opened with; `warn` is told what cannot be read."""
        self._host = host
        self._warn = warn
        self._request = cast("ConfigRequest | None", getattr(config, "request", None))
        self._files = self._files_of(config)
        self._stamps: Mapping[str, str] = self._look()

    async def look(self, values: Mapping[str, object]) -> Renewal | None:
        """Return what the session should have in the place of `values`; None for those."""
        if self._request is None or self._stamps == (stamps := self._look()):
            return None
        self._stamps = stamps
        try:
            config = await anyio.to_thread.run_sync(self._host.read, self._request)
        except ConfigError as error:
            self._warn(f"the configuration has changed and cannot be used as it is: {error}")
            return None
        self._files = self._files_of(config)
        taken = {key: _taken(key, config.values, values) for key in TAKEN_UP}
        keys = [key for key, value in taken.items() if value != values.get(key)]
        if not keys:
            return None
        changed = {**values, **taken}
        merged = {key: value for key, value in changed.items() if value is not None}
        return Renewal(config, merged, keys)

    def repeat(self) -> None:
        """Read it again next time, as what was found could not be used yet."""
        self._stamps = {}

    def _look(self) -> Mapping[str, str]:
        return {file: file_stamp(file) for file in self._files}

    def _files_of(self, config: Config) -> Sequence[str]:
        admin, home = str(self._host.admin), str(self._host.home)
        files = [layer.file for layer in config.layers if layer.file]
        files += [os.path.join(home, "config.toml")]
        names = ("config.toml", "managed_config.toml", "requirements.toml")
        files += [os.path.join(admin, name) for name in names]
        folders = (".ferrule", ".codex")
        files += [os.path.join(config.project_root, name, "config.toml") for name in folders]
        return tuple(dict.fromkeys(files))


def _taken(key: str, new: Mapping[str, object], old: Mapping[str, object]) -> object:
    """Return a table as it is now, less what must stay as it was; None where there is none."""
    value, before = new.get(key), old.get(key)
    kept = _KEPT.get(key, ())
    if not kept or not isinstance(value, Mapping):
        return value
    was = cast("Mapping[str, object]", before if isinstance(before, Mapping) else {})
    table = {k: v for k, v in cast("Mapping[str, object]", value).items() if k not in kept}
    return table | {k: was[k] for k in kept if k in was}
