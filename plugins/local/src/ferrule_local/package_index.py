"""Where a package index keeps a wheel: the simple API, in its JSON form or as HTML.

The index is the one that pip and uv are set up to use on this machine.
"""

from __future__ import annotations

import json
import os
import re
from configparser import ConfigParser, Error
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from ferrule_local.failures import DownloadError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import httpx

_PYPI: Final = "https://pypi.org/simple"
_VARIABLES: Final = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
_ACCEPT: Final = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


class Wheel(NamedTuple):
    """A file of an index: its name, where it is, and the SHA-256 the index states for it."""

    name: str
    url: str
    sha256: str


def index_url(environ: Mapping[str, str]) -> str:
    """Return the index of this machine: variables of pip and uv, pip's files, else PyPI."""
    for name in _VARIABLES:
        if value := environ.get(name, "").strip():
            # uv allows a name before the address.
            return value.split("=", 1)[-1] if name == "UV_DEFAULT_INDEX" else value
    for path in _pip_files(environ):
        parser = ConfigParser(interpolation=None)
        try:
            parser.read(path, encoding="utf-8")
        except (Error, UnicodeDecodeError):
            continue  # pip itself complains about such a file; here it only means "not told"
        if value := parser.get("global", "index-url", fallback="").strip():
            return value
    return _PYPI


def _pip_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Name pip's configuration files, the one that wins first."""
    if named := environ.get("PIP_CONFIG_FILE"):
        yield Path(named)
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    configured = environ.get("XDG_CONFIG_HOME")
    yield (Path(configured) if configured else home / ".config") / "pip" / "pip.conf"
    yield home / ".pip" / "pip.conf"
    if appdata := environ.get("APPDATA"):
        yield Path(appdata) / "pip" / "pip.ini"
    yield Path("/etc/xdg/pip/pip.conf")
    yield Path("/etc/pip.conf")


def find_wheel(client: httpx.Client, index: str, package: str, version: str) -> Wheel:
    """Ask the index for the wheel of a package in one version.

    Raises:
        DownloadError: The index does not have it, or does not say its SHA-256.
    """
    page = f"{index.rstrip('/')}/{package}/"
    if urlsplit(page).scheme not in ("http", "https"):
        raise DownloadError(f"the package index {index!r} is not served over http or https")
    answer = client.get(page, headers={"Accept": _ACCEPT})
    if answer.status_code != 200:
        raise DownloadError(
            f"the package index answered {answer.status_code} for {package}: {without_secret(page)}"
        )
    wanted = f"{re.sub(r'[-_.]+', '_', package)}-{version}-"
    for wheel in _files(answer):
        if wheel.name.startswith(wanted) and wheel.name.endswith(".whl"):
            if not re.fullmatch(r"[0-9a-f]{64}", wheel.sha256):
                raise DownloadError(f"the package index states no SHA-256 for {wheel.name}")
            return wheel
    raise DownloadError(
        f"the package index has no wheel of {package} {version}: {without_secret(page)}"
    )


def without_secret(url: str) -> str:
    """Leave user name and password out of an address that is shown."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _files(answer: httpx.Response) -> Iterable[Wheel]:
    base = str(answer.url)
    if "json" not in answer.headers.get("content-type", ""):
        return _Links(base).read(answer.text)
    try:
        files: list[dict[str, Any]] = json.loads(answer.text)["files"]
        return [
            Wheel(
                str(file["filename"]),
                urljoin(base, str(file["url"])),
                str(file.get("hashes", {}).get("sha256", "")),
            )
            for file in files
        ]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise DownloadError(
            f"the package index gave an answer that is no list of files: {without_secret(base)}"
        ) from None


class _Links(HTMLParser):
    """The anchors of a page of the simple API."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self._base = base
        self._found: list[Wheel] = []

    def read(self, page: str) -> list[Wheel]:
        """Return the files a page links to."""
        self.feed(page)
        self.close()
        return self._found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a link down."""
        target = dict(attrs).get("href")
        if tag == "a" and target:
            url, fragment = urldefrag(urljoin(self._base, target))
            name = unquote(urlsplit(url).path.rpartition("/")[2])
            self._found.append(Wheel(name, url, fragment.removeprefix("sha256=")))
