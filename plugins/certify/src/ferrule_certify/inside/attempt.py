"""What attempts have in common: how they are named, where they act, and calls to the system."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Callable
from contextlib import suppress

CALLS = {  # x86_64, aarch64
    "add_key": (248, 217),
    "bpf": (321, 280),
    "clone": (56, 220),
    "clone3": (435, 435),
    "fanotify_init": (300, 262),
    "fsopen": (430, 430),
    "init_module": (175, 105),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "reboot": (169, 142),
    "renameat2": (316, 276),
    "request_key": (249, 218),
    "setns": (308, 268),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
NEW_NAMESPACE, NEW_USER, SIGCHLD = 0x00020000, 0x10000000, 17
EXCHANGE, AT_FDCWD = 2, -100


class NotHere(Exception):  # it is no error
    """The attempt cannot be made on this machine at all."""


class Place:
    """Where an attempt acts: paths, ports and process numbers, as the request names them."""

    stage: str
    workspace: str
    outside: str
    canary: str
    extra: str
    home: str
    present: str
    missing: str
    many_processes: int
    much_memory: int
    token: str
    victim: int
    victim_address: int
    victim_spare: int
    victim_descriptor: int
    segment: int
    shared_name: str
    keyring: str
    service: str
    service_datagram: str
    abstract: str
    terminal: str
    address: str
    tcp: int
    tcp6: int
    udp: int
    udp6: int
    udp_lite: int
    door: int

    def __init__(self, facts: dict[str, object]) -> None:
        """Take the facts of a request as attributes."""
        self.__dict__.update(facts)

    def in_workspace(self, *names: str) -> str:
        """A path in the workspace."""
        return os.path.join(self.workspace, *names)

    def outside_file(self, name: str = "new") -> str:
        """A path in the folder outside."""
        return os.path.join(self.outside, name)


Attempt = Callable[[Place], object]
ATTEMPTS: dict[str, Attempt] = {}


def attempt(name: str) -> Callable[[Attempt], Attempt]:
    """Register an attempt under the id of its probe."""

    def register(function: Attempt) -> Attempt:
        ATTEMPTS[name] = function
        return function

    return register


def write(path: str, text: str = "intruder", flags: int = os.O_WRONLY | os.O_CREAT) -> None:
    """Write to a file as plainly as can be."""
    descriptor = os.open(path, flags, 0o644)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def append(path: str) -> None:
    """Add to a file that is there."""
    write(path, flags=os.O_WRONLY | os.O_APPEND)


def read(path: str) -> str:
    """Read a file as text."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def libc() -> ctypes.CDLL:
    """The C library, with the error of the last call kept."""
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> int:
    """Make a system call by its number; raises OSError."""
    column = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
    if column is None or os.name != "posix" or CALLS[name][column] < 0:
        raise NotHere(f"{name} is not known for {platform.machine()}")
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    function = libc().syscall
    function.restype = ctypes.c_long
    result = function(ctypes.c_long(CALLS[name][column]), *given)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def plain_call(function: str, *arguments: object) -> int:
    """Call a function of the C library; raises OSError."""
    result = getattr(libc(), function)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def passed(name: str, *arguments: object, harmless: tuple[int, ...]) -> bool:
    """Whether a call with arguments that can do no harm got past every check of permission."""
    try:
        call(name, *arguments)
    except OSError as error:
        if error.errno in harmless:
            return True
        raise
    return True


def in_child(function: Callable[[], object]) -> str:
    """Do something in a child, so that what becomes of it is nobody's affair; returns its text."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            found = function()
            os.write(theirs, str(found or "").encode()[:4000])
            code = 0
        except OSError as error:
            os.write(theirs, str(error).encode()[:300])
            code = min(error.errno or 255, 255)
        except BaseException as error:  # noqa: BLE001 -- whatever happens, the child ends here
            os.write(theirs, repr(error).encode()[:300])
            code = 255
        finally:
            os._exit(code)
    os.close(theirs)
    with os.fdopen(ours, "rb") as file:
        text = file.read().decode("utf-8", "replace")
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        raise OSError(1, f"killed by signal {os.WTERMSIG(status)}")
    if code := os.WEXITSTATUS(status):
        raise OSError(code, text)
    return text


def in_user_namespace(function: Callable[[], object], flags: int = NEW_USER | NEW_NAMESPACE) -> str:
    """Do something as root of a user namespace of one's own, in a child."""
    user, group = os.geteuid(), os.getegid()

    def become_root() -> object:
        call("unshare", flags)
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"0 {user} 1"),
            ("gid_map", f"0 {group} 1"),
        ):
            with suppress(OSError):
                write(f"/proc/self/{name}", text, os.O_WRONLY)
        return function()

    return in_child(become_root)


def end(child: int) -> None:
    """Kill a child of ours and wait for it."""
    with suppress(OSError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
