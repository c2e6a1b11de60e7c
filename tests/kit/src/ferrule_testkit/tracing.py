"""Programs that do what debuggers do, for tests of sandbox backends."""

from __future__ import annotations

from typing import Final

TRACE_CHILD: Final = """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
class Area(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("size", ctypes.c_size_t)]
word, copy = ctypes.create_string_buffer(b"word"), ctypes.create_string_buffer(5)
child = os.fork()
if child == 0:
    while True:
        signal.pause()
attached = libc.ptrace(16, child, None, None)
print(attached, end=" ")
if attached == 0:
    os.waitpid(child, 0)
    print(libc.ptrace(17, child, None, None), end=" ")
here, there = Area(ctypes.addressof(copy), 4), Area(ctypes.addressof(word), 4)
print(libc.process_vm_readv(child, ctypes.byref(here), 1, ctypes.byref(there), 1, 0), copy.value)
os.kill(child, signal.SIGKILL)
"""
"""Prints what attaching to a child, letting it go and reading four bytes of it return."""

ATTACH: Final = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, int(sys.argv[1]), None, None), ctypes.get_errno())
"""
"""Prints what attaching to the process of the first argument returns, and the error."""
