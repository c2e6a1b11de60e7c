"""The home: whose it is, who else may write or read it, and whether there is room."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule.doctor.examination import Examination

_SECRET_FILES: Final = ("auth*.json", "credentials*", "secrets*", ".env", "*.token")
_SECRET_KEYS: Final = ("experimental_bearer_token", "authorization", "api-key", "api_key")
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_READ: Final = stat.S_IRGRP | stat.S_IROTH
_MIB: Final = 1024 * 1024
_TIGHT_MIB: Final = 1024
_FULL_MIB: Final = 100


def checks(examination: Examination) -> Iterator[Check]:
    """Look at the home."""
    home = examination.kernel.home
    if not home.exists():
        yield _missing(home)
        yield Check("home.permissions", "skip", "the home does not exist yet")
        yield Check("home.secrets", "skip", "the home does not exist yet")
    else:
        yield _folder(home)
        yield _permissions(home)
        yield _secrets(home)
    yield _space(home)


def _missing(home: Path) -> Check:
    parent = next(folder for folder in home.parents if folder.exists())
    if os.access(parent, os.W_OK | os.X_OK):
        return Check("home.folder", "ok", f"{home} is made when it is first needed")
    return Check(
        "home.folder",
        "fail",
        f"{home} does not exist and cannot be made: {parent} is not writable for you",
        "set FERRULE_HOME to a folder of your own",
    )


def _folder(home: Path) -> Check:
    if not home.is_dir():
        return Check(
            "home.folder", "fail", f"{home} is not a folder", "set FERRULE_HOME to a folder"
        )
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return Check(
            "home.folder",
            "fail",
            f"{home} is not writable for you, so no thread can be stored",
            f"chmod u+rwx {home}, or set FERRULE_HOME to a folder of your own",
        )
    return Check("home.folder", "ok", f"{home} is writable")


def _permissions(home: Path) -> Check:
    """Whoever may write the home decides what runs: it holds configuration and rules."""
    if os.name != "posix":
        return Check("home.permissions", "skip", "the permissions of this system are not examined")
    facts = home.stat()
    if facts.st_uid not in {os.geteuid(), 0}:
        return Check(
            "home.permissions",
            "warn",
            f"{home} belongs to user {facts.st_uid}, and you are user {os.geteuid()}",
            "set FERRULE_HOME to a folder of your own",
        )
    writable = [path for path in (home, *_own_files(home)) if _mode(path) & _OTHERS_WRITE]
    if writable:
        names = ", ".join(f"{path} (mode {_mode(path):04o})" for path in writable)
        return Check(
            "home.permissions",
            "fail",
            f"others may write {names}, and with it decide what runs in your name",
            f"chmod go-w {' '.join(map(str, writable))}",
        )
    if _mode(home) & _OTHERS_READ:
        return Check(
            "home.permissions",
            "warn",
            f"others may read your threads: {home} has mode {_mode(home):04o}",
            f"chmod 700 {home}",
        )
    return Check("home.permissions", "ok", f"only you may enter {home} (mode {_mode(home):04o})")


def _secrets(home: Path) -> Check:
    if os.name != "posix":
        return Check("home.secrets", "skip", "the permissions of this system are not examined")
    files = [path for pattern in _SECRET_FILES for path in home.glob(pattern) if path.is_file()]
    files += [path for path in _own_files(home) if _holds_secret(path)]
    if not files:
        return Check("home.secrets", "ok", f"no credentials are kept in {home}")
    readable = [path for path in files if _mode(path) & (_OTHERS_READ | _OTHERS_WRITE)]
    if readable:
        names = ", ".join(f"{path} (mode {_mode(path):04o})" for path in readable)
        return Check(
            "home.secrets",
            "warn" if not _mode(home) & 0o077 else "fail",
            f"others may read credentials: {names}",
            f"chmod 600 {' '.join(map(str, readable))}",
        )
    names = ", ".join(path.name for path in files)
    return Check("home.secrets", "ok", f"only you may read {names}")


def _own_files(home: Path) -> list[Path]:
    """The files that decide what runs."""
    return [path for path in (home / "config.toml", *home.glob("*.config.toml")) if path.is_file()]


def _holds_secret(path: Path) -> bool:
    try:
        text = path.read_text("utf-8", "replace").lower()
    except OSError:
        return False
    return any(key in text for key in _SECRET_KEYS)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _space(home: Path) -> Check:
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(place).free // _MIB
    text = f"{free / 1024:.1f} GiB are free where {home} is"
    if free < _FULL_MIB:
        return Check("home.space", "fail", text, "make room, or set FERRULE_HOME elsewhere")
    if free < _TIGHT_MIB:
        return Check("home.space", "warn", text, "make room, or set FERRULE_HOME elsewhere")
    return Check("home.space", "ok", text)
