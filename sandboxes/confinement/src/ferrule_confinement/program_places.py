"""What must be readable so that programs start, where a policy names the only readable folders."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.evaluator import is_inside

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import ResolvedPolicy

_SYSTEM: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *("/nix/store", "/gnu/store", "/run/current-system/sw"),
)
# How programs find libraries, users, hosts, certificates, the time zone and the terminal. Nothing
# here belongs to one service or holds a secret.
_SETTINGS: Final = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives"),
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "resolv.conf", "gai.conf"),
    *("services", "protocols", "localtime", "timezone", "os-release", "locale.alias"),
    *("ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs"),
    *("pki/tls/cert.pem", "pki/ca-trust", "crypto-policies", "static", "terminfo", "shells"),
    *("profile", "profile.d", "bash.bashrc", "bashrc", "inputrc", "mime.types"),
)
_PLACES: Final = (*_SYSTEM, *(f"/etc/{name}" for name in _SETTINGS))


@cache
def program_places() -> tuple[str, ...]:
    """The places of this machine, links among them left as they are."""
    return tuple(path for path in _PLACES if os.path.exists(path))


@cache
def _canonical_places() -> tuple[str, ...]:
    return tuple(map(os.path.realpath, program_places()))


def is_shown(policy: ResolvedPolicy, path: str) -> bool:
    """Whether a canonical path lies where a policy lets something be read, programs included."""
    if policy.readable_roots is None:
        return True
    roots = (root.path for root in policy.writable_roots)
    places = (*policy.readable_roots, *roots, *_canonical_places())
    return any(is_inside(path, place) for place in places)
