"""Changes of the user's configuration file that clients ask for, judged before they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.config.edit import ConfigFileEditor
from ferrule.config.layers import text_version
from ferrule_hookspecs.errors import ConfigConflictError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ferrule.config.provenance import LoadedConfig
    from ferrule_hookspecs.host import ConfigEdit


def write_config(
    file: Path,
    edits: Sequence[ConfigEdit],
    read: Callable[[str, str], LoadedConfig],
    *,
    expected_version: str | None = None,
) -> LoadedConfig:
    """Make all edits or none; returns the configuration as it is from now on.

    Args:
        file: The user's configuration file.
        edits: The changes, in order.
        read: Reads the configuration as if the file, which says the first text, said the second.
        expected_version: What the file's version should be; None takes any.

    Raises:
        ConfigConflictError: The file's version is not the expected one.
        ConfigError: The configuration would be invalid, or ask for what the administrator does not
            allow.
    """
    found: list[LoadedConfig] = []

    def guard(before: str, after: str) -> None:
        if expected_version not in (None, text_version(before)):
            raise ConfigConflictError(
                f"{file} was changed since it was read; read it again and retry"
            )
        found.append(read(before, after))

    ConfigFileEditor(file).apply(edits, guard)
    return found[0]
