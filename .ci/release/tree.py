"""The checkout a release is made of: its members, their common version, and git."""

from __future__ import annotations

import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.version import Version

_VERSION: Final = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
_CODE: Final = ("core/src/ferrule/__init__.py", "plugins/wire/src/ferrule_wire/identity.py")
"""Places in the code that know the version: reading metadata would slow down every start."""


class ReleaseError(Exception):
    """The release cannot be made; the message says why and what to do."""


def run(*command: str | Path, cwd: Path, environ: dict[str, str] | None = None) -> str:
    """Run a program and return what it wrote.

    Raises:
        ReleaseError: It failed.
    """
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        told = (done.stderr or done.stdout).strip()
        raise ReleaseError(f"{' '.join(map(str, command))} failed:\n{told}")
    return done.stdout


@dataclass(frozen=True)
class Tree:
    """A checkout."""

    root: Path

    @property
    def members(self) -> list[Path]:
        """The folders of all distributions, the meta-distribution first."""
        settings = tomllib.loads((self.root / "pyproject.toml").read_text("utf-8"))
        patterns = settings["tool"]["uv"]["workspace"]["members"]
        found = [path for pattern in patterns for path in self.root.glob(pattern)]
        return [self.root, *sorted(path for path in found if (path / "pyproject.toml").is_file())]

    def project(self, member: Path) -> dict[str, object]:
        """Read the `[project]` table of a member."""
        table = tomllib.loads((member / "pyproject.toml").read_text("utf-8"))["project"]
        return dict(table)

    @property
    def version(self) -> str:
        """The version all members have.

        Raises:
            ReleaseError: They differ.
        """
        versions = {str(self.project(member)["version"]) for member in self.members}
        if len(versions) != 1:
            raise ReleaseError(f"members have different versions: {', '.join(sorted(versions))}")
        return versions.pop()

    def bump(self, new: str) -> list[Path]:
        """Give all members a new version, pins among them included; returns the changed files.

        Raises:
            ReleaseError: The version is not well formed or not newer.
        """
        old = self.version
        if not _VERSION.fullmatch(new):
            raise ReleaseError(f"{new!r} is not a version such as 1.2.3 or 1.2.3rc1")
        if Version(new) <= Version(old):
            raise ReleaseError(f"{new} is not newer than {old}")
        changed = [member / "pyproject.toml" for member in self.members]
        for file in changed:
            text = file.read_text("utf-8")
            text = text.replace(f'\nversion = "{old}"\n', f'\nversion = "{new}"\n', 1)
            text = re.sub(rf'("ferrule[\w\[\],-]*)==({re.escape(old)})"', rf'\1=={new}"', text)
            text = re.sub(r'("ferrule-[\w\[\],-]+)~=[\w.]+"', rf'\1~={_compatible(new)}"', text)
            file.write_text(text, "utf-8")
        for name in _CODE:
            file = self.root / name
            file.write_text(file.read_text("utf-8").replace(f'"{old}"', f'"{new}"'), "utf-8")
            changed.append(file)
        run("uv", "lock", "--quiet", cwd=self.root)
        return [*changed, self.root / "uv.lock"]

    def git(self, *arguments: str) -> str:
        """Run git in the checkout."""
        return run("git", *arguments, cwd=self.root).strip()

    @property
    def commit_time(self) -> str:
        """When the current commit was made, in seconds since 1970: the time all builds claim."""
        return self.git("log", "-1", "--format=%ct")

    @property
    def fragments(self) -> list[Path]:
        """What the changelog of the next release is made of."""
        folder = self.root / "docs" / "changelog.d"
        return sorted(folder.glob("*.md")) if folder.is_dir() else []


def _compatible(version: str) -> str:
    """The oldest version of the contract that members of this version work with."""
    major, minor, patch = version.split(".")
    prerelease = re.sub(r"^\d+", "", patch)
    return f"{major}.{minor}.0{prerelease}"
