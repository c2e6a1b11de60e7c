"""Keeps the memory of this process, which holds keys, from other programs of the same user.

It cannot be traced, leaves no core files, and what would load foreign code into every program is
taken out of its environment. Done first thing by the `ferrule` program, and never to a program that
embeds the kernel.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

ESCAPE: Final = "FERRULE_ALLOW_DEBUGGING"
_INJECTING: Final = ("LD_", "DYLD_", "MallocStackLogging", "MallocLogFile")
# An interpreter may need these to start at all, and we start it for plugins; commands of the model
# do not get them.
_SEARCH_PATHS: Final = frozenset(
    (
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"),
        *("DYLD_FRAMEWORK_PATH", "DYLD_FALLBACK_FRAMEWORK_PATH"),
    )
)
_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4
_PT_DENY_ATTACH: Final = 31
_RTLD_NOW: Final = 2


class Hardening(NamedTuple):
    """What holds for this process.

    Attributes:
        is_untraceable: Whether other programs cannot trace it or look into its memory; None where
            that cannot be told.
        has_core_files: Whether it would leave one.
        loader_variables: What is in its environment that loads foreign code.
    """

    is_untraceable: bool | None
    has_core_files: bool
    loader_variables: tuple[str, ...]


def harden(environ: MutableMapping[str, str]) -> None:
    """Harden this process, unless its user wants to debug it."""
    if environ.get(ESCAPE) == "1":
        return
    for name in _loader_variables(environ):
        del environ[name]
    if sys.platform == "win32":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))  # commands may raise it again
    if sys.platform == "linux":
        _call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)
    elif sys.platform == "darwin":
        _call("ptrace", _PT_DENY_ATTACH, 0, 0, 0)


def examine(environ: Mapping[str, str]) -> Hardening:
    """Look at what holds now."""
    has_core_files = False
    if sys.platform != "win32":
        import resource

        has_core_files = resource.getrlimit(resource.RLIMIT_CORE)[0] != 0
    is_untraceable = None
    if sys.platform == "linux":
        is_untraceable = _call("prctl", _PR_GET_DUMPABLE, 0, 0, 0, 0) == 0
    return Hardening(is_untraceable, has_core_files, tuple(_loader_variables(environ)))


def _loader_variables(environ: Mapping[str, str]) -> list[str]:
    return [name for name in environ if name.startswith(_INJECTING) and name not in _SEARCH_PATHS]


def _call(name: str, *arguments: int) -> int | None:
    """Call a function of the C library; None for an interpreter that cannot.

    This is the inner half of `ctypes`, which would cost a start three times as much.
    """
    try:
        import _ctypes
    except ImportError:
        return None
    library = _ctypes.dlopen(None, _RTLD_NOW)  # pyright: ignore[reportArgumentType] -- None is this process
    return _ctypes.call_function(_ctypes.dlsym(library, name), arguments)
