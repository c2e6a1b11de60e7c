"""Attempts to use parts of the kernel that a command has no business with.

Arguments are chosen so that nothing happens where a sandbox leaks: an error that comes after the
check of permission says that the call got through.
"""

from __future__ import annotations

import ctypes
import glob
import mmap
import os
import platform
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from .attempt import (
    NEW_NAMESPACE,
    NEW_USER,
    SIGCHLD,
    NotHere,
    Place,
    attempt,
    call,
    in_child,
    in_user_namespace,
    passed,
    plain_call,
    write,
)

EFAULT, ENODEV, EINVAL, ENOENT, ENOEXEC = 14, 19, 22, 2, 8
USUAL_DEVICES = {
    *("null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"),
    *("stdin", "stdout", "stderr", "fd", "core", "pts", "shm", "mqueue"),
}


def _for_writing(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY))


def _any_for_writing(paths: list[str]) -> str:
    """Open the first that lets itself be opened for writing, and close it untouched."""
    paths = [path for path in paths if os.path.isfile(path)]
    if not paths:
        raise NotHere("there is none of them here")
    for path in paths:
        with suppress(OSError):
            _for_writing(path)
            return path
    raise OSError(13, "none can be opened for writing")


@attempt("kernel.io_uring")
def _(place: Place) -> object:
    parameters = ctypes.create_string_buffer(120)
    os.close(call("io_uring_setup", 1, parameters))


@attempt("kernel.bpf")
def _(place: Place) -> object:
    attributes = (ctypes.c_uint32 * 18)(2, 4, 4, 1)
    os.close(call("bpf", 0, ctypes.byref(attributes), 72))


@attempt("kernel.performance_counters")
def _(place: Place) -> object:
    attributes = (ctypes.c_uint64 * 16)()
    attributes[0] = 1 | (128 << 32)
    attributes[5] = 1 | 1 << 5 | 1 << 6
    os.close(call("perf_event_open", ctypes.byref(attributes), 0, -1, -1, 0))


@attempt("kernel.page_faults")
def _(place: Place) -> object:
    os.close(call("userfaultfd", 1))


@attempt("kernel.add_key")
def _(place: Place) -> object:
    call("add_key", b"user", b"ferrule-certify-own", b"x", 1, -2)


@attempt("kernel.keyring")
def _(place: Place) -> object:
    return call("keyctl", 0, -3, 0)


@attempt("kernel.request_key")
def _(place: Place) -> object:
    try:
        call("request_key", b"user", b"ferrule-certify-absent", None, 0)
    except OSError as error:
        return error.errno in (126, ENOENT)
    return True


@attempt("kernel.watch_files")
def _(place: Place) -> object:
    os.close(call("fanotify_init", 0, 0))


@attempt("kernel.mount")
def _(place: Place) -> object:
    try:
        folder = os.fsencode(place.outside)
        plain_call("mount", b"none", folder, b"ferrule-none", ctypes.c_ulong(0), None)
    except OSError as error:
        return error.errno == ENODEV or _again(error)
    return True


@attempt("kernel.new_mount_calls")
def _(place: Place) -> object:
    os.close(call("fsopen", b"tmpfs", 1))


@attempt("kernel.copy_mounts")
def _(place: Place) -> object:
    os.close(call("open_tree", -100, b"/", 1))


@attempt("kernel.unmount")
def _(place: Place) -> object:
    return passed("umount2", os.fsencode(place.outside), 2, harmless=(EINVAL,))


@attempt("kernel.change_root")
def _(place: Place) -> object:
    in_child(lambda: os.chroot(place.workspace))


@attempt("kernel.exchange_root")
def _(place: Place) -> object:
    path = os.fsencode(place.workspace)
    return in_child(lambda: passed("pivot_root", path, path, harmless=(EINVAL, 16)))


@attempt("kernel.user_namespace")
def _(place: Place) -> object:
    in_child(lambda: call("unshare", NEW_USER) and None)


@attempt("kernel.mount_namespace")
def _(place: Place) -> object:
    in_child(lambda: call("unshare", NEW_NAMESPACE) and None)


@attempt("kernel.powers_of_namespace")
def _(place: Place) -> object:
    def mount() -> None:
        where = os.fsencode(place.workspace)
        plain_call("mount", b"none", where, b"tmpfs", ctypes.c_ulong(0), None)

    in_user_namespace(mount)


@attempt("kernel.clone_namespace")
def _(place: Place) -> object:
    def clone() -> None:
        child = call("clone", NEW_USER | SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    in_child(clone)


@attempt("kernel.clone3_namespace")
def _(place: Place) -> object:
    def clone() -> None:
        arguments = (ctypes.c_uint64 * 8)(NEW_USER, 0, 0, 0, SIGCHLD, 0, 0, 0)
        child = call("clone3", ctypes.byref(arguments), ctypes.sizeof(arguments))
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    in_child(clone)


@attempt("kernel.host_name")
def _(place: Place) -> object:
    socket.sethostname(socket.gethostname())


@attempt("kernel.swap")
def _(place: Place) -> object:
    return passed("swapon", b"/ferrule-certify-absent", 0, harmless=(ENOENT,))


@attempt("kernel.reboot")
def _(place: Place) -> object:
    return passed("reboot", 0, 0, 0, 0, harmless=(EINVAL,))


@attempt("kernel.load_module")
def _(place: Place) -> object:
    return passed("init_module", 0, 0, 0, harmless=(EFAULT, EINVAL, ENOEXEC))


@attempt("kernel.exchange_kernel")
def _(place: Place) -> object:
    return passed("kexec_load", 0, 0, 0, 0xFFFFFF, harmless=(EINVAL,))


@attempt("kernel.log")
def _(place: Place) -> object:
    call("syslog", 3, ctypes.create_string_buffer(16), 16)


@attempt("kernel.ports")
def _(place: Place) -> object:
    in_child(lambda: call("ioperm", 0x80, 1, 1) and None)


@attempt("kernel.foreign_calls")
def _(place: Place) -> object:
    """Call getpid by the way of 32-bit programs, which a filter may have forgotten."""
    if platform.machine() != "x86_64":
        raise NotHere("there is no second way on this machine")
    code = bytes.fromhex("53b814000000cd805bc3")  # push rbx; eax = 20; int 0x80; pop rbx; ret
    with mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(code)

        def ask() -> None:
            view = ctypes.c_char.from_buffer(page)
            if ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(view))() <= 0:
                raise OSError(1, "refused")

        in_child(ask)


@attempt("kernel.set_user_bit")
def _(place: Place) -> object:
    path = place.in_workspace("own-program")
    write(path)
    os.chmod(path, 0o4755)
    return bool(os.stat(path).st_mode & stat.S_ISUID)


@attempt("kernel.set_user_program")
def _(place: Place) -> object:
    return _status("NoNewPrivs") == 0


@attempt("kernel.capabilities")
def _(place: Place) -> object:
    return _status("CapEff") | _status("CapPrm") != 0


def _status(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1], 16)
    raise NotHere(f"the kernel does not tell {name}")


def _again(error: OSError) -> NoReturn:
    raise error


@attempt("settings.core_pattern")
def _(place: Place) -> object:
    _for_writing("/proc/sys/kernel/core_pattern")


@attempt("settings.system_request")
def _(place: Place) -> object:
    _for_writing("/proc/sysrq-trigger")


@attempt("settings.memory")
def _(place: Place) -> object:
    _for_writing("/proc/sys/vm/overcommit_memory")


@attempt("settings.network")
def _(place: Place) -> object:
    _any_for_writing(glob.glob("/proc/sys/net/ipv4/ip_*"))


@attempt("settings.interrupts")
def _(place: Place) -> object:
    _any_for_writing(glob.glob("/proc/irq/*affinity*") + glob.glob("/proc/irq/*/smp_affinity"))


@attempt("settings.modules")
def _(place: Place) -> object:
    _any_for_writing(glob.glob("/sys/module/*/parameters/*"))


@attempt("settings.devices")
def _(place: Place) -> object:
    _any_for_writing(glob.glob("/sys/class/*/*/uevent") + glob.glob("/sys/kernel/uevent_helper"))


@attempt("settings.tracing")
def _(place: Place) -> object:
    _any_for_writing(
        glob.glob("/sys/kernel/tracing/trace*") + glob.glob("/sys/kernel/debug/tracing/trace*")
    )


@attempt("settings.control_groups")
def _(place: Place) -> object:
    _any_for_writing(
        glob.glob("/sys/fs/cgroup/cgroup.procs")
        + glob.glob("/sys/fs/cgroup/*/cgroup.procs")
        + glob.glob("/sys/fs/cgroup/*/tasks")
    )


@attempt("settings.program_formats")
def _(place: Place) -> object:
    _any_for_writing(["/proc/sys/fs/binfmt_misc/register"])


@attempt("settings.of_host_process")
def _(place: Place) -> object:
    _for_writing(f"/proc/{place.victim}/oom_score_adj")


@attempt("devices.kernel_log")
def _(place: Place) -> object:
    os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))


@attempt("devices.disks")
def _(place: Place) -> object:
    _any_device(stat.S_ISBLK)


@attempt("devices.memory")
def _(place: Place) -> object:
    for path in ("/dev/mem", "/dev/kmem", "/dev/port"):
        with suppress(OSError):
            os.close(os.open(path, os.O_RDONLY))
            return path
    raise OSError(13, "none can be opened")


@attempt("devices.others")
def _(place: Place) -> object:
    return _any_device(stat.S_ISCHR)


def _any_device(is_kind: Callable[[int], bool]) -> str:
    """Open the first device of a kind beyond the usual ones for reading, and close it."""
    refused = 0
    for path in glob.glob("/dev/*") + glob.glob("/dev/*/*"):
        name = path.split("/")[2]
        if name in USUAL_DEVICES or name.startswith(("tty", "watchdog", "vc", "hvc")):
            continue  # terminals are judged elsewhere, and a watchdog starts when it is opened
        with suppress(OSError):
            if is_kind(os.stat(path).st_mode):
                refused += 1
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))
                return path
    raise OSError(13, f"none of {refused} can be opened")


@attempt("devices.make_character")
def _(place: Place) -> object:
    path = place.in_workspace("own-null")
    with suppress(FileExistsError):
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    os.close(os.open(path, os.O_RDWR))


@attempt("devices.make_disk")
def _(place: Place) -> object:
    path = place.in_workspace("own-disk")
    with suppress(FileExistsError):
        os.mknod(path, 0o666 | stat.S_IFBLK, os.makedev(7, 250))
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        return error.errno in (6, ENODEV) or _again(error)
    return True
