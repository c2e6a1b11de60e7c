"""What is checked: a checkout or an installed distribution, read without importing any of it."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import unquote, urlsplit

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.metadata import Distribution

_README = ("README.md", "README.rst", "README.txt", "README")


class Point(NamedTuple):
    """An entry point."""

    group: str
    name: str
    target: str

    @property
    def module(self) -> str:
        """The module it names."""
        return self.target.partition(":")[0].strip()

    @property
    def package(self) -> str:
        """The top-level package of that."""
        return self.module.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Subject:
    """A plugin's project, or the distribution made of it.

    Attributes:
        place: The file that its metadata is in.
        name: Its name, as written.
        version: Its version; empty where none is said.
        description: One sentence.
        python: Which versions of Python it asks for.
        license: Its licence, in whatever form; empty where none is said.
        author: Who made it; likewise.
        readme: The README; None where there is none.
        requirements: What it depends on.
        points: Its entry points in groups of Ferrule, known or not.
        source: Where its packages lie.
        checkout: The project's folder; None for what is installed.
        is_dynamic: Whether the version is only known once it is built.
    """

    place: Path
    name: str
    version: str
    description: str
    python: str
    license: str
    author: str
    readme: str | None
    requirements: Sequence[str]
    points: Sequence[Point]
    source: Path
    checkout: Path | None = None
    is_dynamic: bool = False

    @property
    def distribution(self) -> str:
        """Its name, spelt the one way in which names can be compared."""
        return normal_name(self.name)

    @property
    def packages(self) -> list[str]:
        """The top-level packages that its entry points are in."""
        return sorted({point.package for point in self.points})

    def file_of(self, module: str) -> Path | None:
        """Find the file of a module of its own; None where there is none."""
        path = self.source.joinpath(*module.split("."))
        found = (path.with_name(f"{path.name}.py"), path / "__init__.py")
        return next((file for file in found if file.is_file()), None)

    def sources(self) -> list[Path]:
        """List the Python files of its packages."""
        found: list[Path] = []
        for package in self.packages:
            folder = self.source / package
            module = self.source / f"{package}.py"
            found += sorted(folder.rglob("*.py")) if folder.is_dir() else [module]
        return [file for file in found if file.is_file()]

    def shown(self, path: Path) -> str:
        """Name a file of it from its own folder."""
        base = self.checkout or self.source
        return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)


def normal_name(name: str) -> str:
    """Spell a distribution's name the one way in which names can be compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_subject(what: str) -> Subject:
    """Read what a command line names: a folder, or an installed distribution.

    Raises:
        FerruleError: It is neither, or its metadata cannot be read.
    """
    folder = Path(what)
    if (folder / "pyproject.toml").is_file():
        return read_checkout(folder.resolve())
    if folder.exists():
        raise FerruleError(f"{what} cannot be checked: no pyproject.toml is there")
    return read_installed(what)


def read_checkout(folder: Path) -> Subject:
    """Read a project's folder.

    Raises:
        FerruleError: Its `pyproject.toml` cannot be read or says too little.
    """
    place = folder / "pyproject.toml"
    try:
        project = tomllib.loads(place.read_text("utf-8"))["project"]
        points = project.get("entry-points", {})
        return Subject(
            place,
            str(project.get("name", "")),
            str(project.get("version", "")),
            str(project.get("description", "")),
            str(project.get("requires-python", "")),
            _license(project.get("license")),
            _people(project.get("authors", []) or project.get("maintainers", [])),
            _readme(folder, project.get("readme")),
            tuple(map(str, project.get("dependencies", []))),
            _points((group, n, t) for group in points for n, t in points[group].items()),
            folder / "src" if (folder / "src").is_dir() else folder,
            folder,
            "version" in project.get("dynamic", []),
        )
    except KeyError:
        raise FerruleError(f"{place} has no table [project]; plugins need one") from None
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise FerruleError(f"{place} cannot be read: {error}") from None


def read_installed(name: str) -> Subject:
    """Read an installed distribution; of an editable one, its checkout.

    Raises:
        FerruleError: It is not installed.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError):
        raise FerruleError(
            f"{name!r} cannot be checked: it is no folder, and no distribution of this name is"
            " installed"
        ) from None
    if checkout := _editable_checkout(found):
        return read_checkout(checkout)
    facts = found.metadata
    known = {key: facts[key] or "" for key in facts}
    people = ("Author", "Author-email", "Maintainer", "Maintainer-email")
    payload = facts.get_payload()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] -- it is an email message
    return Subject(
        Path(str(found.locate_file(""))),
        known.get("Name", name),
        known.get("Version", ""),
        known.get("Summary", ""),
        known.get("Requires-Python", ""),
        known.get("License-Expression") or known.get("License", ""),
        next((known[key] for key in people if known.get(key)), ""),
        str(payload or "") or None,  # pyright: ignore[reportUnknownArgumentType] -- likewise
        tuple(found.requires or ()),
        _points((point.group, point.name, point.value) for point in found.entry_points),
        Path(str(found.locate_file(""))),
    )


def _editable_checkout(found: Distribution) -> Path | None:
    text = found.read_text("direct_url.json")
    if not text:
        return None
    data = cast("Mapping[str, object]", json.loads(text))
    info = cast("Mapping[str, object]", data.get("dir_info", {}))
    return Path(unquote(urlsplit(str(data["url"])).path)) if info.get("editable") else None


def _points(found: object) -> tuple[Point, ...]:
    rows = cast("Sequence[tuple[str, str, str]]", found)
    return tuple(sorted(Point(*row) for row in rows if row[0].startswith("ferrule.")))


def _license(value: object) -> str:
    if isinstance(value, dict):
        table = cast("Mapping[str, str]", value)
        return table.get("text") or table.get("file") or ""
    return str(value or "")


def _people(value: object) -> str:
    people = cast("Sequence[Mapping[str, str]]", value)
    return ", ".join(filter(None, (each.get("name") or each.get("email") for each in people)))


def _readme(folder: Path, value: object) -> str | None:
    if isinstance(value, dict):
        table = cast("Mapping[str, str]", value)
        if "text" in table:
            return table["text"]
        value = table.get("file")
    names = [value] if isinstance(value, str) else _README
    for name in names:
        if (folder / name).is_file():
            return (folder / name).read_text("utf-8", errors="replace")
    return None
