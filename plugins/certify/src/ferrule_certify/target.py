"""What is examined: a backend by its contract, a foreign sandbox by its command line, or nothing.

Each turns a policy and a command into a `Launch`. Backends are asked by one thread at a time, as
the kernel does it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Final, Protocol

from ferrule_hookspecs.sandbox import Launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_certify.stage import Stage
    from ferrule_hookspecs.sandbox import (
        Capabilities,
        Command,
        Feature,
        ResolvedPolicy,
        SandboxBackend,
    )


class Target(Protocol):
    """Something that commands run in.

    Attributes:
        declared: What it says it enforces.
        backend: The backend behind it, if it is one.
    """

    declared: frozenset[Feature]
    backend: SandboxBackend | None

    def launch(self, stage: Stage, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build the launch of a command; what it raises is the backend's refusal."""
        ...


class Backend:
    """A backend of the slot `ferrule.sandboxes`."""

    def __init__(self, backend: SandboxBackend, found: Capabilities) -> None:
        """Keep a backend that works here, with what it says of itself."""
        self.backend: SandboxBackend | None = backend
        self.declared = found.enforced
        self._guard: Final = threading.Lock()
        self._prepare = backend.prepare

    def launch(self, stage: Stage, policy: ResolvedPolicy, command: Command) -> Launch:
        """Have the backend prepare the command."""
        with self._guard:
            launch = self._prepare(policy, command)
        cleanup = launch.cleanup
        if cleanup is None:
            return launch

        def clean() -> None:
            with self._guard:
                cleanup()

        return launch._replace(cleanup=clean)


class Prefixed:
    """A foreign sandbox, started by words that stand before the command.

    In the words, `{workspace}`, `{outside}`, `{extra}`, `{home}`, `{temporary}` and `{kit}` stand
    for the probe's folders. It gets the whole environment, and two descriptors that it should not
    hand on.
    """

    backend: SandboxBackend | None = None

    def __init__(self, words: Sequence[str], declared: frozenset[Feature], program: str) -> None:
        """Keep the words, what the sandbox is said to enforce, and where the kit's program is."""
        self.declared = declared
        self._words = words
        self._program = program

    def launch(self, stage: Stage, policy: ResolvedPolicy, command: Command) -> Launch:
        """Put the words in front of the command."""
        places = {
            "workspace": str(stage.workspace),
            "outside": str(stage.outside),
            "extra": str(stage.path / "extra"),
            "home": str(stage.path / "home"),
            "temporary": str(stage.path / "tmp"),
            "kit": self._program,
        }
        words = [_filled(word, places) for word in self._words]
        folder = os.open(stage.path, os.O_RDONLY)
        file = os.open(stage.outside / "canary.txt", os.O_RDWR)

        def close() -> None:
            os.close(folder)
            os.close(file)

        return Launch(
            (*words, *command.argv),
            {**os.environ, **command.env},
            command.cwd,
            pass_fds=(folder, file),
            cleanup=close,
        )


def bare() -> Prefixed:
    """No sandbox, and a careless starter: the control that shows whether an attack works at all."""
    return Prefixed((), frozenset(), "")


def close(backend: SandboxBackend) -> None:
    """Close a backend; an event loop is started only for one that has something to wait for."""
    closing = backend.aclose()
    try:
        closing.send(None)
    except StopIteration:
        return
    except RuntimeError:  # it needs an event loop
        asyncio.run(backend.aclose())


def _filled(word: str, places: dict[str, str]) -> str:
    for name, path in places.items():
        word = word.replace("{" + name + "}", path)
    return word
