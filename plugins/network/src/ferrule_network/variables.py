"""The environment variables by which programs find the proxy.

Nearly every program knows some of these. `ALL_PROXY` names the proxy by http and not by SOCKS5,
which the same port speaks, too: libraries such as httpx refuse to start where it names a SOCKS
proxy and their optional part for it is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ferrule_network.credentials import Credential

_BY_HTTP: Final = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
    "WS_PROXY",
    "WSS_PROXY",
    "NPM_CONFIG_PROXY",
    "NPM_CONFIG_HTTPS_PROXY",
)
_BY_HTTP_IN_CAPITALS: Final = (
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
    "BUNDLE_HTTP_PROXY",
    "BUNDLE_HTTPS_PROXY",
    "DOCKER_HTTP_PROXY",
    "DOCKER_HTTPS_PROXY",
    "PIP_PROXY",
)
_AUTHORITIES: Final = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "NPM_CONFIG_CAFILE",
    "npm_config_cafile",
)
_EXCEPTIONS: Final = ("NO_PROXY", "NPM_CONFIG_NOPROXY")
_OWN_MACHINE: Final = "localhost,127.0.0.1,::1"
PLACEHOLDER: Final = "put-in-by-the-network-proxy"
"""What a command has in place of a secret, for programs that do not start without any."""
_FLAGS: Final = {
    "NODE_USE_ENV_PROXY": "1",  # Node.js looks at the others only with it
    "ELECTRON_GET_USE_PROXY": "true",
    "CODEX_NETWORK_PROXY_ACTIVE": "1",
}


def proxy_variables(credential: Credential, port: int, *, serves_loopback: bool) -> dict[str, str]:
    """Name the proxy to a command.

    Args:
        credential: The command's.
        port: The port on 127.0.0.1 that it finds the proxy at.
        serves_loopback: Whether 127.0.0.1 means this machine's, by the proxy; else it means the
            command's own, without it.
    """
    address = f"127.0.0.1:{port}"
    url = credential.url("http", address)
    exceptions = "" if serves_loopback else _OWN_MACHINE
    named = dict.fromkeys(_BY_HTTP, url) | dict.fromkeys(_EXCEPTIONS, exceptions)
    twins = {name.lower(): value for name, value in named.items()}
    capitals = dict.fromkeys(_BY_HTTP_IN_CAPITALS, url)
    own = {
        "FERRULE_NETWORK_PROXY": url,
        "FERRULE_NETWORK_SOCKS": credential.url("socks5h", address),
    }
    return {**named, **twins, **capitals, **_FLAGS, **own}


def trust_variables(bundle: str) -> dict[str, str]:
    """Name the file of authorities to a command."""
    return dict.fromkeys(_AUTHORITIES, bundle)
