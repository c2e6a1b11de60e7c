"""Which authorities count: those of the system for the proxy, these and the proxy's for commands.

The authorities of the system are what `SSL_CERT_FILE` and `SSL_CERT_DIR` name, else the system's
own, else those of certifi where it is installed.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def host_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Verify hosts fully, and offer them HTTP/1.1 only."""
    file, folder = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    context = ssl.create_default_context(cafile=file or None, capath=folder or None)
    if not (file or folder) and _is_without_authorities() and (bundle := _certifi()):
        context.load_verify_locations(cafile=bundle)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def authorities(environ: Mapping[str, str]) -> bytes:
    """The authorities that count for the proxy, for a file; empty where none are found."""
    file, folder = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if file or folder:
        paths = [Path(file)] if file else []
        paths += sorted(Path(folder).glob("*.pem")) if folder else []
        return b"\n".join(path.read_bytes() for path in paths)
    found = next((path for path in _BUNDLES if os.path.isfile(path)), None) or _certifi()
    if found:
        return Path(found).read_bytes()
    known = ssl.create_default_context().get_ca_certs(binary_form=True)
    return "".join(map(ssl.DER_cert_to_PEM_cert, known)).encode()


def _is_without_authorities() -> bool:
    paths = ssl.get_default_verify_paths()
    return os.name == "posix" and paths.cafile is None and paths.capath is None


def _certifi() -> str | None:
    try:
        import certifi
    except ImportError:
        return None
    return certifi.where()
