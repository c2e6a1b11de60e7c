"""Where a workspace's repository stands, read from its files without starting git."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ferrule_hookspecs.threads import GitInfo

_REF: Final = "ref: "


def git_info(cwd: str) -> GitInfo | None:
    """Return branch and commit of the repository around a folder; None outside of one."""
    start = Path(cwd)
    for folder in (start, *start.parents):
        git = folder / ".git"
        try:
            if git.is_file():
                git = (folder / git.read_text().removeprefix("gitdir:").strip()).resolve()
            if (git / "HEAD").is_file():
                return _read(git)
        except (OSError, UnicodeDecodeError):
            return None
    return None


def _read(git: Path) -> GitInfo:
    head = (git / "HEAD").read_text().strip()
    if not head.startswith(_REF):
        return {"sha": head, "branch": None, "originUrl": None}
    ref = head.removeprefix(_REF)
    return {"sha": _sha(git, ref), "branch": ref.removeprefix("refs/heads/"), "originUrl": None}


def _sha(git: Path, ref: str) -> str | None:
    common = git / "commondir"
    if common.is_file():
        git = (git / common.read_text().strip()).resolve()
    loose = git / ref
    if loose.is_file():
        return loose.read_text().strip()
    packed = git / "packed-refs"
    for line in packed.read_text().splitlines() if packed.is_file() else ():
        sha, _, name = line.partition(" ")
        if name == ref:
            return sha
    return None
