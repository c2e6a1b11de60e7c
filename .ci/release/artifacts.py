"""Builds every distribution from a commit, byte for byte the same each time, and looks into it."""

from __future__ import annotations

import os
import tarfile
import tempfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import Final

from packaging.metadata import Metadata
from tree import ReleaseError, Tree, run

_STRAY: Final = ("__pycache__", ".pyc", ".orig~", ".swp", ".DS_Store", "/tests/", ".env")
_HEADERS: Final = (
    "Name",
    "Version",
    "Summary",
    "License-Expression",
    "License-File",
    "Requires-Python",
    "Description-Content-Type",
)


def build(tree: Tree, out: Path) -> list[Path]:
    """Build wheels and source distributions of the current commit, whatever the folder holds.

    The sources come out of git, so that no stray file of a checkout gets into an archive; all times
    in the archives are the commit's.

    Raises:
        ReleaseError: A build fails, or an archive is not as it should be.
    """
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise ReleaseError(f"{out} is not empty; name a new folder")
    environ = {**os.environ, "SOURCE_DATE_EPOCH": tree.commit_time, "TZ": "UTC", "LC_ALL": "C"}
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "source.tar"
        tree.git("archive", "--format=tar", f"--output={archive}", "HEAD")
        source = Path(folder) / "source"
        with tarfile.open(archive) as tar:
            tar.extractall(source, filter="tar")
        run(
            *("uv", "build", "--all-packages", "--quiet", "--out-dir", out.resolve(), source),
            cwd=source,
            environ=environ,
        )
        (out / ".gitignore").unlink(missing_ok=True)
        files = sorted(out.iterdir())
        check(Tree(source), files)
    return files


def check(tree: Tree, files: list[Path]) -> None:
    """Compare archives with the members they were built of.

    Raises:
        ReleaseError: One is missing, or holds what it should not, or lacks what it should hold.
    """
    version = tree.version
    expected: set[str] = set()
    for member in tree.members:
        stem = f"{str(tree.project(member)['name']).replace('-', '_')}-{version}"
        expected |= {f"{stem}-py3-none-any.whl", f"{stem}.tar.gz"}
    if names := expected ^ {file.name for file in files}:
        raise ReleaseError(f"missing or unexpected: {', '.join(sorted(names))}")
    problems = [
        f"{file.name}: {text}" for file in files for text in _problems(file, _members_of(file))
    ]
    if problems:
        raise ReleaseError("\n".join(problems))


def _members_of(file: Path) -> dict[str, bytes]:
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(file) as tar:
        opened = {item.name: tar.extractfile(item) for item in tar.getmembers() if item.isfile()}
        return {name: stream.read() for name, stream in opened.items() if stream}


def _problems(file: Path, members: dict[str, bytes]) -> list[str]:
    found = [f"stray file {name}" for name in members if any(mark in name for mark in _STRAY)]
    ending = ".dist-info/METADATA" if file.suffix == ".whl" else "/PKG-INFO"
    metadata = next(text for name, text in members.items() if name.endswith(ending))
    try:
        Metadata.from_email(metadata, validate=True)
    except ExceptionGroup as error:
        found += [f"metadata: {each}" for each in error.exceptions]
    headers = HeaderParser().parsestr(metadata.decode())
    found += [f"no {name} in the metadata" for name in _HEADERS if not headers[name]]
    if not any(name.endswith("/LICENSE") and text for name, text in members.items()):
        found.append("no licence inside")
    if not str(headers.get_payload()).strip():
        found.append("no description")
    return found
