"""Asks a server for its list of models: the cheapest request that shows whether it can be used.

The way there is the one providers go: proxies from the environment, and the authorities that
SSL_CERT_FILE and SSL_CERT_DIR name, else those of certifi where it is installed.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import (
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from ferrule import __version__
from ferrule.doctor.network import proxy_variables, shown_url

if TYPE_CHECKING:
    from collections.abc import Sequence

_LIMIT_S: Final = 6.0
_LARGEST: Final = 4 * 1024 * 1024


class Answer(NamedTuple):
    """What came back.

    Attributes:
        status: The HTTP status; 0 where there was no answer.
        models: The names of the models it listed; None where it listed none.
        fault: Why there was no answer.
        mend: What to do about that.
    """

    status: int = 0
    models: tuple[str, ...] | None = None
    fault: str = ""
    mend: str = ""


class _StayHere(HTTPRedirectHandler):
    """Follows no redirection: a key must not go to another server."""

    def redirect_request(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] -- every argument is ignored
        """Refuse."""


def ask_for_models(
    base_url: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    environ: Mapping[str, str],
) -> Answer:
    """Ask a server which models it has.

    Args:
        base_url: Address of the API.
        query: Parameters every request carries.
        headers: Headers every request carries, the key included.
        environ: The process environment.
    """
    url = base_url.rstrip("/") + "/models" + (f"?{urlencode(query)}" if query else "")
    try:
        request = Request(url, headers={"user-agent": f"ferrule/{__version__}", **headers})  # noqa: S310 -- the scheme is checked by the caller
        with _opener(url, environ).open(request, timeout=_LIMIT_S) as response:
            return Answer(response.status, _names(response.read(_LARGEST)))
    except HTTPError as error:
        error.close()
        return Answer(error.code)
    except URLError as error:
        reason = error.reason
        return _failure(reason if isinstance(reason, BaseException) else error, base_url, environ)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return _failure(error, base_url, environ)


def _opener(url: str, environ: Mapping[str, str]) -> OpenerDirector:
    handlers: list[object] = [ProxyHandler(proxies_for(url, environ)), _StayHere()]
    if url.startswith("https:"):
        handlers.append(HTTPSHandler(context=_trusting(environ)))
    return build_opener(*handlers)  # pyright: ignore[reportArgumentType] -- handlers all


def proxies_for(url: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the proxy for an address by its scheme; empty where it is reached directly."""
    found = proxy_variables(environ)
    parts = urlsplit(url)
    if _is_excepted(parts.hostname or "", found.get("no_proxy", "")):
        return {}
    proxy = found.get(f"{parts.scheme}_proxy") or found.get("all_proxy")
    return {parts.scheme: proxy} if proxy else {}


def _is_excepted(host: str, no_proxy: str) -> bool:
    names = [name.strip().lstrip(".").partition(":")[0] for name in no_proxy.split(",")]
    return "*" in names or any(name and f".{host}".endswith(f".{name}") for name in names)


def _trusting(environ: Mapping[str, str]) -> ssl.SSLContext:
    file, folder = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if not (file or folder) and find_spec("certifi"):
        import certifi

        file = certifi.where()
    return ssl.create_default_context(cafile=file or None, capath=folder or None)


def _failure(error: BaseException, base_url: str, environ: Mapping[str, str]) -> Answer:
    """Say in plain words which step of the way failed."""
    where = shown_url(base_url)
    way = next(iter(proxies_for(base_url, environ).values()), "")
    via = f" through the proxy {shown_url(way)}" if way else ""
    mend = f"check the proxy variables; without them: env -u {_proxy_name(environ)} ferrule doctor"
    if not way:
        mend = "check the network and the provider's `base_url`"
    if isinstance(error, ssl.SSLCertVerificationError):
        text = f"the certificate of {where} cannot be trusted{via}: {error.verify_message}"
        mend = "if your network has an authority of its own, name its file in SSL_CERT_FILE"
        return Answer(fault=text, mend=mend)
    if isinstance(error, ssl.SSLError):
        return Answer(fault=f"{where} does not speak TLS{via}: {error.reason}", mend=mend)
    if isinstance(error, socket.gaierror):
        host = urlsplit(way or base_url).hostname
        return Answer(fault=f"the name {host} cannot be resolved{via}: {error.strerror}", mend=mend)
    if isinstance(error, TimeoutError):
        return Answer(fault=f"{where} did not answer within {_LIMIT_S:g} s{via}", mend=mend)
    if isinstance(error, ConnectionRefusedError):
        return Answer(fault=f"nothing listens at {shown_url(way or base_url)}", mend=mend)
    if isinstance(error, ValueError):  # its text may quote a header, and with it the key
        text = f"the request to {where} cannot be made: the key or a header has odd letters in it"
        return Answer(fault=text, mend="set the variable of the key to the bare key")
    text = str(error) or type(error).__name__
    return Answer(fault=f"{where} cannot be reached{via}: {text}", mend=mend)


def _proxy_name(environ: Mapping[str, str]) -> str:
    names = [name for name in environ if name.lower() in proxy_variables(environ)]
    return " -u ".join(sorted(name for name in names if name.lower() != "no_proxy"))


def _names(body: bytes) -> tuple[str, ...] | None:
    """Read the names of models from the lists that servers give; None where it is another thing."""
    try:
        document: object = json.loads(body)
    except ValueError:
        return None
    if not isinstance(document, Mapping):
        return None
    listed = cast("Mapping[str, object]", document)
    rows = listed.get("data", listed.get("models"))
    if not isinstance(rows, list):
        return None
    names: list[str] = []
    for row in cast("Sequence[object]", rows):
        if isinstance(row, Mapping):
            table = cast("Mapping[str, object]", row)
            name = table.get("id") or table.get("model") or table.get("name")
            names += [name] if isinstance(name, str) else []
    return tuple(names)
