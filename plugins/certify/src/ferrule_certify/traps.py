"""What the kit puts outside of the sandbox for probes to reach for: servers, a process, secrets.

All of it belongs to the kit, is made for one examination and goes with it; nothing of the machine's
own is read, changed or disturbed.
"""

from __future__ import annotations

import ctypes
import os
import platform
import secrets
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_certify.listeners import Listeners

if TYPE_CHECKING:
    from types import TracebackType

LEAK_VARIABLE: Final = "CERTIFY_SECRET"
_KEY_CALLS: Final = {"x86_64": (248, 250), "aarch64": (217, 219)}
_SESSION_KEYRING: Final = -3
_UNLINK_KEY: Final = 9
_SHARED: Final = "/dev/shm"  # noqa: S108 -- where shared memory of POSIX lives
_VICTIM: Final = """\
import ctypes, os, sys
secret = ctypes.create_string_buffer(os.environ["SECRET"].encode(), 64)
spare = ctypes.create_string_buffer(16)
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
root = os.open("/", os.O_RDONLY)
print(ctypes.addressof(secret), ctypes.addressof(spare), file, flush=True)
sys.stdin.read()
"""


class Traps:
    """The traps of one examination; a context manager."""

    def __init__(self, base: Path) -> None:
        """Nothing is there before the context is entered; `base` is a folder of the kit."""
        self.secret = secrets.token_hex(16)
        self.facts: dict[str, object] = {}
        self.listeners: Listeners
        self._base = base
        self._stack = ExitStack()

    def __enter__(self) -> Traps:
        with ExitStack() as stack:
            self.listeners = stack.enter_context(Listeners(self._base / "services"))
            self.facts = dict(self.listeners.facts)
            self._start_victim(stack)
            self._share_memory(stack)
            self._share_file(stack)
            self._add_key(stack)
            self._set_variable(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _start_victim(self, stack: ExitStack) -> None:
        victim = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _VICTIM, str(self._base / "victim-file")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self._base,
            env={"SECRET": self.secret},
            start_new_session=True,
        )
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        for pipe in (victim.stdin, victim.stdout):
            if pipe is not None:
                stack.enter_context(pipe)
        line = victim.stdout.readline() if victim.stdout else b""
        address, spare, descriptor = map(int, line.split())
        self.facts |= {
            "victim": victim.pid,
            "victim_address": address,
            "victim_spare": spare,
            "victim_descriptor": descriptor,
        }

    def _share_memory(self, stack: ExitStack) -> None:
        """Make a segment of System V; -1 where there are none."""
        self.facts["segment"] = -1
        if sys.platform != "linux":
            return
        library = ctypes.CDLL(None, use_errno=True)
        library.shmat.restype = ctypes.c_void_p
        segment = library.shmget(0, 4096, 0o1600)
        if segment < 0:
            return
        stack.callback(library.shmctl, segment, 0, None)
        address = library.shmat(segment, None, 0)
        text = self.secret.encode() + b"\0"
        ctypes.memmove(address, text, len(text))
        library.shmdt(ctypes.c_void_p(address))
        self.facts["segment"] = segment

    def _share_file(self, stack: ExitStack) -> None:
        folder = _SHARED if os.path.isdir(_SHARED) else str(self._base)
        descriptor, path = tempfile.mkstemp(prefix="ferrule-certify-", dir=folder)
        stack.callback(_remove, path)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(self.secret)
        self.facts["shared_name"] = os.path.basename(path)

    def _add_key(self, stack: ExitStack) -> None:
        """Put a key into the session's keyring; an empty name where there is none."""
        self.facts["keyring"] = ""
        if sys.platform != "linux" or platform.machine() not in _KEY_CALLS:
            return
        add, control = _KEY_CALLS[platform.machine()]
        call = ctypes.CDLL(None, use_errno=True).syscall
        call.restype = ctypes.c_long
        name = f"ferrule-certify-{secrets.token_hex(8)}"
        text = self.secret.encode()
        ring = ctypes.c_long(_SESSION_KEYRING)
        key = call(
            ctypes.c_long(add), b"user", name.encode(), text, ctypes.c_size_t(len(text)), ring
        )
        if key > 0:
            words = (ctypes.c_long(control), ctypes.c_long(_UNLINK_KEY), ctypes.c_long(key), ring)
            stack.callback(call, *words)
            self.facts["keyring"] = name

    def _set_variable(self, stack: ExitStack) -> None:
        os.environ[LEAK_VARIABLE] = self.secret
        stack.callback(os.environ.pop, LEAK_VARIABLE, None)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
