"""Where files with hooks may lie. Imported in every session, so it opens and loads nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_hooks.handler import Standing
    from ferrule_hookspecs.plugins import PluginContext

Place = tuple[str, "Standing"]


def has_hooks(context: PluginContext) -> bool:
    """Tell whether any hooks may be configured."""
    return bool(context.config.get("hooks")) or any(True for _ in files_there(context))


def stamps_of(context: PluginContext) -> object:
    """What stands for the hooks of a session and for who trusts them, to be compared later."""
    configured = context.config.get("hooks")
    named = context.table("hooks").get("files")
    root = context.project_root or context.cwd
    files = [file for file, _ in files_there(context)]
    files += [f"{context.home}/hooks-trust.json"]
    if isinstance(named, (list, tuple)):
        texts = [str(name) for name in cast("list[object]", named)]
        files += [os.path.join(root, os.path.expanduser(name)) for name in texts]
    return configured, tuple((file, _stamp(file)) for file in files)


def _stamp(file: str) -> object:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def files_there(context: PluginContext) -> Iterator[Place]:
    """List the files that are there and may hold hooks; config.toml of the user is left out."""
    admin, home = str(context.admin), str(context.home)
    known: tuple[Place, ...] = (
        (f"{admin}/hooks.json", "administrator"),
        (f"{admin}/requirements.toml", "administrator"),
        (f"{home}/hooks.json", "user"),
    )
    yield from (place for place in known if os.path.isfile(place[0]))
    for folder in _project_folders(context.project_root, context.cwd):
        own = os.path.join(folder, ".ferrule")
        chosen = own if os.path.isdir(own) else os.path.join(folder, ".codex")
        files = [os.path.join(chosen, name) for name in ("hooks.json", "config.toml")]
        there = [file for file in files if os.path.isfile(file)]
        if there and not _is_home(chosen, home):
            for file in there:
                yield file, "project"


def _project_folders(root: str, cwd: str) -> Iterator[str]:
    """List the folders from the project's root down to the working directory."""
    if not root:
        return
    yield root
    if cwd.startswith(root + os.sep):
        folder = root
        for part in cwd[len(root) + 1 :].split(os.sep):
            folder = os.path.join(folder, part)
            yield folder


def _is_home(folder: str, home: str) -> bool:
    """Tell whether a folder is a home of a user rather than a part of a project."""
    real = os.path.realpath(folder)
    return real in (os.path.realpath(home), os.path.realpath(os.path.expanduser("~/.codex")))
