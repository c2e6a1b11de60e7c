"""Contents by their digest: what batches put in place, and what they replaced."""

from __future__ import annotations

import hashlib
import os
from typing import IO, TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Collection

    from ferrule_overlay.tree import Tree

_BLOCK: Final = 1024 * 1024


class ObjectStore:
    """A folder of contents; each is on the disk before it can be found."""

    def __init__(self, path: str, *, is_synced: bool = True) -> None:
        """Take the folder; it is made when something is put into it.

        Where it is not synced, a content may be lost when the machine fails, not by `kill -9`.
        """
        self._path = path
        self._is_synced = is_synced

    def place(self, digest: str) -> str:
        """Where a content is kept."""
        return os.path.join(self._path, digest[:2], digest[2:])

    def put(self, data: bytes) -> str:
        """Keep a content; returns its digest."""
        digest = hashlib.sha256(data).hexdigest()
        if not os.path.exists(self.place(digest)):
            spare = self._spare(digest)
            with open(spare, "wb") as file:
                file.write(data)
                self._sync(file)
            os.replace(spare, self.place(digest))
        return digest

    def take(self, tree: Tree, relative: str, digest: str) -> None:
        """Keep the content of a file whose digest is known.

        Raises:
            FerruleError: The file is not what it was a moment ago.
        """
        if os.path.exists(self.place(digest)):
            return
        spare, found = self._spare(digest), hashlib.sha256()
        with tree.folder_of(relative) as (folder, name):
            source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(source, "rb", buffering=0) as reading, open(spare, "wb") as file:
            while chunk := reading.read(_BLOCK):
                found.update(chunk)
                file.write(chunk)
            self._sync(file)
        if found.hexdigest() != digest:
            os.unlink(spare)
            raise FerruleError(f"{tree.path}/{relative} is being written right now; try again")
        os.replace(spare, self.place(digest))

    def read(self, digest: str) -> bytes:
        """Return a content."""
        with open(self.place(digest), "rb") as file:
            return file.read()

    def keep_only(self, digests: Collection[str]) -> None:
        """Remove all other contents."""
        for folder, _, names in os.walk(self._path):
            for name in names:
                if os.path.basename(folder) + name not in digests:
                    os.unlink(os.path.join(folder, name))

    def size(self) -> int:
        """How much is kept, in bytes."""
        return sum(
            os.lstat(os.path.join(folder, name)).st_size
            for folder, _, names in os.walk(self._path)
            for name in names
        )

    def _sync(self, file: IO[bytes]) -> None:
        file.flush()
        if self._is_synced:
            os.fsync(file.fileno())

    def _spare(self, digest: str) -> str:
        os.makedirs(os.path.dirname(self.place(digest)), mode=0o700, exist_ok=True)
        return f"{self.place(digest)}.{os.getpid()}"
