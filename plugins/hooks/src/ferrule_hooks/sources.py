"""Reads hooks from files of the administrator, of the user and of a trusted project."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ferrule_hooks.handler import Source
from ferrule_hooks.places import files_there

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ferrule_hooks.handler import Handler
    from ferrule_hookspecs.plugins import PluginContext

_TOML: Final = "config.toml"
_GUARDS: Final = (b"PreToolUse", b"PermissionRequest")
ELSEWHERE: Final = "command line or profile"


def read_handlers(context: PluginContext, broken: list[str] | None = None) -> list[Handler]:
    """Read all hooks, those of the administrator first; faults are told to `context.warn`.

    Args:
        context: The session's.
        broken: Takes the files that cannot be read and may hold hooks that guard calls.
    """
    from ferrule_hooks.definitions import handlers_of

    root = os.path.realpath(context.project_root or context.cwd or os.curdir)
    found: list[Handler] = []
    for source, table in _tables(context, [] if broken is None else broken):
        found += handlers_of(table, source, context.warn, root=root)
    return found


def _tables(
    context: PluginContext, broken: list[str]
) -> Iterator[tuple[Source, Mapping[str, object]]]:
    configured = _events(context.config.get("hooks"))
    seen: list[object] = []
    files = [Source(*place) for place in files_there(context)]
    if configured:
        files += [
            Source(str(context.admin / _TOML), "administrator"),
            Source(str(context.admin / "managed_config.toml"), "administrator"),
            Source(str(context.home / _TOML), "user"),
        ]
    files += _named_files(context)
    for source in files:
        if source.standing == "project" and not context.is_trusted:
            if source.file.endswith(".json"):
                context.warn(
                    f"{source.file}: its hooks are not read, because the project is not trusted; "
                    "run once with --trust if you want them"
                )
            continue
        table = _events(_read(source.file, context, broken))
        seen += [group for groups in table.values() for group in _listed(groups)]
        if table:
            yield source, table
    rest = {
        event: [group for group in _listed(groups) if group not in seen]
        for event, groups in configured.items()
    }
    if rest := {event: groups for event, groups in rest.items() if groups}:
        yield Source(ELSEWHERE, "user"), rest


def _named_files(context: PluginContext) -> Iterator[Source]:
    """List what `files` of the table `hooks` names, such as a settings file of Claude Code."""
    root = context.project_root or context.cwd
    real_root = os.path.realpath(root)
    for name in _listed(context.table("hooks").get("files")):
        file = os.path.join(root, os.path.expanduser(str(name)))
        inside = os.path.realpath(file).startswith(real_root + os.sep)
        if os.path.isfile(file):
            yield Source(file, "project" if inside else "user")
        else:
            context.warn(f"hooks.files: {file} does not exist; no hooks are read from it")


def _read(file: str, context: PluginContext, broken: list[str]) -> object:
    """Return the table `hooks` of a file; one that cannot be read is named and left out."""
    data = b"hooks " + b" ".join(_GUARDS)  # of a file that cannot even be opened
    try:
        with open(file, "rb") as opened:
            data = opened.read()
        if b"hooks" not in data:
            return None
        text = data.decode()
        return _parsed_json(text) if file.endswith(".json") else _parsed_toml(text)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # both parsers and the decoder raise ValueErrors
        context.warn(f"{file}: its hooks do not run, as it cannot be read: {error}")
        if any(event in data for event in _GUARDS):
            broken.append(file)
        return None


def _parsed_json(text: str) -> object:
    import json

    value: object = json.loads(text)
    if not isinstance(value, dict) or not isinstance(value.get("hooks"), dict):  # pyright: ignore[reportUnknownMemberType]
        raise ValueError('it must be an object with an object "hooks"')  # noqa: TRY004 -- told as every fault of the file
    return value["hooks"]  # pyright: ignore[reportUnknownVariableType]


def _parsed_toml(text: str) -> object:
    import tomllib

    return tomllib.loads(text).get("hooks")


def _events(value: object) -> dict[str, object]:
    from ferrule_hooks.definitions import SETTINGS, is_table

    if not is_table(value):
        return {}
    return {name: groups for name, groups in value.items() if name not in SETTINGS}


def _listed(value: object) -> list[object]:
    from ferrule_hooks.definitions import is_list

    return value if is_list(value) else []
