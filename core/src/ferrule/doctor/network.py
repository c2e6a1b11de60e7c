"""What the environment says about the way out: proxies and certificates."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ferrule.doctor.examination import Examination

_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_CERTIFICATES: Final = {"SSL_CERT_FILE": os.path.isfile, "SSL_CERT_DIR": os.path.isdir}


def checks(examination: Examination) -> Iterator[Check]:
    """Look at the environment; nothing is connected to here."""
    yield _proxies(examination.environ)
    yield _certificates(examination.environ)


def proxy_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the proxies by lower-case name; as everywhere, the lower-case variable wins."""
    found: dict[str, str] = {}
    for name in _PROXIES:
        if value := environ.get(name) or environ.get(name.upper()):
            found[name] = value
    return found


def shown_url(url: str) -> str:
    """Return an address without user name, password and query, any of which may be secret."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    host = f"[{host}]" if ":" in host else host
    user = "…@" if parts.username or parts.password else ""
    return urlunsplit((parts.scheme, f"{user}{host}{port}", parts.path, "", "")).removeprefix("//")


def _proxies(environ: Mapping[str, str]) -> Check:
    found = proxy_variables(environ)
    no_proxy = found.pop("no_proxy", "")
    if not found:
        return Check("network.proxy", "ok", "no proxy is set")
    shown = [f"{name} is {shown_url(value)}" for name, value in found.items()]
    shown += [f"not for {no_proxy}"] if no_proxy else []
    if odd := [name for name, value in found.items() if not _is_proxy(value)]:
        return Check(
            "network.proxy",
            "warn",
            f"{', '.join(shown)}; {odd[0]} is not an address of a proxy",
            f"set {odd[0]} to an address such as http://proxy.example:3128, or unset it",
        )
    return Check("network.proxy", "ok", ", ".join(shown))


def _is_proxy(value: str) -> bool:
    try:
        parts = urlsplit(value if "//" in value else f"http://{value}")
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _certificates(environ: Mapping[str, str]) -> Check:
    shown: list[str] = []
    for name, exists in _CERTIFICATES.items():
        path = environ.get(name)
        if not path:
            continue
        if not exists(path) or not os.access(path, os.R_OK):
            return Check(
                "network.certificates",
                "fail",
                f"{name} names {path}, which is not there or cannot be read, so no server will be"
                " trusted",
                f"correct {name}, or unset it",
            )
        shown.append(f"{name} is {path}")
    text = ", ".join(shown) or "the usual authorities are trusted"
    return Check("network.certificates", "ok", text)
