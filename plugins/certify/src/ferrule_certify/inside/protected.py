"""Attempts on what is protected inside of a writable folder, and on names that must not appear."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

from .attempt import (
    AT_FDCWD,
    EXCHANGE,
    Place,
    append,
    attempt,
    call,
    in_user_namespace,
    plain_call,
    write,
)


def _hook(place: Place, *folder: str) -> None:
    write(place.in_workspace(*folder, ".git", "hooks", "pre-commit"))


def _replace(place: Place, name: str) -> None:
    """Move a folder away and put one of one's own in its place."""
    own = place.in_workspace("own-folder")
    os.makedirs(own, exist_ok=True)
    write(os.path.join(own, "config"))
    os.rename(place.in_workspace(name), place.in_workspace("away"))
    os.rename(own, place.in_workspace(name))


@attempt("protected.hook")
def _(place: Place) -> object:
    _hook(place)


@attempt("protected.hook_edit")
def _(place: Place) -> object:
    append(place.in_workspace(".git", "hooks", "post-commit"))


@attempt("protected.hook_mode")
def _(place: Place) -> object:
    os.chmod(place.in_workspace(".git", "hooks", "post-commit"), 0o777)


@attempt("protected.hooks_folder")
def _(place: Place) -> object:
    os.rename(place.in_workspace(".git", "hooks"), place.in_workspace(".git", "hooks-away"))
    _hook(place)


@attempt("protected.config")
def _(place: Place) -> object:
    append(place.in_workspace(".git", "config"))


@attempt("protected.config_rename_over")
def _(place: Place) -> object:
    own = place.in_workspace("own-config")
    write(own)
    os.rename(own, place.in_workspace(".git", "config"))


@attempt("protected.config_unlink")
def _(place: Place) -> object:
    os.unlink(place.in_workspace(".git", "config"))


@attempt("protected.config_second_name")
def _(place: Place) -> object:
    os.link(place.in_workspace(".git", "config"), place.in_workspace("second-name"))
    append(place.in_workspace("second-name"))


@attempt("protected.config_new_link")
def _(place: Place) -> object:
    with suppress(FileExistsError):
        os.symlink(place.in_workspace(".git"), place.in_workspace("alias"))
    append(place.in_workspace("alias", "config"))


@attempt("protected.config_truncate")
def _(place: Place) -> object:
    os.truncate(place.in_workspace(".git", "config"), 0)


@attempt("protected.config_reopen")
def _(place: Place) -> object:
    descriptor = os.open(place.in_workspace(".git", "config"), os.O_RDONLY)
    append(f"/proc/self/fd/{descriptor}")


@attempt("protected.repository_move")
def _(place: Place) -> object:
    os.rename(place.in_workspace(".git"), place.in_workspace("git-away"))


@attempt("protected.repository_replace")
def _(place: Place) -> object:
    _replace(place, ".git")


@attempt("protected.repository_exchange")
def _(place: Place) -> object:
    own = place.in_workspace("own-git")
    os.makedirs(own, exist_ok=True)
    names = os.fsencode(own), os.fsencode(place.in_workspace(".git"))
    call("renameat2", AT_FDCWD, names[0], AT_FDCWD, names[1], EXCHANGE)


@attempt("protected.repository_remove")
def _(place: Place) -> object:
    shutil.rmtree(place.in_workspace(".git"))


@attempt("protected.nested_hook")
def _(place: Place) -> object:
    _hook(place, "nested")


@attempt("protected.nested_config")
def _(place: Place) -> object:
    append(place.in_workspace("nested", ".git", "config"))


@attempt("protected.nested_replace")
def _(place: Place) -> object:
    _replace(place, "nested/.git")


@attempt("protected.nested_parent")
def _(place: Place) -> object:
    _replace(place, "nested")


@attempt("protected.pointer")
def _(place: Place) -> object:
    write(place.in_workspace("tree", ".git"), "gitdir: ../own", os.O_WRONLY | os.O_TRUNC)


@attempt("protected.settings")
def _(place: Place) -> object:
    append(place.in_workspace(place.present, "config.toml"))


@attempt("protected.settings_new")
def _(place: Place) -> object:
    write(place.in_workspace(place.present, "rules"))


@attempt("protected.settings_move")
def _(place: Place) -> object:
    os.rename(place.in_workspace(place.present), place.in_workspace("ferrule-away"))


@attempt("protected.link")
def _(place: Place) -> object:
    link = place.in_workspace("linked-settings")
    os.unlink(link)
    os.symlink(place.in_workspace("swap"), link)


@attempt("protected.link_target")
def _(place: Place) -> object:
    write(place.in_workspace("shared", "agents", "new"))


@attempt("protected.second_root")
def _(place: Place) -> object:
    write(os.path.join(place.extra, ".git", "hooks", "pre-commit"))


@attempt("protected.uncover")
def _(place: Place) -> object:
    def uncover() -> None:
        for name in (".git/hooks", ".git/config", ".git", place.present):
            with suppress(OSError):
                plain_call("umount2", os.fsencode(place.in_workspace(name)), 2)
        _hook(place)

    in_user_namespace(uncover)


@attempt("missing.folder")
def _(place: Place) -> object:
    os.mkdir(place.in_workspace(place.missing))
    write(place.in_workspace(place.missing, "tasks.json"))


@attempt("missing.file")
def _(place: Place) -> object:
    write(place.in_workspace(place.missing))


@attempt("missing.link")
def _(place: Place) -> object:
    os.symlink(place.in_workspace("swap"), place.in_workspace(place.missing))


@attempt("missing.move")
def _(place: Place) -> object:
    own = place.in_workspace("own-folder")
    os.makedirs(own, exist_ok=True)
    write(os.path.join(own, "config"))
    os.rename(own, place.in_workspace(place.missing))


@attempt("missing.remove_and_make")
def _(place: Place) -> object:
    with suppress(OSError):
        os.rmdir(place.in_workspace(place.missing))
    os.makedirs(place.in_workspace(place.missing), exist_ok=True)
    write(place.in_workspace(place.missing, "tasks.json"))


@attempt("missing.move_stand_in")
def _(place: Place) -> object:
    with suppress(FileNotFoundError):
        os.rename(place.in_workspace(place.missing), place.in_workspace("vscode-away"))
    os.mkdir(place.in_workspace(place.missing))
    write(place.in_workspace(place.missing, "tasks.json"))


@attempt("missing.second_root")
def _(place: Place) -> object:
    os.mkdir(os.path.join(place.extra, place.missing))
    write(os.path.join(place.extra, place.missing, "config.toml"))
