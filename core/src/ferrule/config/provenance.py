"""The effective configuration with its history: what each layer said about every key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ferrule.config.layers import Layer
from ferrule.config.tables import (
    MISSING,
    KeyPath,
    Table,
    is_table,
    join_key,
    lookup,
    place,
    split_key,
)
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigOrigin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.config.check import Problem
    from ferrule_hookspecs.host import Config, ConfigRequest


class Statement(NamedTuple):
    """What one layer says about a key, and whether that counts."""

    origin: ConfigOrigin
    value: object
    note: str


@dataclass(slots=True)
class LoadedConfig:
    """The effective configuration; satisfies `ferrule_hookspecs.host.Config`.

    Attributes:
        values: The values, defaults filled in.
        warnings: What the user should know, each said once.
        project_root: Root of the project, or the working directory.
        is_trusted: Whether the user trusts the project.
        layers: Everything that was read, lowest first.
        adjusted: Keys whose value the administrator's constraints changed.
        ignored: Parts of project files that do not count.
        allowed: By key, the values the administrator allows.
        bounds: By key, where the administrator says so.
        secrets: Keys whose values are never shown.
        request: What was asked for, where it may be read again.
    """

    values: Mapping[str, object]
    warnings: Sequence[str]
    project_root: str
    is_trusted: bool
    layers: Sequence[Layer] = ()
    adjusted: Mapping[KeyPath, ConfigOrigin] = field(default_factory=dict[KeyPath, ConfigOrigin])
    ignored: Sequence[Layer] = ()
    allowed: Mapping[str, Sequence[str]] = field(default_factory=dict[str, "Sequence[str]"])
    bounds: Mapping[str, ConfigOrigin] = field(default_factory=dict[str, ConfigOrigin])
    secrets: Sequence[KeyPath] = ()
    request: ConfigRequest | None = field(default=None, compare=False)

    def get(self, key: str, default: object = None) -> object:
        """Return a value by dotted key; parts may be quoted."""
        value = lookup(self.values, key_path(key))
        return default if value is MISSING else value

    def origin(self, key: str) -> ConfigOrigin:
        """Tell where a value comes from; layer `unset` where nobody sets it."""
        path = key_path(key)
        for size in range(len(path), 0, -1):
            if path[:size] in self.adjusted:
                return self.adjusted[path[:size]]
        layer = next((layer for layer in reversed(self.layers) if layer.has(path)), None)
        return _origin(layer, path) if layer else ConfigOrigin("unset")

    def explain(self, key: str) -> list[Statement]:
        """List what every layer says about a key, the deciding one first."""
        path = key_path(key)
        found: list[Statement] = []
        if path in self.adjusted:
            value = lookup(self.values, path)
            found.append(Statement(self.adjusted[path], value, "the administrator's constraint"))
        for layer in reversed(self.layers):
            if layer.has(path):
                note = "overruled" if found else "in effect"
                value = lookup(layer.values, path)
                if is_table(value):
                    note = "a table, mixed with the others"
                found.append(Statement(_origin(layer, path), value, note))
        for layer in self.ignored:
            if layer.has(path):
                note = "ignored: a project may only narrow safety"
                found.append(Statement(_origin(layer, path), lookup(layer.values, path), note))
        if len(path) == 1 and path[0] in self.bounds:
            note = "all that the administrator allows"
            found.append(Statement(self.bounds[path[0]], list(self.allowed[path[0]]), note))
        return found


def placed(problem: Problem, config: Config) -> str:
    """Word a problem with the place that set the value, or the nearest table around it.

    The line itself is not shown: a secret of the plugin may stand on it.
    """
    for size in range(len(problem.path), 0, -1):
        path = problem.path[:size]
        origin = config.origin(join_key(path))
        if origin.layer == "unset":
            continue
        for layer in reversed(config.layers):
            if isinstance(layer, Layer) and layer.name == origin.layer and layer.has(path):
                return f"{layer.where(problem.path)}: {problem.text}{problem.hint}"
        return f"{origin.file}:{origin.line}: {problem.text}{problem.hint}"
    return problem.text + problem.hint


def key_path(key: str) -> KeyPath:
    """Read a dotted key.

    Raises:
        ConfigError: It is none.
    """
    try:
        path, rest = split_key(key)
    except ValueError:
        path, rest = (), None
    if not path or rest is not None:
        raise ConfigError(f"{key!r} is not a key; write it as in config.toml, such as model")
    return path


def _origin(layer: Layer, path: KeyPath) -> ConfigOrigin:
    return ConfigOrigin(layer.name, layer.file, layer.line(path))


def ignored_layer(layer: Layer, paths: Sequence[KeyPath]) -> Layer:
    """Keep of a project layer what does not count."""
    values: Table = {}
    for path in paths:
        place(values, path, lookup(layer.values, path))
    return Layer(layer.name, values, layer.file, layer.text)
