"""Attempts on other processes, on what the command inherits, and on what bounds it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import stat
import subprocess
import sys
from contextlib import suppress

from .attempt import NotHere, Place, attempt, call, end, passed

MEBIBYTE = 1 << 20


@attempt("processes.see")
def _(place: Place) -> object:
    return os.path.exists(f"/proc/{place.victim}/stat")


@attempt("processes.signal")
def _(place: Place) -> object:
    os.kill(place.victim, 0)


@attempt("processes.handle")
def _(place: Place) -> object:
    os.close(call("pidfd_open", place.victim, 0))


@attempt("processes.handle_signal")
def _(place: Place) -> object:
    descriptor = call("pidfd_open", place.victim, 0)
    signal.pidfd_send_signal(descriptor, 0)


@attempt("processes.steal_descriptor")
def _(place: Place) -> object:
    handle = call("pidfd_open", place.victim, 0)
    taken = call("pidfd_getfd", handle, place.victim_descriptor, 0)
    os.write(taken, b"intruder")


@attempt("processes.priority")
def _(place: Place) -> object:
    now = os.getpriority(os.PRIO_PROCESS, place.victim)
    os.setpriority(os.PRIO_PROCESS, place.victim, now)


@attempt("processes.limits")
def _(place: Place) -> object:
    now = resource.prlimit(place.victim, resource.RLIMIT_CPU)
    resource.prlimit(place.victim, resource.RLIMIT_CPU, now)


@attempt("processes.processors")
def _(place: Place) -> object:
    os.sched_setaffinity(place.victim, os.sched_getaffinity(place.victim))


@attempt("processes.trace")
def _(place: Place) -> object:
    detach, seize = 17, 0x4206
    call("ptrace", seize, place.victim, 0, 0)
    with suppress(OSError):
        call("ptrace", detach, place.victim, 0, 0)


@attempt("processes.memory_write")
def _(place: Place) -> object:
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    buffer = ctypes.create_string_buffer(b"spare", 5)
    ours = Vector(ctypes.addressof(buffer), 5)
    theirs = Vector(place.victim_spare, 5)
    call("process_vm_writev", place.victim, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)


@attempt("processes.namespace")
def _(place: Place) -> object:
    for name in ("mnt", "user", "pid", "net", "ipc"):
        descriptor = os.open(f"/proc/{place.victim}/ns/{name}", os.O_RDONLY)
        with suppress(OSError):
            call("setns", descriptor, 0)
            return
    raise OSError(1, "none lets in")


@attempt("inherited.descriptors")
def _(place: Place) -> object:
    return " ".join(f"{number}={what}" for number, what in _open_files()) or False


@attempt("inherited.folder")
def _(place: Place) -> object:
    reached = False
    for number, _ in _open_files():
        if stat.S_ISDIR(os.fstat(number).st_mode):
            for name in ("new", "outside/new", place.outside.lstrip("/") + "/new"):
                with suppress(OSError):
                    os.close(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=number))
                    reached = True
    return reached


@attempt("inherited.file")
def _(place: Place) -> object:
    reached = False
    for number, _ in _open_files():
        if stat.S_ISREG(os.fstat(number).st_mode):
            with suppress(OSError):
                os.lseek(number, 0, os.SEEK_END)
                os.write(number, b"intruder")
                reached = True
    return reached


def _open_files() -> list[tuple[int, str]]:
    """List the descriptors beyond the standard ones, but the one that lists them."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if int(name) > 2:
                found.append((int(name), os.readlink(f"/proc/self/fd/{name}")))
    return [each for each in found if not each[1].endswith("/fd")]


@attempt("bounds.processes")
def _(place: Place) -> object:
    """Start more processes than the bound allows, never more than so many."""
    children = []
    try:
        for _ in range(place.many_processes):
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            end(child)


@attempt("bounds.memory")
def _(place: Place) -> object:
    code = f"b = bytearray({place.much_memory}); b[::4096] = b'x' * len(b[::4096]); print(len(b))"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, check=False
    )
    if ended.returncode != 0:
        raise OSError(12, f"ended with {ended.returncode}")


@attempt("bounds.core_files")
def _(place: Place) -> object:
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard == 0:
        raise OSError(1, "the hard bound on core files is 0")
    resource.setrlimit(resource.RLIMIT_CORE, (min(hard, MEBIBYTE) if hard > 0 else MEBIBYTE, hard))


@attempt("terminal.others")
def _(place: Place) -> object:
    if not place.terminal:
        raise NotHere("no other terminal could be made")
    descriptor = os.open(place.terminal, os.O_WRONLY | os.O_NOCTTY)
    os.write(descriptor, place.token.encode() + b"\n")


@attempt("processes.call_with_handle")
def _(place: Place) -> object:
    handle = call("pidfd_open", place.victim, 0)
    return passed("process_madvise", handle, 0, 0, 0, 0, harmless=(22, 14))
