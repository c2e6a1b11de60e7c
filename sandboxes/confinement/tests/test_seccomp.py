"""The filter, run by a small interpreter of classic BPF, for both architectures."""

import errno
import struct

import pytest

from ferrule_confinement.seccomp import filter_program

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
def test_programs_of_a_foreign_architecture_are_killed(machine):
    assert judge(filter_program(machine), 0x40000003, 4) == KILL


def test_calls_of_the_x32_kind_do_not_exist():
    assert judge(filter_program("x86_64"), AUDIT["x86_64"], 0x40000000 | 101) == ABSENT


@pytest.mark.parametrize("machine", AUDIT)
def test_the_filter_fits_into_the_kernel(machine):
    assert len(filter_program(machine)) // 8 < 4096
