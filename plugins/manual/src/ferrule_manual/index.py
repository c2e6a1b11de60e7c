"""The package index: which one is configured, and what the newest version there is.

Speaks the simple API in its JSON form (PEP 691), which PyPI and the common mirrors offer, and reads
its HTML form where a mirror has nothing else.
"""

from __future__ import annotations

import json
import re
import sys
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from packaging.version import Version

_PYPI: Final = "https://pypi.org/simple"
_VARIABLES: Final = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_ACCEPT: Final = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
_MAX_BYTES: Final = 16 * 1024 * 1024
_LINK: Final = re.compile(r"<a\s[^>]*>\s*([^<\s]+)\s*</a>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Index:
    """A package index."""

    url: str

    @classmethod
    def configured(cls, url: str | None, environ: Mapping[str, str]) -> Index:
        """Take the named index, else the one uv or pip are told to use.

        Raises:
            FerruleError: It is not a web address.
        """
        named = [url, *(environ.get(name) for name in _VARIABLES)]
        chosen = next(filter(None, named), None) or _of_pip(environ) or _PYPI
        name, _, rest = chosen.partition("=")  # uv knows indexes with a name: NAME=URL
        chosen = rest if rest and "/" not in name else chosen
        if urlsplit(chosen).scheme not in ("http", "https"):
            raise FerruleError(f"the package index {chosen!r} is not an http or https address")
        return cls(chosen.rstrip("/"))

    @property
    def shown_url(self) -> str:
        """The address without name and password."""
        return re.sub(r"//[^/@]*@", "//", self.url)

    def newest(self, project: str, *, with_prereleases: bool, timeout: float) -> str:
        """Return the newest version of a project that was not taken back.

        Raises:
            FerruleError: The index cannot be reached, or has no version.
        """
        body, kind = self._ask(f"{self.url}/{project}/", timeout)
        names = _names_in_json(body) if kind.endswith("json") else _names_in_html(body)
        versions = {version for name in names if (version := _version_of(name, project))}
        fit = [each for each in versions if with_prereleases or not each.is_prerelease]
        if not fit:
            raise FerruleError(f"the index {self.shown_url} has no version of {project!r}")
        return str(max(fit))

    def _ask(self, url: str, timeout: float) -> tuple[bytes, str]:
        from urllib.error import HTTPError, URLError
        from urllib.request import Request, urlopen

        parts = urlsplit(url)
        bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        request = Request(bare, headers={"Accept": _ACCEPT})  # noqa: S310 -- checked in `configured`
        if parts.username:  # never sent on to where a redirection leads
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            request.add_unredirected_header(
                "Authorization", "Basic " + b64encode(pair.encode()).decode()
            )
        try:
            with urlopen(request, timeout=timeout) as answer:  # noqa: S310 -- as above
                kind = str(answer.headers.get_content_type())
                return answer.read(_MAX_BYTES), kind
        except HTTPError as error:
            error.close()
            raise FerruleError(f"the index {self.shown_url} answers {_status(error)}") from error
        except URLError as error:
            raise FerruleError(self._unreachable(error.reason)) from error
        except (OSError, ValueError) as error:
            raise FerruleError(self._unreachable(error)) from error

    def _unreachable(self, reason: object) -> str:
        return (
            f"the package index {self.shown_url} cannot be reached ({reason});"
            " check the network and proxies, or name another with --index-url"
        )


def _status(error: Any) -> str:  # noqa: ANN401 -- the class is imported where it is used
    text = f"{error.code} {error.reason}"
    return f"{text}: it does not know 'ferrule'" if error.code == 404 else text


def _of_pip(environ: Mapping[str, str]) -> str | None:
    """Read `index-url` of pip's configuration files; the last file that has one wins."""
    from configparser import ConfigParser, Error

    home = Path.home()
    places = [Path("/etc/pip.conf"), home / ".pip/pip.conf", home / ".config/pip/pip.conf"]
    places += [Path(sys.prefix) / "pip.conf"]
    if named := environ.get("PIP_CONFIG_FILE"):
        places.append(Path(named))
    parser = ConfigParser(interpolation=None)
    try:
        parser.read([place for place in places if place.is_file()], encoding="utf-8")
    except (Error, UnicodeDecodeError):  # pip itself will complain
        return None
    return parser.get("global", "index-url", fallback=None)


def _names_in_json(body: bytes) -> Iterator[str]:
    try:
        files: list[dict[str, Any]] = json.loads(body)["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise FerruleError("the package index gave an answer that is no index page") from error
    yield from (str(file.get("filename")) for file in files if not file.get("yanked"))


def _names_in_html(body: bytes) -> Iterator[str]:
    for match in _LINK.finditer(body.decode("utf-8", "replace")):
        if "data-yanked" not in match[0]:
            yield match[1]


def _version_of(name: str, project: str) -> Version | None:
    from packaging.utils import (
        InvalidSdistFilename,
        InvalidWheelFilename,
        parse_sdist_filename,
        parse_wheel_filename,
    )

    try:
        parsed = parse_wheel_filename(name) if name.endswith(".whl") else parse_sdist_filename(name)
    except (InvalidSdistFilename, InvalidWheelFilename):
        return None
    return parsed[1] if parsed[0] == project else None
