"""Attempts to write where nothing may be written."""

from __future__ import annotations

import array
import ctypes
import os
import shutil
from collections.abc import Callable
from contextlib import suppress

from .attempt import (
    AT_FDCWD,
    EXCHANGE,
    NotHere,
    Place,
    append,
    attempt,
    call,
    in_user_namespace,
    libc,
    plain_call,
    write,
)

MS_BIND, MS_REMOUNT, MS_REC = 0x1000, 0x20, 0x4000
SET_FLAGS, GET_FLAGS, NO_DUMP = 0x40086602, 0x80086601, 0x40
RACES = 400


def _source(place: Place) -> str:
    """A file of one's own to move about: in the workspace, else in the scratch folder."""
    for folder in (place.workspace, os.environ.get("TMPDIR", "/tmp"), "/dev/shm"):
        path = os.path.join(folder, f"own-{os.getpid()}")
        with suppress(OSError):
            write(path)
            return path
    raise OSError(30, "no folder can be written")


@attempt("files.create")
def _(place: Place) -> object:
    write(place.outside_file())


@attempt("files.append")
def _(place: Place) -> object:
    append(place.canary)


@attempt("files.truncate")
def _(place: Place) -> object:
    os.truncate(place.canary, 0)


@attempt("files.truncate_open")
def _(place: Place) -> object:
    os.close(os.open(place.canary, os.O_WRONLY | os.O_TRUNC))


@attempt("files.unlink")
def _(place: Place) -> object:
    os.unlink(place.canary)


@attempt("files.rename_within")
def _(place: Place) -> object:
    os.rename(place.canary, place.outside_file("renamed"))


@attempt("files.rename_away")
def _(place: Place) -> object:
    os.rename(place.canary, place.in_workspace("stolen"))


@attempt("files.rename_over")
def _(place: Place) -> object:
    os.rename(_source(place), place.canary)


@attempt("files.exchange")
def _(place: Place) -> object:
    source = os.fsencode(_source(place))
    call("renameat2", AT_FDCWD, source, AT_FDCWD, os.fsencode(place.canary), EXCHANGE)


@attempt("files.make_folder")
def _(place: Place) -> object:
    os.mkdir(place.outside_file("folder"))


@attempt("files.remove_folder")
def _(place: Place) -> object:
    os.rmdir(place.outside_file("empty"))


@attempt("files.make_link")
def _(place: Place) -> object:
    os.symlink("/", place.outside_file("link"))


@attempt("files.hard_link_out")
def _(place: Place) -> object:
    os.link(_source(place), place.outside_file("second-name"))


@attempt("files.hard_link_in")
def _(place: Place) -> object:
    os.link(place.canary, place.in_workspace("second-name"))
    append(place.in_workspace("second-name"))


@attempt("files.make_pipe")
def _(place: Place) -> object:
    os.mkfifo(place.outside_file("pipe"))


@attempt("files.make_socket")
def _(place: Place) -> object:
    import socket

    with socket.socket(socket.AF_UNIX) as made:
        made.bind(place.outside_file("socket"))


@attempt("files.change_mode")
def _(place: Place) -> object:
    os.chmod(place.canary, 0o777)


@attempt("files.change_owner")
def _(place: Place) -> object:
    os.chown(place.canary, os.geteuid(), os.getegid())


@attempt("files.change_times")
def _(place: Place) -> object:
    os.utime(place.canary, (1, 1))


@attempt("files.extended_attribute")
def _(place: Place) -> object:
    os.setxattr(place.canary, "user.intruder", b"1")


@attempt("files.flags")
def _(place: Place) -> object:
    import fcntl

    descriptor = os.open(place.canary, os.O_RDONLY)
    try:
        flags = array.array("l", [0])
        fcntl.ioctl(descriptor, GET_FLAGS, flags)
        flags[0] |= NO_DUMP
        fcntl.ioctl(descriptor, SET_FLAGS, flags)
    finally:
        os.close(descriptor)


@attempt("files.relative_to_folder")
def _(place: Place) -> object:
    folder = os.open(place.outside, os.O_PATH | os.O_DIRECTORY)
    os.close(os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=folder))


@attempt("files.relative_to_root")
def _(place: Place) -> object:
    root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    os.close(os.open(place.outside.lstrip("/") + "/new", os.O_WRONLY | os.O_CREAT, dir_fd=root))


@attempt("files.openat2")
def _(place: Place) -> object:
    how = (ctypes.c_uint64 * 3)(os.O_WRONLY | os.O_CREAT, 0o644, 0)
    path = os.fsencode(place.outside_file())
    os.close(call("openat2", AT_FDCWD, path, ctypes.byref(how), ctypes.sizeof(how)))


@attempt("files.unnamed_file")
def _(place: Place) -> object:
    descriptor = os.open(place.outside, os.O_TMPFILE | os.O_WRONLY)
    folder = os.open("/", os.O_RDONLY)  # named, lest Python use the call that follows no link
    os.link(f"/proc/self/fd/{descriptor}", place.outside_file("named"), src_dir_fd=folder)


@attempt("files.reopen")
def _(place: Place) -> object:
    descriptor = os.open(place.canary, os.O_RDONLY)
    append(f"/proc/self/fd/{descriptor}")


@attempt("files.handle")
def _(place: Place) -> object:
    class Handle(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]

    handle, mount = Handle(128), ctypes.c_int()
    path = os.fsencode(place.canary)
    call("name_to_handle_at", AT_FDCWD, path, ctypes.byref(handle), ctypes.byref(mount), 0)
    folder = os.open(place.workspace, os.O_RDONLY)
    flags = os.O_WRONLY | os.O_APPEND
    descriptor = call("open_by_handle_at", folder, ctypes.byref(handle), flags)
    os.write(descriptor, b"intruder")


@attempt("files.through_folder_link")
def _(place: Place) -> object:
    write(place.in_workspace("link-folder", "new"))


@attempt("files.through_file_link")
def _(place: Place) -> object:
    append(place.in_workspace("link-file"))


@attempt("files.through_new_link")
def _(place: Place) -> object:
    with suppress(FileExistsError):
        os.symlink(place.outside, place.in_workspace("new-link"))
    write(place.in_workspace("new-link", "new"))


@attempt("files.dots")
def _(place: Place) -> object:
    write(place.in_workspace("..", "outside", "new"))


@attempt("files.dots_of_moved_folder")
def _(place: Place) -> object:
    os.makedirs(place.in_workspace("a", "b"), exist_ok=True)
    folder = os.open(place.in_workspace("a", "b"), os.O_RDONLY)
    os.rename(place.in_workspace("a", "b"), place.in_workspace("b"))
    os.close(os.open("../../outside/new", os.O_WRONLY | os.O_CREAT, dir_fd=folder))


@attempt("files.root_of_self")
def _(place: Place) -> object:
    write("/proc/self/root" + place.outside_file())


@attempt("files.root_of_thread")
def _(place: Place) -> object:
    write("/proc/thread-self/root" + place.outside_file())


@attempt("files.folder_of_self")
def _(place: Place) -> object:
    write("/proc/self/cwd/../outside/new")


@attempt("files.root_of_others")
def _(place: Place) -> object:
    _each_process("root", place.outside_file())


@attempt("files.folder_of_others")
def _(place: Place) -> object:
    for process in _processes():
        for up in range(8):
            path = f"/proc/{process}/cwd/{'../' * up}{place.outside.lstrip('/')}/new"
            with suppress(OSError):
                write(path)
                return
    raise OSError(13, "none lets in")


@attempt("files.descriptors_of_others")
def _(place: Place) -> object:
    for process in _processes():
        with suppress(OSError):
            for name in os.listdir(f"/proc/{process}/fd"):
                path = f"/proc/{process}/fd/{name}"
                with suppress(OSError):
                    if os.path.isdir(path):
                        write(f"{path}/{place.outside.lstrip('/')}/new")
                        return
    raise OSError(13, "none lets in")


@attempt("files.root_of_host_process")
def _(place: Place) -> object:
    write(f"/proc/{place.victim}/root{place.outside_file()}")


@attempt("files.folder_of_host_process")
def _(place: Place) -> object:
    write(f"/proc/{place.victim}/cwd/{os.path.basename(place.stage)}/outside/new")


def _processes() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _each_process(kind: str, rest: str) -> None:
    for process in _processes():
        with suppress(OSError):
            write(f"/proc/{process}/{kind}{rest}")
            return
    raise OSError(13, "none lets in")


@attempt("files.system_accounts")
def _(place: Place) -> object:
    os.close(os.open("/etc/passwd", os.O_WRONLY | os.O_APPEND))


@attempt("files.loader_settings")
def _(place: Place) -> object:
    os.close(os.open("/etc/ld.so.cache", os.O_WRONLY | os.O_APPEND))


@attempt("files.shell_profile")
def _(place: Place) -> object:
    append(os.path.join(place.home, ".bashrc"))


@attempt("files.login_keys")
def _(place: Place) -> object:
    append(os.path.join(place.home, "keys", "authorized_keys"))


@attempt("files.autostart")
def _(place: Place) -> object:
    os.makedirs(os.path.join(place.home, ".config", "autostart"))


@attempt("files.beside_workspace")
def _(place: Place) -> object:
    write(os.path.join(place.stage, "beside"))


@attempt("files.move_workspace")
def _(place: Place) -> object:
    os.rename(place.workspace, place.workspace + "-moved")


@attempt("files.workspace_create")
def _(place: Place) -> object:
    write(place.in_workspace("new"))


@attempt("files.workspace_edit")
def _(place: Place) -> object:
    append(place.in_workspace("data.txt"))


@attempt("files.workspace_remove")
def _(place: Place) -> object:
    os.unlink(place.in_workspace("data.txt"))


@attempt("files.workspace_git")
def _(place: Place) -> object:
    append(place.in_workspace(".git", "HEAD"))


@attempt("files.race_write")
def _(place: Place) -> object:
    _race(place, lambda path: write(path + "/raced"))


@attempt("files.race_rename")
def _(place: Place) -> object:
    def rename(path: str) -> None:
        os.rename(_source(place), path + "/raced")

    _race(place, rename)


@attempt("files.race_folder")
def _(place: Place) -> object:
    _race(place, lambda path: os.mkdir(path + "/raced"))


@attempt("files.race_remove")
def _(place: Place) -> object:
    _race(place, lambda path: os.unlink(path + "/canary.txt"))


def _race(place: Place, act: Callable[[str], None]) -> None:
    """Act on a path whose folder the attacker swaps for a link; alone it is the link at once."""
    swap = place.in_workspace("swap")
    if not os.path.lexists(swap):
        os.symlink(place.outside, swap)
    for _ in range(RACES):
        with suppress(OSError):
            act(swap)
            if os.path.islink(swap):
                return
        with suppress(OSError):
            shutil.rmtree(place.in_workspace("swap", "raced"))
    raise OSError(13, "no round got through")


@attempt("files.bind_mount")
def _(place: Place) -> object:
    def bind() -> None:
        os.makedirs(place.in_workspace("bound"), exist_ok=True)
        _mount(place.outside, place.in_workspace("bound"), MS_BIND)
        write(place.in_workspace("bound", "new"))

    in_user_namespace(bind)


@attempt("files.remount")
def _(place: Place) -> object:
    def remount() -> None:
        for target in ("/", place.stage, place.outside):
            with suppress(OSError):
                _mount("none", target, MS_REMOUNT | MS_BIND)
        write(place.outside_file())

    in_user_namespace(remount)


@attempt("files.uncover")
def _(place: Place) -> object:
    def uncover() -> None:
        for path in (place.workspace, place.outside, place.home, "/tmp", "/proc"):
            with suppress(OSError):
                plain_call("umount2", os.fsencode(path), 2)
        write(place.outside_file())

    in_user_namespace(uncover)


def _mount(source: str, target: str, flags: int) -> None:
    if not hasattr(libc(), "mount"):
        raise NotHere("there is no mount")
    plain_call("mount", os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(flags), None)
