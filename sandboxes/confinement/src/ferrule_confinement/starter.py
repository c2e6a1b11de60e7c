"""The program that confines itself and becomes the command.

It is an ELF file of a few kilobytes, made here for every command and never written to a disk:
machine code of 200 bytes, a list of system calls with their arguments, and the filter. It makes
one call after the other and then executes the command, so that no interpreter starts and nothing of
ours runs beside the command. A call that fails ends it, and it says which one on a pipe of its own:
the command has not run then.
"""

from __future__ import annotations

import errno
import os
import platform
import struct
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ferrule_confinement.machine_code import CALL, CODE, FACTS
from ferrule_confinement.sealed_file import sealed_file

_BASE: Final = 0x400000
_PAGE: Final = 0x10000  # the largest page of either architecture
_HEADER, _SEGMENT, _SEGMENTS = 64, 56, 2
_MACHINE_NUMBERS: Final = {"x86_64": 62, "aarch64": 183}
_LOADED, _STACK, _READ, _WRITE, _EXECUTE = 1, 0x6474E551, 4, 2, 1
_MFD_EXEC: Final = 0x10
_WORD: Final = 8
_REPORT_SIZE: Final = 64

# Number on x86_64, number on aarch64.
_NUMBERS: Final = {
    "write": (1, 64),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "capset": (126, 91),
    "landlock_restrict_self": (446, 446),
    "close_range": (436, 436),
    "seccomp": (317, 277),
}
_SHELL: Final = b"/bin/sh\0"
_UNRUNNABLE: Final = b"ferrule: the program cannot be executed in the sandbox\n"
_INCOMPLETE: Final = b"ferrule: the program or the interpreter it names does not exist\n"


class Data(NamedTuple):
    """An argument of a call that is the address of these bytes."""

    content: bytes


class Filter(NamedTuple):
    """An argument of a call that is the address of a `struct sock_fprog` of this filter."""

    program: bytes


Argument = int | Data | Filter


@dataclass(slots=True)
class Starter:
    """The calls to make, in order."""

    machine: str = field(default_factory=platform.machine)
    names: list[str] = field(default_factory=list[str])
    _calls: list[tuple[int, tuple[Argument, ...]]] = field(
        default_factory=list[tuple[int, tuple[Argument, ...]]]
    )

    def call(self, name: str, *arguments: Argument) -> None:
        """Add a call, which has to succeed."""
        column = tuple(CODE).index(self.machine)
        self.names.append(name)
        self._calls.append((_NUMBERS[name][column], arguments))

    def elf(self, report: int) -> bytes:
        """Build the file; `report` is the descriptor that a failed call is written to."""
        code = CODE[self.machine]
        facts_at = _HEADER + _SEGMENTS * _SEGMENT
        calls_at = _aligned(facts_at + FACTS * _WORD + len(code))
        data = _Data(_BASE + calls_at + len(self._calls) * CALL * _WORD)
        calls = b"".join(
            struct.pack(f"<{CALL}q", number, *_filled(map(data.address, arguments)))
            for number, arguments in self._calls
        )
        facts = struct.pack(
            f"<{FACTS}q",
            _BASE + calls_at,
            _BASE + calls_at + len(calls),
            data.address(Data(_SHELL)),
            data.address(Data(_UNRUNNABLE)),
            len(_UNRUNNABLE),
            data.address(Data(_INCOMPLETE)),
            len(_INCOMPLETE),
            report,
        )
        body = (facts + code).ljust(calls_at - facts_at, b"\0") + calls + data.content
        entry = _BASE + facts_at + len(facts)
        return _headers(_MACHINE_NUMBERS[self.machine], entry, facts_at + len(body)) + body

    def open(self, report: int) -> int:
        """Return a descriptor of the file that can be executed.

        Raises:
            OSError: The system forbids programs that lie in memory (`vm.memfd_noexec`).
        """
        content = self.elf(report)
        try:
            made = sealed_file("ferrule-starter", content, flags=_MFD_EXEC)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a kernel before 6.3 does not know the flag
                raise
            made = sealed_file("ferrule-starter", content)
        try:
            # What is open for writing, sealed or not, cannot be executed.
            return os.open(f"/proc/self/fd/{made}", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            os.close(made)

    def read_report(self, descriptor: int) -> str | None:
        """Say what was reported, once the program is gone; closes our end of the pipe."""
        os.set_blocking(descriptor, False)
        try:
            report = os.read(descriptor, _REPORT_SIZE)
        except BlockingIOError:  # something that was never started holds the other end
            report = b""
        finally:
            os.close(descriptor)
        return self._explain(report)

    def _explain(self, report: bytes) -> str | None:
        if not report:
            return None
        address, answer = struct.unpack_from("<2q", report)
        code = CODE[self.machine]
        calls_at = _BASE + _aligned(_HEADER + _SEGMENTS * _SEGMENT + FACTS * _WORD + len(code))
        name = self.names[(address - calls_at) // (CALL * _WORD)]
        return f"{name}: {os.strerror(-answer)}"


class _Data:
    """The end of the file: bytes that calls and facts point to."""

    def __init__(self, start: int) -> None:
        self._start = start
        self.content = b""

    def address(self, argument: Argument) -> int:
        if isinstance(argument, int):
            return argument
        if isinstance(argument, Filter):
            program = self.address(Data(argument.program))
            length = len(argument.program) // _WORD
            return self.address(Data(struct.pack("<H6xQ", length, program)))
        address = self._start + len(self.content)
        self.content += argument.content.ljust(_aligned(len(argument.content)), b"\0")
        return address


def _filled(arguments: map[int]) -> list[int]:
    given = list(arguments)
    return given + [0] * (CALL - 1 - len(given))


def _aligned(size: int) -> int:
    return -(-size // _WORD) * _WORD


def _headers(machine: int, entry: int, size: int) -> bytes:
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01",  # 64 bits, last byte first, version 1
        2,  # an executable at a fixed address
        machine,
        1,
        entry,
        _HEADER,  # the segments follow
        0,
        0,
        _HEADER,
        _SEGMENT,
        _SEGMENTS,
        0,
        0,
        0,
    )
    segment = "<IIQQQQQQ"
    loaded = struct.pack(segment, _LOADED, _READ | _EXECUTE, 0, _BASE, _BASE, size, size, _PAGE)
    stack = struct.pack(segment, _STACK, _READ | _WRITE, 0, 0, 0, 0, 0, 16)
    return header + loaded + stack
