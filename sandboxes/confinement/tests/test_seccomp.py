"""The filter, run by a small interpreter of classic BPF, for both architectures."""

import errno
import struct

import pytest

from ferrule_confinement.seccomp import Refusals, filter_program

UNREACHABLE, READ_ONLY = 0x00050000 | errno.ENETUNREACH, 0x00050000 | errno.EROFS
UNSUPPORTED = 0x00050000 | errno.EOPNOTSUPP
ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, ABSENT = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SIGCHLD = 17

# name: numbers on x86_64 and aarch64
CALLS = {
    "read": (0, 63),
    "execve": (59, 221),
    "connect": (42, 203),
    "sendto": (44, 206),
    "ptrace": (101, 117),
    "mount": (165, 40),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "clone": (56, 220),
    "clone3": (435, 435),
    "unshare": (272, 97),
    "ioctl": (16, 29),
    "fchmodat": (268, 53),
    "fchmod": (91, 52),
    "openat": (257, 56),
    "openat2": (437, 437),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "landlock_create_ruleset": (444, 444),
    "seccomp": (317, 277),
    "shmget": (29, 194),
    "mq_open": (240, 180),
    "pidfd_open": (434, 434),
    "fsetxattr": (190, 7),
    "getxattr": (191, 8),
    "prlimit64": (302, 261),
    "utimensat": (280, 88),
    "fchownat": (260, 54),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
}


def judge(program, architecture, number, *arguments):
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    code = list(struct.iter_unpack("=HBBI", program))
    at = accumulator = 0
    for _ in range(len(code) + 1):
        operation, if_true, if_false, operand = code[at]
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", data, operand)[0]
        elif operation == 0x54:
            accumulator &= operand
        elif operation == 0x06:
            return operand
        else:
            holds = {
                0x15: accumulator == operand,
                0x35: accumulator >= operand,
                0x45: bool(accumulator & operand),
            }[operation]
            at += if_true if holds else if_false
    raise AssertionError("the filter does not end")


@pytest.mark.parametrize("machine", AUDIT)
@pytest.mark.parametrize(
    ("call", "arguments", "verdict"),
    [
        ("read", (), ALLOW),
        ("execve", (), ALLOW),
        ("connect", (), ALLOW),
        ("sendto", (), ALLOW),
        ("landlock_create_ruleset", (), ALLOW),
        ("seccomp", (), ALLOW),
        ("ptrace", (), REFUSE),
        ("mount", (), REFUSE),
        ("bpf", (), REFUSE),
        ("io_uring_setup", (), REFUSE),
        ("clone3", (), ABSENT),
        ("openat2", (), ABSENT),
        ("clone", (0x003D0F00,), ALLOW),  # a thread
        ("clone", (SIGCHLD,), ALLOW),
        ("clone", (0x10000000 | SIGCHLD,), REFUSE),
        ("unshare", (0x400,), ALLOW),
        ("unshare", (0x00020000,), REFUSE),
        ("ioctl", (0, 0x5413), ALLOW),
        ("ioctl", (0, 0x5412), REFUSE),
        ("ioctl", (0, 0x541C), REFUSE),
        ("ioctl", (0, 0xFFFFFFFF00005412), REFUSE),
        ("fchmod", (3, 0o755), ALLOW),
        ("fchmod", (3, 0o4755), REFUSE),
        ("fchmodat", (3, 0, 0o2755), REFUSE),
        ("openat", (3, 0, 0, 0o7777), ALLOW),
        ("openat", (3, 0, 0o100, 0o644), ALLOW),
        ("openat", (3, 0, 0o100, 0o4755), REFUSE),
        ("openat", (3, 0, 0o20200000, 0o4755), REFUSE),
        ("socket", (1, 1, 0), ALLOW),
        ("socket", (2, 1, 0), ALLOW),
        ("socket", (10, 1, 0), ALLOW),
        ("socket", (16, 3, 0), ALLOW),
        ("socket", (16, 3, 9), REFUSE),
        ("socket", (17, 3, 0), REFUSE),
        ("socket", (40, 1, 0), REFUSE),
        ("socketpair", (1, 1, 0), ALLOW),
    ],
)
def test_verdicts(machine, call, arguments, verdict):
    number = CALLS[call][list(AUDIT).index(machine)]
    assert judge(filter_program(machine), AUDIT[machine], number, *arguments) == verdict


@pytest.mark.parametrize("machine", AUDIT)
@pytest.mark.parametrize(
    ("refusal", "call", "arguments", "verdict"),
    [
        ("internet", "socket", (2, 1, 0), UNREACHABLE),
        ("internet", "socket", (10, 2, 0), UNREACHABLE),
        ("internet", "socket", (1, 1, 0), ALLOW),
        ("internet", "socket", (16, 3, 0), ALLOW),
        ("internet", "socket", (17, 3, 0), REFUSE),
        ("internet", "socketpair", (1, 2, 0), ALLOW),
        ("local_sockets", "socket", (1, 1, 0), REFUSE),
        ("local_sockets", "socket", (2, 1, 0), ALLOW),
        ("local_sockets", "socketpair", (1, 0x80801, 0), ALLOW),
        ("local_sockets", "socketpair", (1, 5, 0), ALLOW),
        ("local_sockets", "socketpair", (1, 0x80802, 0), REFUSE),
        ("machine_objects", "shmget", (), ABSENT),
        ("machine_objects", "mq_open", (), ABSENT),
        ("machine_objects", "pidfd_open", (), ABSENT),
        ("machine_objects", "fsetxattr", (), UNSUPPORTED),
        ("machine_objects", "getxattr", (), ALLOW),
        ("machine_objects", "prlimit64", (0, 7), ALLOW),
        ("machine_objects", "prlimit64", (1, 7), REFUSE),
        ("metadata", "fchmod", (3, 0o755), READ_ONLY),
        ("metadata", "fchownat", (), READ_ONLY),
        ("metadata", "utimensat", (), READ_ONLY),
        ("path_truncation", "truncate", (), REFUSE),
        ("path_truncation", "ftruncate", (), ALLOW),
        ("path_truncation", "openat", (3, 0, 0o1000, 0), REFUSE),
        ("path_truncation", "openat", (3, 0, 0o1003, 0), REFUSE),
        ("path_truncation", "openat", (3, 0, 0o1101, 0o644), ALLOW),
        ("path_truncation", "openat", (3, 0, 0o1002, 0), ALLOW),
        ("path_truncation", "openat", (3, 0, 0o1102, 0o4755), REFUSE),
    ],
)
def test_verdicts_where_namespaces_are_missing(machine, refusal, call, arguments, verdict):
    number = CALLS[call][list(AUDIT).index(machine)]
    program = filter_program(machine, Refusals(**{refusal: True}))
    assert judge(program, AUDIT[machine], number, *arguments) == verdict


def test_what_is_refused_on_top_is_not_refused_to_others():
    calls = ("shmget", "pidfd_open", "fsetxattr", "truncate", "utimensat")
    for machine, column in (("x86_64", 0), ("aarch64", 1)):
        for call in calls:
            number = CALLS[call][column]
            assert judge(filter_program(machine), AUDIT[machine], number) == ALLOW


@pytest.mark.parametrize("machine", AUDIT)
def test_programs_of_a_foreign_architecture_are_killed(machine):
    assert judge(filter_program(machine), 0x40000003, 4) == KILL


def test_calls_of_the_x32_kind_do_not_exist():
    assert judge(filter_program("x86_64"), AUDIT["x86_64"], 0x40000000 | 101) == ABSENT


@pytest.mark.parametrize("machine", AUDIT)
def test_the_filter_fits_into_the_kernel(machine):
    assert len(filter_program(machine)) // 8 < 4096
