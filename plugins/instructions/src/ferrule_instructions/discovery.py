"""Finds the files of instructions that hold for a working directory.

First the user's own in `$FERRULE_HOME`, then one file of every folder from the project's root down
to the working directory. What a project says is read only where the user trusts it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_instructions.document import Document, DocumentError, read_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ferrule_hookspecs.plugins import PluginContext

_OVERRIDE: Final = "AGENTS.override.md"
_NAME: Final = "AGENTS.md"
_OWN_LIMIT: Final = 1024 * 1024
"""Most bytes of the user's own file, which no key limits."""


class Found(NamedTuple):
    """The files that hold, the farthest first, and what the user should know."""

    documents: Sequence[Document]
    warnings: Sequence[str]


def find(context: PluginContext) -> Found:
    """Find and read every file for the working directory of a session."""
    warnings: list[str] = []
    documents = [
        document
        for path in _first(context.home, (_OVERRIDE, _NAME))
        if (document := _read(path, _OWN_LIMIT, None, warnings)) is not None
    ]
    cwd = Path(os.path.normpath(context.cwd))
    root = _root(cwd, _texts(context.config.get("project_root_markers")))
    paths = _project_files(cwd, root, _names(context, warnings))
    limit = context.config.get("project_doc_max_bytes")
    limit = limit if isinstance(limit, int) else 0
    if limit > 0 and paths:
        if context.is_trusted and root == Path(os.path.normpath(context.project_root)):
            documents += _project_documents(paths, root, limit, warnings)
        else:
            warnings.append(_untrusted(context, paths, root))
    return Found(
        [each for each in documents if each.text.strip() or each.size > each.kept], warnings
    )


def _names(context: PluginContext, warnings: list[str]) -> Sequence[str]:
    """The names a folder's file may have, in the order in which they count."""
    names = [_OVERRIDE, _NAME]
    for name in _texts(context.config.get("project_doc_fallback_filenames")):
        if name and Path(name).name == name:
            names.append(name)
        else:
            warnings.append(
                f"project_doc_fallback_filenames: {name!r} is left out: give the name of a file"
                " without its folder"
            )
    return list(dict.fromkeys(names))


def _root(cwd: Path, markers: Sequence[str]) -> Path:
    """The nearest folder upwards with a marker, or the working directory itself."""
    for folder in (cwd, *cwd.parents):
        if any(os.path.lexists(folder / marker) for marker in markers):
            return folder
    return cwd


def _project_files(cwd: Path, root: Path, names: Sequence[str]) -> list[Path]:
    folders = [folder for folder in (cwd, *cwd.parents) if folder.is_relative_to(root)]
    return [path for folder in reversed(folders) for path in _first(folder, names)]


def _first(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield the first file that is there; a folder of that name is none."""
    for name in names:
        path = folder / name
        if os.path.lexists(path) and not os.path.isdir(path):  # Path.is_dir may raise
            yield path
            return


def _project_documents(
    paths: Sequence[Path], root: Path, limit: int, warnings: list[str]
) -> list[Document]:
    """Read the files until the budget is used up; what does not fit is named."""
    documents: list[Document] = []
    rest = limit
    for path in paths:
        document = _read(path, rest, root, warnings)
        if document is not None:
            documents.append(document)
            rest -= document.kept
    cut = [each for each in documents if each.size > each.kept]
    if cut:
        what = ", ".join(f"{each.kept} of {each.size} bytes of {each.path}" for each in cut)
        warnings.append(
            f"the project's instructions are longer than project_doc_max_bytes = {limit}: the model"
            f" reads only {what}; shorten them, or raise the limit"
        )
    return documents


def _read(path: Path, limit: int, inside: Path | None, warnings: list[str]) -> Document | None:
    try:
        document = read_document(path, limit, inside=inside)
    except DocumentError as error:
        warnings.append(str(error))
        return None
    if document.is_damaged:
        warnings.append(
            f"{path} is not valid UTF-8: the model reads replacement characters in it; save it as"
            " UTF-8"
        )
    return document


def _untrusted(context: PluginContext, paths: Sequence[Path], root: Path) -> str:
    levels = cast("Mapping[str, Mapping[str, object]]", context.table("projects"))
    key = f'projects."{root}".trust_level = "trusted"'
    is_decided = any("trust_level" in levels.get(each, {}) for each in (str(root), context.cwd))
    mend = f"set {key} to change that" if is_decided else f"run once with --trust, or set {key}"
    others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    verb = "are" if others else "is"
    return f"{paths[-1]}{others} {verb} not read, because the project {root} is not trusted; {mend}"


def _texts(value: object) -> Sequence[str]:
    if not isinstance(value, list | tuple):
        return ()
    return [each for each in cast("Sequence[object]", value) if isinstance(each, str)]
