"""What the backend asks of Windows. `win32_system.py` is the real one; tests have a model of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_sandbox_windows.access_plan import Ace


class Hold(Protocol):
    """A name that is kept as long as it is held, however this process ends."""

    def close(self) -> None:
        """Let go; a stand-in goes away."""
        ...


class System(Protocol):
    """Files, drives and access lists of this machine. Every failure is an `OSError`."""

    def build(self) -> int:
        """Return the build number of Windows."""
        ...

    def drives(self) -> tuple[str, ...]:
        """Return the roots of the drives."""
        ...

    def has_access_lists(self, path: str) -> bool:
        """Whether the drive of a path keeps access lists; FAT does not."""
        ...

    def hold(self, path: str) -> Hold:
        """Keep an existing name: as long as it is held, nobody can rename or remove it."""
        ...

    def stand_in(self, path: str) -> Hold:
        """Make an empty folder that only this user may enter, and hold it."""
        ...

    def add_entries(self, sid: str, entries: Sequence[Ace]) -> None:
        """Add entries for an identity to the access lists of paths that exist."""
        ...

    def remove_entries(self, sid: str, paths: Sequence[str]) -> None:
        """Remove all entries of an identity; paths that are gone are passed over."""
        ...
