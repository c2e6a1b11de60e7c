"""Reads the metadata of installed plugins from vetted folders, without importing any of them.

The index calls this when its cache is stale. A distribution whose metadata cannot be read is
reported and left out; it never hides the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
from ferrule.entry import Entry
from ferrule.stamps import file_stamp, tree_stamp
from ferrule.versions import normal_name, split_requirement
from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.manifest import MANIFEST_NAME, parse_manifest
from ferrule_hookspecs.slots import ALL_GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_CONTRACT = "ferrule-hookspecs"
_EXTRAS = re.compile(r"^\[[^\]]*\]\s*")
_OF_EXTRA = re.compile(r"\bextra\s*==")
_PUBLISHER = ("Author", "Author-email", "Maintainer", "Maintainer-email")
_CODE = (".py", ".so", ".pyd", ".pyc")
_HASHES = frozenset({"sha256", "sha384", "sha512"})
_BY_INSTALLER = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})


@dataclass(slots=True)
class Scan:
    """What a look at the site folders gave.

    Attributes:
        entries: All entry points of our groups.
        files: Metadata files with their stamps; a change of one makes the scan stale.
        trees: Source folders of editable plugins with their stamps; likewise.
        problems: What could not be read, one sentence each.
        contract_version: Version of the installed contract; empty when it was not found.
    """

    entries: list[Entry] = field(default_factory=list[Entry])
    files: dict[str, str] = field(default_factory=dict[str, str])
    trees: dict[str, str] = field(default_factory=dict[str, str])
    problems: list[str] = field(default_factory=list[str])
    contract_version: str = ""


def scan_directories(directories: Iterable[str]) -> Scan:
    """Find every entry point in the given site folders; the first of two namesakes counts."""
    scan = Scan()
    seen: set[str] = set()
    contract_stamp = ""
    for directory in directories:
        for folder in _metadata_folders(directory):
            name = normal_name(folder.name.split("-", 1)[0])
            try:
                if name == _CONTRACT and not scan.contract_version:
                    scan.contract_version, contract_stamp = _read_contract(folder, scan)
                found = _read_folder(folder, directory, scan)
            except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
                scan.problems.append(f"the metadata in {folder} cannot be read: {error}")
                continue
            if found and name in seen:
                scan.problems.append(f"{folder} is left out: {name} is installed twice")
            elif found:
                seen.add(name)
                scan.entries += found
    scan.entries = [
        entry._replace(stamp=f"{entry.stamp};{contract_stamp}") for entry in scan.entries
    ]
    scan.entries.sort(key=lambda entry: (entry.group, entry.name, entry.distribution))
    return scan


def scan_checkout(path: str) -> list[Entry]:
    """Read the entry points of a development checkout from its `pyproject.toml`.

    Raises:
        ValueError: It has none, or it cannot be understood.
        OSError: It cannot be read.
    """
    root = Path(path).resolve()
    table = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    project = cast("Mapping[str, object]", table.get("project", {}))
    groups = cast("Mapping[str, Mapping[str, str]]", project.get("entry-points", {}))
    source = root / "src" if (root / "src").is_dir() else root
    requirements = cast("list[str]", project.get("dependencies", []))
    entry = Entry(
        "",
        "",
        "",
        normal_name(_spelt(str(project["name"]))) if "name" in project else root.name,
        _spelt(str(project.get("version", "0"))),
        str(root),
        summary=_spelt(str(project.get("description", ""))),
        requires_hookspecs=_contract_specifier(requirements),
        requires_python=str(project.get("requires-python", "")),
        roots=(str(source),),
        import_path=str(source),
        is_dev=True,
        stamp=tree_stamp(str(source)),
    )
    return [
        _with_manifest(entry._replace(group=group, name=_spelt(name), target=target))
        for group, names in sorted(groups.items())
        if group in ALL_GROUPS
        for name, target in sorted(names.items())
    ]


def changed_files(entry: Entry) -> list[str]:
    """Name the files of an entry's distribution that are not what was installed, or came since."""
    folder = Path(entry.location)
    if entry.is_dev or entry.is_editable:
        return []
    site = folder.parent
    recorded = _recorded(folder)
    if not recorded:
        return [f"{folder.name}/RECORD, which names no contents"]
    changed = [path for path, digest in recorded if not _is_as_recorded(site / path, digest)]
    return [*changed, *_added_files(site, {path for path, _ in recorded})]


def _added_files(site: Path, recorded: set[str]) -> list[str]:
    """Name what lies in the packages of a distribution and could be imported with them.

    Or instead of a module: a package or a library of the same name is found first.
    """
    named = [path.removesuffix(".py").split("/") for path in recorded if path.endswith(".py")]
    usual = ["/".join(names) for names in named if all(map(str.isidentifier, names))]
    modules = [name for name in usual if "/" not in name]
    packages = [name.removesuffix("/__init__") for name in usual if name.endswith("/__init__")]
    found = [path for name in (*modules, *packages) for path in _code_files(site / name)]
    found += [path for name in modules for path in site.glob(f"{name}.*") if path.suffix in _CODE]
    names = {path.relative_to(site).as_posix() for path in found}
    return sorted(names - recorded)


def _code_files(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            if name.endswith(_CODE) or name == MANIFEST_NAME:
                yield Path(parent, name)


def _metadata_folders(directory: str) -> list[Path]:
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".dist-info"))
    except OSError:
        return []
    return [Path(directory, name) for name in names]


def _read_folder(folder: Path, directory: str, scan: Scan) -> list[Entry]:
    """Read one distribution; nothing when it offers nothing of ours."""
    path = folder / "entry_points.txt"
    record, stamp = str(folder / "RECORD"), file_stamp(str(path))
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        if not os.path.exists(record):  # an installer writes it last: this one is not done yet
            scan.files[record] = ""
        return []
    if "ferrule." not in text:
        return []
    scan.files[str(path)] = stamp
    if normal_name(folder.name.partition("-")[0]) not in BUILT_IN_DISTRIBUTIONS:
        scan.files[record] = file_stamp(record)
    points = [point for point in _entry_points(text) if point[0] in ALL_GROUPS]
    if not points:
        return []
    base = _distribution(folder, directory, scan)
    return [
        _with_manifest(base._replace(group=group, name=name, target=target))
        for group, name, target in points
    ]


def _with_manifest(entry: Entry) -> Entry:
    """Add what the package says about itself; what cannot be read is a fault of the entry."""
    package = entry.target.partition(":")[0].partition(".")[0]
    path = Path(entry.roots[0], package, MANIFEST_NAME)
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return entry
    except (OSError, ValueError) as error:
        return entry._replace(manifest_fault=f"{path} cannot be read: {error}")
    try:
        return entry._replace(manifest=parse_manifest(text, str(path)))
    except PluginError as error:
        return entry._replace(manifest_fault=str(error))


def _distribution(folder: Path, directory: str, scan: Scan) -> Entry:
    """Make an entry that holds all that the entries of a distribution share."""
    headers = list(_headers(folder / "METADATA"))
    fields = dict(reversed(headers))
    own = normal_name(folder.name.partition("-")[0])
    if normal_name(fields.get("Name", own)) != own:  # what is ours is told by its name
        raise ValueError(f"it says that it is {fields['Name']}")
    source = _editable_source(folder)
    stamp = f"{fields.get('Version', '')};{file_stamp(str(folder / 'RECORD'))}"
    if source:
        scan.trees[source] = tree_stamp(source)
        stamp += ";" + scan.trees[source]
    return Entry(
        "",
        "",
        "",
        own,
        fields.get("Version", "0"),
        str(folder),
        summary=fields.get("Summary", ""),
        publisher=next((fields[key] for key in _PUBLISHER if key in fields), ""),
        requires_hookspecs=_contract_specifier(
            value for key, value in headers if key == "Requires-Dist"
        ),
        requires_python=fields.get("Requires-Python", ""),
        record_hash=_record_hash(folder),
        roots=(source,) if source else (directory,),
        import_path="" if source else directory,
        is_editable=bool(source),
        stamp=stamp,
    )


def _read_contract(folder: Path, scan: Scan) -> tuple[str, str]:
    version = dict(_headers(folder / "METADATA")).get("Version", "")
    source = _editable_source(folder)
    if source:
        scan.trees[source] = tree_stamp(source)
        return version, scan.trees[source]
    return version, version


def _entry_points(text: str) -> Iterator[tuple[str, str, str]]:
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif "=" in line and not line.startswith(("#", ";")):
            name, _, target = line.partition("=")
            yield group, _spelt(name.strip()), target.partition("[")[0].strip()


def _headers(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text("utf-8").splitlines():
        if not line:
            return
        key, separator, value = line.partition(":")
        if separator:
            yield key, _spelt(value.strip())


def _spelt(text: str) -> str:
    """Spell out what could steer a terminal: who is asked for trust reads what is there."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _contract_specifier(requirements: Iterable[str]) -> str:
    """Find the range of the contract; what only an extra of the plugin asks for is none."""
    for requirement in requirements:
        wanted, _, marker = requirement.partition(";")
        name, rest = split_requirement(wanted)
        if normal_name(name) == _CONTRACT and not _OF_EXTRA.search(marker):
            rest = _EXTRAS.sub("", rest)
            return "" if rest.startswith("@") else rest.strip("() ")
    return ""


def _editable_source(folder: Path) -> str:
    """Return the checkout an editable distribution runs from; empty for an ordinary one."""
    try:
        data = cast("Mapping[str, object]", json.loads((folder / "direct_url.json").read_text()))
    except FileNotFoundError:
        return ""
    info = cast("Mapping[str, object]", data.get("dir_info", {}))
    if not info.get("editable"):
        return ""
    root = unquote(urlsplit(str(data["url"])).path)
    if os.name == "nt":
        root = root.lstrip("/")
    source = os.path.join(root, "src")
    return source if os.path.isdir(source) else root


def _recorded(folder: Path) -> list[tuple[str, str]]:
    """List path and digest of what a wheel brought, leaving out what installers add.

    A digest that cannot be compared stays, so that its file counts as changed.
    """
    try:
        lines = (folder / "RECORD").read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
    found: list[tuple[str, str]] = []
    for line in lines:
        path, digest, _ = [*line.rsplit(",", 2), "", ""][:3]
        is_added = path.endswith(".pyc") or path.startswith("..")
        is_added = is_added or (".dist-info/" in path and _is_by_installer(path))
        if path and not is_added:
            found.append((path.strip('"'), digest))
    return sorted(found)


def _is_by_installer(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _BY_INSTALLER or name.startswith("uv_")


def _record_hash(folder: Path) -> str:
    """Hash what a wheel brought: the same whichever installer unpacked it."""
    text = "\n".join(f"{path},{digest}" for path, digest in _recorded(folder))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _is_as_recorded(path: Path, recorded: str) -> bool:
    kind = recorded.partition("=")[0]
    if kind not in _HASHES:
        return False
    try:
        status = path.stat()
    except OSError:
        return False
    return recorded == _digest_now(
        path, kind, status.st_ctime_ns, status.st_mtime_ns, status.st_size
    )


@lru_cache(maxsize=4096)
def _digest_now(path: Path, kind: str, *_: int) -> str:
    """Hash a file once for as long as its time stamps say that it is the same."""
    from base64 import urlsafe_b64encode

    try:
        digest = hashlib.new(kind, path.read_bytes()).digest()
    except OSError:
        return ""
    return f"{kind}=" + urlsafe_b64encode(digest).rstrip(b"=").decode()
