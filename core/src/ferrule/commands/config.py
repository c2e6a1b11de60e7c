"""`ferrule config`: show, explain and change the configuration.

Loaded only when the command runs, so Typer is imported here as everywhere in this folder. Errors
are raised; the `ferrule` command shows them.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ferrule.config.check import find_problems
from ferrule.config.edit import ConfigFileEditor
from ferrule.config.model import ConfigFile
from ferrule.config.overrides import parse_value
from ferrule.config.provenance import Statement, key_path
from ferrule.config.tables import MISSING, SETTINGS_PATH, KeyPath, join_key, lookup, nest
from ferrule.plugin_config import declarations, masked
from ferrule.settings_words import default_of, field_facts, field_line, with_defaults
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigEdit, ConfigOrigin, ConfigRequest

if TYPE_CHECKING:
    from ferrule.config.provenance import LoadedConfig
    from ferrule.host import LocalHost
    from ferrule.settings_declaration import Declaration

app = typer.Typer(help="Show, explain and change the configuration.", no_args_is_help=True)

Key = Annotated[str, typer.Argument(metavar="KEY", help="Dotted key, as in config.toml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True, slots=True)
class _Call:
    """What the options before the sub-command ask for."""

    host: LocalHost
    request: ConfigRequest

    def load(self) -> LoadedConfig:
        config = self.host.read(self.request)
        for warning in config.warnings:
            typer.echo(f"warning: {warning}", err=True)
        return config

    def file(self) -> Path:
        """The file that edits go to."""
        name = f"{self.request.profile}.config.toml" if self.request.profile else "config.toml"
        return self.host.home / name

    def declared(self, path: KeyPath, loaded: LoadedConfig | None = None) -> Declaration | None:
        """What a plugin says about a key within its table; nothing of it is imported here.

        For other keys nothing is read: a file that is wrong can be mended with `set`.
        """
        if path[: len(SETTINGS_PATH)] != SETTINGS_PATH or len(path) == len(SETTINGS_PATH):
            return None
        values = (loaded or self.load()).values
        return declarations(self.host.index, values).get(path[len(SETTINGS_PATH)])


@app.callback()
def config(
    context: typer.Context,
    *,
    overrides: Annotated[
        list[str] | None,
        typer.Option("-c", "--config", metavar="KEY=VALUE", help="Set one key for this run."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option("-p", "--profile", help="Read NAME.config.toml, or edit it.")
    ] = None,
    cd: Annotated[
        Path | None, typer.Option("-C", "--cd", metavar="DIR", help="Working directory.")
    ] = None,
) -> None:
    """Show, explain and change the configuration."""
    cwd = os.path.abspath(cd or os.getcwd())
    request = ConfigRequest(cwd=cwd, profile=profile, overrides=overrides or ())
    context.obj = _Call(cast("LocalHost", context.obj), request)


@app.command()
def get(context: typer.Context, key: Key) -> None:
    """Print the value of a key: texts as they are, everything else as JSON."""
    path = _known_path(key)
    call = _call(context)
    loaded = call.load()
    declaration = call.declared(path, loaded)
    value = lookup(loaded.values, path)
    if declaration is not None:
        value = with_defaults(declaration, path[len(declaration.path) :], value)
    if value is MISSING:
        raise ConfigError(f"`{join_key(path)}` is not set; `ferrule config set` sets it")
    value = masked(value, path, loaded.secrets)
    typer.echo(value if isinstance(value, str) else _json(value))


@app.command()
def explain(context: typer.Context, key: Key, *, as_json: AsJson = False) -> None:
    """Tell where the value of a key comes from, and what every layer says about it."""
    path = _known_path(key)
    call = _call(context)
    loaded = call.load()
    value = masked(lookup(loaded.values, path), path, loaded.secrets)
    statements = [
        s._replace(value=masked(s.value, path, loaded.secrets)) for s in loaded.explain(key)
    ]
    declaration = call.declared(path, loaded)
    more: dict[str, object] = {}
    if declaration is not None:
        keys = path[len(declaration.path) :]
        for problem in declaration.unknown_at(path) if value is MISSING else ():
            raise ConfigError(problem.text + problem.hint)
        value = with_defaults(declaration, keys, value)
        statements += _default(declaration, keys, note="overruled" if statements else "in effect")
        more = {"setting": field_facts(declaration, keys)}
    if as_json:
        rows = [{**_origin(s.origin), "value": s.value, "note": s.note} for s in statements]
        shown = None if value is MISSING else value
        facts = {"key": join_key(path), "value": shown, "origin": _origin(loaded.origin(key))}
        typer.echo(_json({**facts, "layers": rows, **more}))
        return
    typer.echo(f"{join_key(path)} {'is not set' if value is MISSING else '= ' + _json(value)}")
    for statement in statements:
        place = _place(statement.origin)
        typer.echo(f"  {place}: {_json(statement.value)} ({statement.note})")
    if declaration is not None:
        typer.echo(f"  {field_line(declaration, path[len(declaration.path) :])}")


@app.command("set")
def set_value(
    context: typer.Context,
    key: Key,
    value: Annotated[str, typer.Argument(help="A TOML value; anything else is taken as text.")],
) -> None:
    """Set a key in your config.toml, keeping comments and order."""
    path = _known_path(key)
    call = _call(context)
    declaration = call.declared(path)
    for problem in declaration.unknown_at(path) if declaration else ():
        raise ConfigError(problem.text + problem.hint)
    editor = ConfigFileEditor(call.file())
    if declaration is None or call.request.profile:
        editor.set(path, parse_value(value))
        return
    edit = ConfigEdit(join_key(path), parse_value(value))
    editor.apply([edit], partial(call.host.read_edited, call.request))


@app.command()
def unset(context: typer.Context, key: Key) -> None:
    """Remove a key from your config.toml, keeping comments and order."""
    file = _call(context).file()
    path = key_path(key)
    if not ConfigFileEditor(file).unset(path):
        raise ConfigError(f"`{join_key(path)}` is not in {file}; `ferrule config explain` finds it")


@app.command()
def schema(context: typer.Context) -> None:
    """Print the JSON Schema of config.toml, the settings of installed plugins included."""
    from ferrule.config.schema import config_schema

    call = _call(context)
    declared = declarations(call.host.index, call.load().values)
    typer.echo(_json(config_schema({name: each.schema for name, each in declared.items()})))


@app.command("path")
def show_path(context: typer.Context) -> None:
    """Print where your config.toml is."""
    typer.echo(_call(context).file())


def _call(context: typer.Context) -> _Call:
    return cast("_Call", context.obj)


def _known_path(key: str) -> KeyPath:
    path = key_path(key)
    for problem in find_problems(nest(path, None), ConfigFile):
        if problem.is_unknown:
            raise ConfigError(problem.text + problem.hint)
    return path


def _default(declaration: Declaration, keys: KeyPath, *, note: str) -> list[Statement]:
    """What holds where nobody sets a plugin's key."""
    value = default_of(declaration, keys)
    if value is MISSING:
        return []
    return [Statement(ConfigOrigin(f"default of {declaration.owner}"), value, note)]


def _origin(origin: ConfigOrigin) -> dict[str, object]:
    return {"layer": origin.layer, "file": origin.file, "line": origin.line}


def _place(origin: ConfigOrigin) -> str:
    if origin.file is None:
        return origin.layer
    line = f":{origin.line}" if origin.line else ""
    return f"{origin.layer}, {origin.file}{line}"


def _json(value: object) -> str:
    return json.dumps(value, indent=2 if isinstance(value, dict) else None, default=str)
