"""The system call filter, assembled by hand as classic BPF.

A sandbox installs it as the last step before the command, so that nothing of ours runs in between.
What is not named here is allowed; what is named fails with an error the program can handle. A
program of a foreign architecture is killed. Sandboxes without namespaces of their own have more
refused: see `Refusals`.
"""

from __future__ import annotations

import errno
import platform
import struct
from functools import cache
from typing import Final, NamedTuple

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_X32_BIT: Final = 0x40000000

_NAMESPACES: Final = 0x7E020080  # every CLONE_NEW* flag
_SPECIAL_BITS: Final = 0o6000  # set-user-id and set-group-id
_CREATING: Final = 0o100 | 0o20000000  # O_CREAT, and the part of O_TMPFILE that is not O_DIRECTORY
_TERMINAL_INPUT: Final = (0x5412, 0x541C, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCSETD
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_SOCKET_TYPE, _DATAGRAM = 0xF, 2
_ACCESS_MODE, _TRUNCATING = 0o3, 0o1000

_Instruction = tuple[int, int, int, int]

# Number on x86_64, number on aarch64.
_TRACING: Final = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
}
_REFUSED: Final[dict[str, tuple[int, int | None]]] = {
    # other processes
    "pidfd_getfd": (438, 438),
    # kernel interfaces with a history of holes that commands hardly ever need
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "open_by_handle_at": (304, 265),
    "lookup_dcookie": (212, 18),
    "uselib": (134, None),
    "nfsservctl": (180, 42),
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "setns": (308, 268),
    "chroot": (161, 51),
    "pivot_root": (155, 41),
    # the machine
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "clock_settime": (227, 112),
    "settimeofday": (164, 170),
    "vhangup": (153, 58),
}
_CLONE, _UNSHARE, _IOCTL = (56, 220), (272, 97), (16, 29)
_SOCKET, _SOCKETPAIR = (41, 198), (53, 199)
# Arguments of these are behind a pointer where a filter cannot look; libraries fall back.
_UNREADABLE: Final = ((435, 435), (437, 437))  # clone3, openat2
# numbers (None: the architecture lacks the call), index of the argument that holds the mode
_MODE_CALLS: Final = (
    ((90, None), 1),  # chmod
    ((91, 52), 1),  # fchmod
    ((268, 53), 2),  # fchmodat
    ((452, 452), 2),  # fchmodat2
    ((85, None), 1),  # creat
    ((133, None), 1),  # mknod
    ((259, 33), 2),  # mknodat
)
# numbers, index of the flags, index of the mode
_OPEN_CALLS: Final = (((2, None), 1, 2), ((257, 56), 2, 3))
_ARCHITECTURES: Final = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_Numbers = tuple[int | None, int | None]
# Objects that belong to the machine, which only a namespace could make private. Without them,
# programs see a kernel or a file system that lacks the feature.
_MACHINE_OBJECTS: Final[dict[int, tuple[_Numbers, ...]]] = {
    errno.ENOSYS: (
        *((29, 194), (30, 196), (31, 195)),  # shmget, shmat, shmctl
        *((64, 190), (65, 193), (220, 192), (66, 191)),  # semget, semop, semtimedop, semctl
        *((68, 186), (69, 189), (70, 188), (71, 187)),  # msgget, msgsnd, msgrcv, msgctl
        *((240, 180), (241, 181)),  # mq_open, mq_unlink
        (434, 434),  # pidfd_open
        (469, 469),  # file_setattr
    ),
    errno.EOPNOTSUPP: (
        *((188, 5), (189, 6), (190, 7), (463, 463)),  # setxattr, lsetxattr, fsetxattr, setxattrat
        *((197, 14), (198, 15), (199, 16), (466, 466)),  # removexattr and its kin
    ),
}
_PRLIMIT: Final = (302, 261)
_METADATA: Final[tuple[_Numbers, ...]] = (
    *((90, None), (91, 52), (268, 53), (452, 452)),  # chmod, fchmod, fchmodat, fchmodat2
    *((92, None), (93, 55), (94, None), (260, 54)),  # chown, fchown, lchown, fchownat
    *((132, None), (235, None), (261, None), (280, 88)),  # utime, utimes, futimesat, utimensat
)
_TRUNCATE: Final[_Numbers] = (76, 45)


class Refusals(NamedTuple):
    """What is refused beyond the common list, where no namespaces keep it out of reach.

    Attributes:
        internet: Sockets of the internet; as if the network were unreachable.
        local_sockets: Local sockets that could be connected to a service. Pairs of connected
            ones, which event loops need, stay possible.
        machine_objects: Shared memory and queues of System V and POSIX, extended attributes,
            handles and limits of other processes.
        metadata: Changes of permissions, owners and times; as on a read-only file system.
        path_truncation: Truncating files that are not open for writing.
        tracing: Tracing processes and looking into their memory; in the common list, so that only
            debuggers go without.
    """

    internet: bool = False
    local_sockets: bool = False
    machine_objects: bool = False
    metadata: bool = False
    path_truncation: bool = False
    tracing: bool = True


_NONE: Final = Refusals()


def is_supported(machine: str | None = None) -> bool:
    """Whether there is a filter for an architecture, by default this machine's."""
    return (machine or platform.machine()) in _ARCHITECTURES


@cache
def filter_program(machine: str | None = None, refusals: Refusals = _NONE) -> bytes:
    """Assemble the filter for an architecture, by default this machine's."""
    column, architecture = _ARCHITECTURES[machine or platform.machine()]
    code: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if column == 0:
        code += [(_AT_LEAST, 0, 1, _X32_BIT), _refuse(errno.ENOSYS)]
    refused = (_REFUSED | _TRACING) if refusals.tracing else _REFUSED
    for numbers in refused.values():
        code += _refused_call(numbers[column], errno.EPERM)
    for numbers in _UNREADABLE:
        code += _refused_call(numbers[column], errno.ENOSYS)
    code += _refused_more(column, refusals)
    for numbers in (_CLONE, _UNSHARE):
        code += _when(numbers[column], _unless_bits(0, _NAMESPACES))
    code += _when(_IOCTL[column], _unless_equal(1, _TERMINAL_INPUT))
    for numbers, mode in _MODE_CALLS:
        code += _when(numbers[column], _unless_bits(mode, _SPECIAL_BITS))
    for numbers, flags, mode in _OPEN_CALLS:
        body = _unless_truncating_only(flags) if refusals.path_truncation else []
        body += _unless_created_with_bits(flags, mode)
        code += _when(numbers[column], body)
    code += _when(_SOCKET[column], _only_families(refusals))
    pairs = _no_datagrams() if refusals.local_sockets else []
    code += _when(
        _SOCKETPAIR[column], pairs + _only_families(refusals._replace(local_sockets=False))
    )
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _refused_more(column: int, refusals: Refusals) -> list[_Instruction]:
    code: list[_Instruction] = []
    if refusals.machine_objects:
        for error, calls in _MACHINE_OBJECTS.items():
            for numbers in calls:
                code += _refused_call(numbers[column], error)
        code += _when(_PRLIMIT[column], [_argument(0), (_EQUAL, 1, 0, 0), _refuse()])
    if refusals.metadata:
        for numbers in _METADATA:
            code += _refused_call(numbers[column], errno.EROFS)
    if refusals.path_truncation:
        code += _refused_call(_TRUNCATE[column], errno.EPERM)
    return code


def _refused_call(number: int | None, error: int) -> list[_Instruction]:
    return [] if number is None else [(_EQUAL, 0, 1, number), _refuse(error)]


def _refuse(error: int = errno.EPERM) -> _Instruction:
    return (_RETURN, 0, 0, _FAIL | error)


def _argument(index: int) -> _Instruction:
    """Load the lower half of an argument; the kernel ignores the upper half of what we look at."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _when(number: int | None, body: list[_Instruction]) -> list[_Instruction]:
    """Run `body` for one call; it may fall through, with the call's number loaded again."""
    if number is None:
        return []
    return [(_EQUAL, 0, len(body) + 1, number), *body, (_LOAD, 0, 0, _NUMBER)]


def _unless_bits(index: int, bits: int) -> list[_Instruction]:
    return [_argument(index), (_ANY_BIT, 0, 1, bits), _refuse()]


def _unless_equal(index: int, values: tuple[int, ...]) -> list[_Instruction]:
    body = [_argument(index)]
    for value in values:
        body += [(_EQUAL, 0, 1, value), _refuse()]
    return body


def _unless_created_with_bits(flags: int, mode: int) -> list[_Instruction]:
    """The mode counts only when the call creates a file; else the register holds anything."""
    check = _unless_bits(mode, _SPECIAL_BITS)
    return [_argument(flags), (_ANY_BIT, 0, len(check), _CREATING), *check]


def _unless_truncating_only(flags: int) -> list[_Instruction]:
    """Refuse to truncate what is not opened for writing, which old Landlock does not notice."""
    body: list[_Instruction] = [_argument(flags), (_AND, 0, 0, _TRUNCATING | _ACCESS_MODE)]
    for mode in (0, _ACCESS_MODE):  # reading, and neither reading nor writing
        body += [(_EQUAL, 0, 1, _TRUNCATING | mode), _refuse()]
    return body


def _no_datagrams() -> list[_Instruction]:
    """Refuse pairs whose ends could be connected anew."""
    return [_argument(1), (_AND, 0, 0, _SOCKET_TYPE), (_EQUAL, 0, 1, _DATAGRAM), _refuse()]


def _only_families(refusals: Refusals) -> list[_Instruction]:
    """Refuse every socket family but local, internet, and the routing table's."""
    internet = _FAIL | errno.ENETUNREACH if refusals.internet else _ALLOW
    local = _FAIL | errno.EPERM if refusals.local_sockets else _ALLOW
    body = [_argument(0)]
    for family, verdict in ((_UNIX, local), (_INET, internet), (_INET6, internet)):
        body += [(_EQUAL, 0, 1, family), (_RETURN, 0, 0, verdict)]
    routes = [_argument(2), (_EQUAL, 0, 1, 0), (_RETURN, 0, 0, _ALLOW)]  # NETLINK_ROUTE
    return [*body, (_EQUAL, 0, len(routes), _NETLINK), *routes, _refuse()]
