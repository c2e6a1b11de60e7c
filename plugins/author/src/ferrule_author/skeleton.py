"""The files of a new plugin: rendered from templates, and written all at once or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from ferrule_author.kinds import KINDS, Kind
from ferrule_author.naming import Names, names_of
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Wish(NamedTuple):
    """What an author asks for.

    Attributes:
        name: The chosen name.
        kind: One of `KINDS`.
        contract_version: Version of the installed contract.
        description: One sentence; empty for one of ours.
        author: Such as `Ann <ann@example.com>`; empty for nobody.
        license: An SPDX expression; empty leaves it open.
    """

    name: str
    kind: str
    contract_version: str
    description: str = ""
    author: str = ""
    license: str = ""

    @property
    def names(self) -> Names:
        """All names, made of the chosen one."""
        return names_of(self.name, KINDS[self.kind])


def render(wish: Wish) -> dict[str, str]:
    """Return the files of a new plugin by their paths.

    Raises:
        FerruleError: The name cannot be one.
    """
    kind, names = KINDS[wish.kind], wish.names
    values = _values(wish)
    package = f"src/{names.module}"
    sources = {
        "pyproject.toml": "common/pyproject.toml",
        "README.md": "common/README.md",
        f"{package}/__init__.py": "common/init.py",
        f"{package}/ferrule.toml": "common/ferrule.toml",
        f"{package}/{kind.part}.py": f"{wish.kind}/{kind.part}.py",
        f"tests/test_{kind.part}.py": f"{wish.kind}/test.py",
    }
    templates = files("ferrule_author") / "templates"
    rendered = {
        path: _filled((templates / f"{source}.in").read_text("utf-8"), values)
        for path, source in sources.items()
    }
    return {**rendered, f"{package}/py.typed": ""}


def write(rendered: Mapping[str, str], folder: Path) -> None:
    """Write files into a new or empty folder.

    Raises:
        FerruleError: Something is there already, or it cannot be written.
    """
    _refuse_used(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Beside its place, so that it can be moved there in one step.
        draft = tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent)
    except OSError as error:
        raise FerruleError(f"{folder} cannot be written: {error.strerror}") from None
    try:
        _fill(draft, rendered)
        if folder.is_dir():
            folder.rmdir()
        os.rename(draft, folder)
    except OSError as error:
        raise FerruleError(f"{folder} cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _refuse_used(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise FerruleError(f"{folder} is there already and is no folder; name another with --path")
    if folder.is_dir() and any(folder.iterdir()):
        raise FerruleError(
            f"{folder} is not empty, and nothing is overwritten; name another with --path"
        )


def _fill(draft: str, rendered: Mapping[str, str]) -> None:
    for path, text in rendered.items():
        place = os.path.join(draft, *path.split("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    os.chmod(draft, 0o777 & ~_umask())


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _values(wish: Wish) -> dict[str, str]:
    kind, names = KINDS[wish.kind], wish.names
    target = kind.target.replace("{class}", names.class_name)
    values = {
        "title": names.title,
        "distribution": names.distribution,
        "module": names.module,
        "entry": names.entry,
        "name": names.name,
        "class": names.class_name,
        "variable": names.name.upper(),
        "part": kind.part,
        "group": kind.group,
        "target": f"{names.module}.{kind.part}" + (f":{target}" if target else ""),
        "description": wish.description or f"The {kind.noun} {names.entry} for Ferrule.",
        **_project(wish, kind),
    }
    more = {"turn_on": kind.turn_on, "try_out": kind.try_out, "capabilities": kind.capabilities}
    return values | {key: _filled(text, values).rstrip() for key, text in more.items()}


def _project(wish: Wish, kind: Kind) -> dict[str, str]:
    """What stands in the project file alone, and the word on the licence."""
    contract = _range(wish.contract_version)
    dependencies = (f"ferrule-hookspecs{contract}", *kind.dependencies)
    ours = ("ferrule-core[lean]", *kind.tried_with, "ferrule-testkit")
    needs = (*(f"{each}{contract}" for each in ours), "pytest>=8")
    note = "No licence is chosen yet: add `license` to `pyproject.toml`, and the file LICENSE."
    return {
        "dependencies": ", ".join(f'"{each}"' for each in dependencies),
        "needs": "\n".join(f'    "{each}",' for each in needs),
        "authors": _author_line(wish.author),
        "license": f'license = "{wish.license}"\n' if wish.license else "",
        "license_note": f"Licence: {wish.license}." if wish.license else note,
    }


def _filled(text: str, values: Mapping[str, str]) -> str:
    for key, value in values.items():
        text = text.replace("{{" + key + "}}", value)
    return text


def _range(version: str) -> str:
    """The versions of the contract that fit: from the installed one to before the next major."""
    major, minor, *_ = [*version.split("."), "0", "0"]
    return f">={major}.{minor},<{int(major) + 1}"


def _author_line(author: str) -> str:
    if not author:
        return ""
    name, _, address = author.partition("<")
    fields = {"name": name.strip(), "email": address.strip(" >")}
    inner = ", ".join(f"{key} = {_quoted(text)}" for key, text in fields.items() if text)
    return f"authors = [{{ {inner} }}]\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
