"""One layer of configuration: its values and where in which file each of them stands."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ferrule.config.check import Problem, find_problems
from ferrule.config.model import ConfigFile
from ferrule.config.tables import (
    MISSING,
    KeyPath,
    Table,
    is_list,
    is_table,
    lookup,
    place,
    remove,
)
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOML_ERROR = re.compile(r"(?P<what>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)")
_PATH_KEYS: tuple[KeyPath, ...] = (
    ("model_instructions_file",),
    ("experimental_compact_prompt_file",),
    ("model_catalog_json",),
    ("log_dir",),
    ("sqlite_home",),
    ("sandbox_workspace_write", "writable_roots"),
)


class Layer(NamedTuple):
    """Values of one source.

    Attributes:
        name: What the layer is: defaults, provider, surroundings, environment, system, user,
            profile, project, -c, flag, managed or requirements.
        values: What it sets, as tables.
        file: The file it was read from.
        text: The file's text, for positions.
        source: How to name the layer where there is no file.
    """

    name: str
    values: Table
    file: str | None = None
    text: str = ""
    source: str = ""

    def has(self, path: KeyPath) -> bool:
        """Tell whether the layer sets a key."""
        return lookup(self.values, path) is not MISSING

    @property
    def version(self) -> str:
        """Changes with the file's text; without a file, with the values."""
        if self.file is not None:
            return text_version(self.text)
        import json

        return text_version(json.dumps(self.values, sort_keys=True, default=str))

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a key in the layer's file."""
        if self.file is None:
            return None
        from ferrule.config.positions import find_key

        position = find_key(self.text, path)
        return position.line if position else None

    def where(self, path: KeyPath) -> str:
        """Name the place of a key: `file:line:column`, or the option that set it."""
        if self.file is None:
            return self.source or self.name
        from ferrule.config.positions import find_key

        position = find_key(self.text, path)
        return f"{self.file}:{position.line}:{position.column}" if position else self.file

    def excerpt(self, path: KeyPath) -> str:
        """Show the line of a key with carets, or nothing where there is no file."""
        if self.file is None:
            return ""
        from ferrule.config.positions import excerpt, find_key

        position = find_key(self.text, path)
        return "\n" + excerpt(self.text, position) if position else ""

    def problem(self, problem: Problem) -> str:
        """Word a problem with its place and the line it is on."""
        place = self.where(problem.path)
        return f"{place}: {problem.text}{problem.hint}{self.excerpt(problem.path)}"

    def warning(self, problem: Problem) -> str:
        """Word an unknown key that does no harm."""
        return f"{self.where(problem.path)}: {problem.text} is ignored{problem.hint}"


def read_layer(name: str, file: Path) -> Layer | None:
    """Read a TOML file as a layer; None where there is no file.

    Raises:
        ConfigError: The file cannot be read or is not TOML.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{file}: the configuration cannot be read: {reason}") from error
    return text_layer(name, file, text)


def text_layer(name: str, file: Path, text: str) -> Layer:
    """Take a file's text as a layer.

    Raises:
        ConfigError: It is not TOML.
    """
    values = parse_toml(text, str(file))
    return Layer(name, _with_absolute_paths(values, file.parent), str(file), text)


def text_version(text: str) -> str:
    """Name a file's content, so that a writer can tell whether it is still what was read."""
    from hashlib import sha256

    return f"sha256:{sha256(text.encode()).hexdigest()}"


def parse_toml(text: str, file: str) -> Table:
    """Parse TOML; errors name file, line and column and show the line."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_toml_error(str(error), text, file)) from error


def _toml_error(message: str, text: str, file: str) -> str:
    from ferrule.config.positions import Position, excerpt

    match = _TOML_ERROR.fullmatch(message)
    if match is None:
        return f"{file}: {message}"
    position = Position(int(match["line"]), int(match["column"]), 1)
    place = f"{file}:{position.line}:{position.column}"
    return f"{place}: {match['what']}\n{excerpt(text, position)}"


def absolute_path(text: str, base: Path) -> str:
    """Resolve a path as written in a file: `~` is the home, others start at `base`."""
    return str(base / Path(text).expanduser())


def _with_absolute_paths(values: Table, base: Path) -> Table:
    for path in _PATH_KEYS:
        value = lookup(values, path)
        if isinstance(value, str):
            place(values, path, absolute_path(value, base))
        elif is_list(value):
            items = [absolute_path(v, base) if isinstance(v, str) else v for v in value]
            place(values, path, items)
    roles = values.get("agents")
    for role in roles.values() if is_table(roles) else ():
        if is_table(role) and isinstance(role.get("config_file"), str):
            role["config_file"] = absolute_path(str(role["config_file"]), base)
    return values


def layer_with_paths(layer: Layer, base: Path) -> Layer:
    """Resolve relative paths of a layer that came from the command line."""
    _with_absolute_paths(layer.values, base)
    return layer


def check_layer(layer: Layer, *, strict: bool, expected: object = ConfigFile) -> list[str]:
    """Compare a layer with the known keys and types, and take unknown keys out of it.

    Returns:
        One warning for each unknown key.

    Raises:
        ConfigError: A value has the wrong type, or `strict` and a key is unknown. In a permission
            profile an unknown key is always one: what it was to close would stay open.
    """
    problems = list(find_problems(layer.values, expected))
    fatal = [each for each in problems if strict or not each.is_unknown or _guards(each.path)]
    if fatal:
        raise ConfigError("\n".join(layer.problem(problem) for problem in fatal))
    for problem in problems:
        remove(layer.values, problem.path)
    return [layer.warning(problem) for problem in problems]


def _guards(path: KeyPath) -> bool:
    return path[0] == "permissions" and len(path) > 1


def reject_legacy(layer: Layer) -> None:
    """Refuse the profile tables that profile files have replaced."""
    old: Mapping[str, object] = layer.values
    if "profile" in old or "profiles" in old:
        key = "profile" if "profile" in old else "profiles"
        name = old["profile"] if isinstance(old.get("profile"), str) else "NAME"
        raise ConfigError(
            f"{layer.where((key,))}: `{key}` is no longer a key; put the profile's keys into "
            f"`{name}.config.toml` beside config.toml and use `--profile {name}`"
        )
