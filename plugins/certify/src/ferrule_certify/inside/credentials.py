"""Attempts to read what must not be read; each returns what it read, and the host compares."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

from .attempt import (
    NotHere,
    Place,
    append,
    attempt,
    call,
    in_child,
    in_user_namespace,
    plain_call,
    read,
)

WORD = ctypes.sizeof(ctypes.c_long)


@attempt("secrets.home_key")
def _(place: Place) -> object:
    return read(os.path.join(place.home, "keys", "id_ed25519"))


@attempt("secrets.home_key_root")
def _(place: Place) -> object:
    return read("/proc/self/root" + os.path.join(place.home, "keys", "id_ed25519"))


@attempt("secrets.home_key_link")
def _(place: Place) -> object:
    for folder in (place.workspace, os.environ.get("TMPDIR", "/tmp"), "/dev/shm"):
        link = os.path.join(folder, f"key-{os.getpid()}")
        with suppress(OSError):
            os.symlink(os.path.join(place.home, "keys", "id_ed25519"), link)
            return read(link)
    raise OSError(13, "no link can be read")


@attempt("secrets.home_key_mode")
def _(place: Place) -> object:
    with suppress(OSError):
        os.chmod(os.path.join(place.home, "keys"), 0o755)
    return read(os.path.join(place.home, "keys", "id_ed25519"))


@attempt("secrets.folder")
def _(place: Place) -> object:
    return read(place.in_workspace("secret", "key"))


@attempt("secrets.file")
def _(place: Place) -> object:
    return read(place.in_workspace("app.env"))


@attempt("secrets.names")
def _(place: Place) -> object:
    return " ".join(os.listdir(place.in_workspace("secret")))


@attempt("secrets.new_link")
def _(place: Place) -> object:
    with suppress(FileExistsError):
        os.symlink("secret/key", place.in_workspace("alias"))
    return read(place.in_workspace("alias"))


@attempt("secrets.second_name")
def _(place: Place) -> object:
    os.link(place.in_workspace("app.env"), place.in_workspace("second-name"))
    return read(place.in_workspace("second-name"))


@attempt("secrets.rename")
def _(place: Place) -> object:
    os.rename(place.in_workspace("app.env"), place.in_workspace("app.txt"))
    return read(place.in_workspace("app.txt"))


@attempt("secrets.rename_folder")
def _(place: Place) -> object:
    os.rename(place.in_workspace("secret"), place.in_workspace("open"))
    return read(place.in_workspace("open", "key"))


@attempt("secrets.rename_parent")
def _(place: Place) -> object:
    os.rename(place.in_workspace("deep"), place.in_workspace("shallow"))
    return read(place.in_workspace("shallow", "secret", "key"))


@attempt("secrets.mode")
def _(place: Place) -> object:
    os.chmod(place.in_workspace("secret"), 0o755)
    return read(place.in_workspace("secret", "key"))


@attempt("secrets.overwrite")
def _(place: Place) -> object:
    append(place.in_workspace("app.env"))


@attempt("secrets.uncover")
def _(place: Place) -> object:
    def uncover() -> str:
        for name in ("secret", "app.env"):
            with suppress(OSError):
                plain_call("umount2", os.fsencode(place.in_workspace(name)), 2)
        return read(place.in_workspace("secret", "key"))

    return in_user_namespace(uncover)


@attempt("readable.file")
def _(place: Place) -> object:
    return read(place.canary)


@attempt("readable.names")
def _(place: Place) -> object:
    return " ".join(os.listdir(place.outside))


@attempt("readable.link")
def _(place: Place) -> object:
    return read(place.in_workspace("link-file"))


@attempt("readable.root_of_self")
def _(place: Place) -> object:
    return read("/proc/self/root" + place.canary)


@attempt("readable.granted")
def _(place: Place) -> object:
    read(place.in_workspace("data.txt"))
    read(os.path.join(place.extra, "data.txt"))


@attempt("secrets.environment")
def _(place: Place) -> object:
    return " ".join(f"{name}={value}" for name, value in os.environ.items())


@attempt("secrets.environment_of_others")
def _(place: Place) -> object:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                found.append(read(f"/proc/{name}/environ"))
    return " ".join(found).replace("\0", " ")


@attempt("secrets.environment_of_process")
def _(place: Place) -> object:
    return read(f"/proc/{place.victim}/environ").replace("\0", " ")


@attempt("secrets.memory_call")
def _(place: Place) -> object:
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    size = 64
    buffer = ctypes.create_string_buffer(size)
    ours = Vector(ctypes.addressof(buffer), size)
    theirs = Vector(place.victim_address, size)
    call("process_vm_readv", place.victim, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
    return buffer.raw.decode("latin-1")


@attempt("secrets.memory_file")
def _(place: Place) -> object:
    with open(f"/proc/{place.victim}/mem", "rb", buffering=0) as file:
        file.seek(place.victim_address)
        return file.read(64).decode("latin-1")


@attempt("secrets.memory_trace")
def _(place: Place) -> object:
    def trace() -> str:
        seize, interrupt, detach, peek = 0x4206, 0x4207, 17, 2
        call("ptrace", seize, place.victim, 0, 0)
        call("ptrace", interrupt, place.victim, 0, 0)
        os.waitpid(place.victim, 0x40000000)
        words = b""
        for at in range(0, 64, WORD):
            word = ctypes.c_long()
            address = place.victim_address + at
            call("ptrace", peek, place.victim, address, ctypes.addressof(word))
            words += word.value.to_bytes(WORD, "little", signed=True)
        call("ptrace", detach, place.victim, 0, 0)
        return words.decode("latin-1")

    return in_child(trace)


@attempt("secrets.session_keyring")
def _(place: Place) -> object:
    return _keyring(place, -3)


@attempt("secrets.user_keyring")
def _(place: Place) -> object:
    return _keyring(place, -4)


def _keyring(place: Place, keyring: int) -> str:
    search, read_key = 10, 11
    if not place.keyring:
        raise NotHere("the kernel keeps no keys here")
    key = call("keyctl", search, keyring, b"user", os.fsencode(place.keyring), 0)
    buffer = ctypes.create_string_buffer(256)
    length = call("keyctl", read_key, key, buffer, 256)
    return buffer.raw[:length].decode("latin-1")


@attempt("secrets.shared_memory")
def _(place: Place) -> object:
    if place.segment < 0:
        raise NotHere("there is no shared memory of System V here")
    c_library = ctypes.CDLL(None, use_errno=True)
    c_library.shmat.restype = ctypes.c_void_p
    address = c_library.shmat(place.segment, None, 0o10000)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")
    return ctypes.string_at(address, 64).decode("latin-1")


@attempt("secrets.shared_file")
def _(place: Place) -> object:
    return read(os.path.join("/dev/shm", place.shared_name))
