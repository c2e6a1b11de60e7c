"""Fetches one address into one file, going on where an earlier try stopped, and checks it."""

from __future__ import annotations

import hashlib
import os
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from ferrule_local.failures import DownloadError, UnreachableError, WrongHashError
from ferrule_local.package_index import without_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import httpx

    from ferrule_local.progress import Progress

_CONNECT_SECONDS: Final = 10.0
_READ_SECONDS: Final = 60.0
_PIECE: Final = 1024 * 1024
_TRIES: Final = 3


class Source(NamedTuple):
    """What to fetch.

    Attributes:
        url: Its address.
        name: What it is called in messages.
        sha256: The checksum it must have; None leaves the check to the caller.
    """

    url: str
    name: str
    sha256: str | None


def open_client(environ: Mapping[str, str]) -> httpx.Client:
    """Open an HTTP client that uses the machine's proxies and certificates."""
    import httpx

    own = environ.get("SSL_CERT_FILE") or environ.get("REQUESTS_CA_BUNDLE")
    bundle = own or environ.get("PIP_CERT")
    verify: bool | ssl.SSLContext = True
    if bundle and os.path.isfile(bundle):
        verify = ssl.create_default_context(cafile=bundle)
    return httpx.Client(
        follow_redirects=True,
        verify=verify,
        timeout=httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS),
        headers={"User-Agent": "ferrule", "Accept-Encoding": "identity"},
    )


def fetch(client: httpx.Client, source: Source, target: Path, progress: Progress) -> None:
    """Fetch into `target`, which may hold the beginning already.

    Raises:
        WrongHashError: What came is not what it should be; the file is removed.
        DownloadError: It could not be fetched; what came is kept for another try.
    """
    for left in reversed(range(_TRIES)):
        try:
            _fetch_rest(client, source, target, progress)
            break
        except UnreachableError:
            # A line that broke in the middle is taken up again; one that never was is told.
            if not left or not target.exists():
                raise
    if source.sha256 is not None:
        got = checksum(target)
        if got != source.sha256:
            progress.advance(-target.stat().st_size)
            target.unlink()
            raise WrongHashError(source.name, source.sha256, got)


def checksum(path: Path, told: Callable[[int], None] | None = None) -> str:
    """Compute the SHA-256 of a file; `told` hears of the bytes read."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            if told is not None:
                told(len(piece))
    return digest.hexdigest()


def _fetch_rest(client: httpx.Client, source: Source, target: Path, progress: Progress) -> None:
    have = target.stat().st_size if target.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    with named_failures(source.url), client.stream("GET", source.url, headers=headers) as answer:
        if answer.status_code == 416 and have:
            return  # nothing is left to fetch; the checksum tells whether it is right
        if answer.status_code not in (200, 206):
            raise DownloadError(
                f"{source.name}: the server answered {answer.status_code} for "
                f"{without_secret(source.url)}"
            )
        goes_on = answer.status_code == 206 and _begins_at(answer, have)
        if have and not goes_on:
            progress.advance(-have)  # the server sends all of it anew
        with target.open("ab" if goes_on else "wb") as file:
            for piece in answer.iter_raw():
                file.write(piece)
                progress.advance(len(piece))


def _begins_at(answer: httpx.Response, offset: int) -> bool:
    return answer.headers.get("content-range", "").startswith(f"bytes {offset}-")


@contextmanager
def named_failures(url: str) -> Iterator[None]:
    """Put what goes wrong on the line into words."""
    import httpx

    try:
        yield
    except httpx.HTTPError as error:
        cause = str(error) or type(error).__name__
        raise UnreachableError(
            f"{urlsplit(url).hostname} cannot be reached ({cause}); is this machine offline, or "
            "behind a proxy that HTTPS_PROXY does not name?"
        ) from error
    except OSError as error:
        raise DownloadError(f"the download cannot be written: {error.strerror}") from error
