"""The folders that hold skills, and the files in them.

The nearest folder of a project comes first, then the user's, then the administrator's. Folders of a
project count only where the user trusts it, and nothing in them may lead out of it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext

Scope = Literal["repo", "user", "admin"]
FILE: Final = "SKILL.md"
_DEPTH: Final = 4
_FOLDERS: Final = 2000
"""Most folders that are looked into below one root."""


class Root(NamedTuple):
    """A folder that holds skills; `inside` is the project that it must not leave."""

    path: Path
    scope: Scope
    inside: Path | None = None


def project_of(context: PluginContext) -> tuple[Path, bool]:
    """The root of the project that the working directory belongs to, and whether it is trusted."""
    markers = context.config.get("project_root_markers")
    names = [each for each in markers if isinstance(each, str)] if isinstance(markers, list) else []  # pyright: ignore[reportUnknownVariableType]
    cwd = Path(os.path.normpath(context.cwd))
    root = next(
        (each for each in (cwd, *cwd.parents) if any(os.path.lexists(each / n) for n in names)), cwd
    )
    return root, context.is_trusted and root == Path(os.path.normpath(context.project_root))


def project_roots(context: PluginContext) -> list[Root]:
    """The folders of the project, from the working directory upwards, that are there."""
    top, _ = project_of(context)
    cwd = Path(os.path.normpath(context.cwd))
    own = {os.path.realpath(root.path) for root in own_roots(context)}
    roots: list[Root] = []
    for folder in (cwd, *cwd.parents):
        if not folder.is_relative_to(top):
            break
        private = ".ferrule" if os.path.isdir(folder / ".ferrule") else ".codex"
        for name in (".agents", private):
            path = folder / name / "skills"
            if os.path.isdir(path) and os.path.realpath(path) not in own:
                roots.append(Root(path, "repo", top))
    return roots


def own_roots(context: PluginContext) -> list[Root]:
    """The folders of the user and of the administrator, whether they are there or not."""
    user = Path(context.environ.get("HOME") or Path.home())
    return [
        Root(context.home / "skills", "user"),
        Root(user / ".agents" / "skills", "user"),
        Root(context.admin / "skills", "admin"),
    ]


def has_roots(context: PluginContext, extra: Sequence[Path]) -> bool:
    """Whether there is any folder that could hold skills."""
    own = (*extra, *(root.path for root in own_roots(context)))
    return any(map(os.path.isdir, own)) or bool(project_roots(context))


def files_below(top: Path) -> Sequence[Path]:
    """Find the files; a folder that is a skill holds no other, hidden ones are passed over."""
    found: list[Path] = []
    seen: set[str] = set()
    level = [top]
    for _ in range(_DEPTH):
        below: list[Path] = []
        for folder in level:
            real = os.path.realpath(folder)
            if real in seen or len(seen) >= _FOLDERS:
                continue
            seen.add(real)
            if folder != top and os.path.lexists(folder / FILE):
                found.append(folder / FILE)
            else:
                below += _folders_in(folder)
        level = below
    return sorted(found)


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [each.name for each in entries if each.name[0] != "." and _is_folder(each)]
    except OSError:
        return []
    return [folder / name for name in names]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle, or to where nobody may look
        return False
