"""The configuration of one call: read when the method first looks at it, which few do."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule_hookspecs.host import Config, ConfigLayer, ConfigOrigin


class LateConfig:
    """Satisfies the contract's `Config`."""

    def __init__(self, read: Callable[[], Config]) -> None:
        self._read = read

    @cached_property
    def _config(self) -> Config:
        return self._read()

    @property
    def values(self) -> Mapping[str, object]:
        """The values."""
        return self._config.values

    @property
    def warnings(self) -> Sequence[str]:
        """What the user should know."""
        return self._config.warnings

    @property
    def project_root(self) -> str:
        """Root of the project, or the working directory."""
        return self._config.project_root

    @property
    def is_trusted(self) -> bool:
        """Whether the user trusts the project."""
        return self._config.is_trusted

    @property
    def allowed(self) -> Mapping[str, Sequence[str]]:
        """By key, the values the administrator allows."""
        return self._config.allowed

    @property
    def layers(self) -> Sequence[ConfigLayer]:
        """Everything that was read, lowest first."""
        return self._config.layers

    @property
    def secrets(self) -> Sequence[tuple[str, ...]]:
        """Keys, part by part, whose values are never shown to anybody."""
        return self._config.secrets

    def get(self, key: str, default: object = None) -> object:
        """Return a value by dotted key."""
        return self._config.get(key, default)

    def origin(self, key: str) -> ConfigOrigin:
        """Tell where a value comes from."""
        return self._config.origin(key)
