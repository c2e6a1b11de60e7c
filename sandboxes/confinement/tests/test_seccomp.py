"""The filter, run by a small interpreter of classic BPF, for both architectures."""

import errno
import struct
from pathlib import Path

import pytest

from ferrule_confinement.seccomp import Refusals, filter_program

UNREACHABLE, READ_ONLY = 0x00050000 | errno.ENETUNREACH, 0x00050000 | errno.EROFS
UNSUPPORTED = 0x00050000 | errno.EOPNOTSUPP
ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, ABSENT = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SIGCHLD = 17
NOTHING_MORE = Refusals()

# Name, number on x86_64, number on aarch64 (- where the architecture lacks the call): from
# asm/unistd.h of Debian's linux-libc-dev 6.1 and linux-libc-dev-arm64-cross; the calls of newer
# kernels, from 451 on, bear one number on both.
TABLE = Path(__file__).with_name("syscalls.tsv").read_text().splitlines()
CALLS = {
    name: tuple(None if number == "-" else int(number) for number in numbers)
    for name, *numbers in (line.split("\t") for line in TABLE)
}

TRACING = {"ptrace", "process_vm_readv", "process_vm_writev", "kcmp"}
REFUSED = {
    *("pidfd_getfd", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd"),
    *("fanotify_init", "open_by_handle_at", "lookup_dcookie", "uselib", "nfsservctl"),
    *("mount", "umount2", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig"),
    *("fsmount", "fspick", "mount_setattr", "setns", "chroot", "pivot_root"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"),
    *("swapon", "swapoff", "reboot", "syslog", "acct", "quotactl", "quotactl_fd"),
    *("clock_settime", "settimeofday", "vhangup"),
    *("socket", "socketpair"),  # of the family 0
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
        ("ioctl", (0, 0x5423), REFUSE),
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


def verdicts(machine, refusals=NOTHING_MORE):
    """What becomes of every call that Linux has, by name."""
    program, column = filter_program(machine, refusals), list(AUDIT).index(machine)
    return {
        name: judge(program, AUDIT[machine], numbers[column])
        for name, numbers in CALLS.items()
        if numbers[column] is not None
    }


@pytest.mark.parametrize("machine", AUDIT)
@pytest.mark.parametrize(("tracing", "refused"), [(True, REFUSED | TRACING), (False, REFUSED)])
def test_of_all_calls_of_linux_just_these_are_refused(machine, tracing, refused):
    found = verdicts(machine, Refusals(tracing=tracing))
    assert len(found) > 320
    assert {name for name, verdict in found.items() if verdict == REFUSE} == refused & set(found)
    assert {name for name, verdict in found.items() if verdict == ABSENT} == {"clone3", "openat2"}
    assert set(found.values()) == {ALLOW, REFUSE, ABSENT}


@pytest.mark.parametrize("machine", AUDIT)
@pytest.mark.parametrize("family", range(1, 46))
def test_of_all_families_of_sockets_four_are_left(machine, family):
    """Local, internet of both kinds, and netlink, of which only the routing table's is left."""
    number = CALLS["socket"][list(AUDIT).index(machine)]
    expected = ALLOW if family in (1, 2, 10, 16) else REFUSE
    assert judge(filter_program(machine), AUDIT[machine], number, family, 1, 0) == expected


@pytest.mark.parametrize("machine", AUDIT)
@pytest.mark.parametrize("flag", [1 << bit for bit in (7, 17, 25, 26, 27, 28, 29, 30)])
def test_no_kind_of_namespace_can_be_made(machine, flag):
    for call in ("clone", "unshare"):
        number = CALLS[call][list(AUDIT).index(machine)]
        assert judge(filter_program(machine), AUDIT[machine], number, flag) == REFUSE


@pytest.mark.parametrize("machine", AUDIT)
def test_programs_of_a_foreign_architecture_are_killed(machine):
    assert judge(filter_program(machine), 0x40000003, 4) == KILL


def test_calls_of_the_x32_kind_do_not_exist():
    assert judge(filter_program("x86_64"), AUDIT["x86_64"], 0x40000000 | 101) == ABSENT


@pytest.mark.parametrize("machine", AUDIT)
def test_the_filter_fits_into_the_kernel(machine):
    assert len(filter_program(machine)) // 8 < 4096
