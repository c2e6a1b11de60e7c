"""Errors of fetching weights."""

from __future__ import annotations

from ferrule_hookspecs.errors import FerruleError


class DownloadError(FerruleError):
    """Weights could not be fetched; what came so far is kept unless the message says otherwise."""


class UnreachableError(DownloadError):
    """Nobody answered at the address: offline, a wrong name, or a proxy in between."""


class WrongHashError(DownloadError):
    """A file does not have the checksum it must have; it has been removed."""

    def __init__(self, name: str, expected: str, got: str) -> None:
        """Name the file and both checksums."""
        super().__init__(
            f"{name} has the wrong SHA-256 and was removed: expected {expected}, got {got}; "
            "run the command again to fetch it anew"
        )
