"""Changes of the user's configuration file that clients ask for, judged before they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.config.edit import ConfigFileEditor
from ferrule.config.layers import text_version
from ferrule.config.load import Places, read_config
from ferrule_hookspecs.errors import ConfigConflictError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.config.provenance import LoadedConfig
    from ferrule_hookspecs.host import ConfigEdit, ConfigRequest


def write_config(
    request: ConfigRequest,
    places: Places,
    edits: Sequence[ConfigEdit],
    *,
    expected_version: str | None = None,
) -> LoadedConfig:
    """Make all edits or none; returns the configuration as it is from now on.

    Raises:
        ConfigConflictError: The file's version is not the expected one.
        ConfigError: The configuration would be invalid, or ask for what the administrator does not
            allow.
    """
    file = places.home / "config.toml"
    found: list[LoadedConfig] = []

    def guard(before: str, after: str) -> None:
        if expected_version not in (None, text_version(before)):
            raise ConfigConflictError(
                f"{file} was changed since it was read; read it again and retry"
            )
        found.append(read_config(request, places._replace(user_text=after)))

    ConfigFileEditor(file).apply(edits, guard)
    return found[0]
