"""Bearer tokens: a capability token that is compared, or one that is signed and checked (HS256)."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ferrule_gate.private_file import read_private
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODES: Final = ("capability-token", "signed-bearer-token")
_CAPABILITY: Final = ("ws-token-file", "ws-token-sha256")
_SIGNED: Final = (
    "ws-shared-secret-file", "ws-issuer", "ws-audience", "ws-max-clock-skew-seconds",
)  # fmt: skip
_LONGEST_TOKEN: Final = 8 * 1024
_SHORTEST_TOKEN: Final = 16
_SHORTEST_SECRET: Final = 32  # RFC 7518 §3.2: a key of HS256 has at least the size of its hash
_SKEW_S: Final = 30
_MOST_SKEW_S: Final = 600


class AuthOptionsError(FerruleError):
    """The options that say how clients prove who they are do not fit together."""


class Verifier(Protocol):
    """Knows the right tokens."""

    def accepts(self, token: str) -> bool:
        """Tell whether a token is right."""
        ...


class CapabilityToken(NamedTuple):
    """One secret that every client has. Only its hash is kept.

    Attributes:
        digest: SHA-256 of the token.
    """

    digest: bytes

    def accepts(self, token: str) -> bool:
        """Compare in a time that says nothing about the token."""
        given = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        return hmac.compare_digest(given, self.digest)


class SignedToken(NamedTuple):
    """A JSON web token signed with a shared secret.

    Attributes:
        secret: The secret.
        issuer: Who must have made it; None takes anybody who has the secret.
        audience: Whom it must be for; None takes a token for anybody.
        skew_s: How far clocks may be apart, in seconds.
    """

    secret: bytes
    issuer: str | None = None
    audience: str | None = None
    skew_s: int = _SKEW_S

    def accepts(self, token: str) -> bool:
        """Check signature, times, issuer and audience. The algorithm is ours to say."""
        import jwt

        try:
            jwt.decode(
                token,
                self.secret,
                algorithms=["HS256"],
                options={
                    "require": ["exp"],
                    "verify_aud": self.audience is not None,
                    "verify_iss": self.issuer is not None,
                },
                issuer=self.issuer,
                audience=self.audience,
                leeway=self.skew_s,
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError, OverflowError):
            # What is no token at all must not get further than what is a wrong one.
            return False
        return True


def token_of(values: Sequence[str]) -> str | None:
    """Return the token of `Authorization` headers; None unless there is exactly one."""
    if len(values) != 1 or len(values[0]) > _LONGEST_TOKEN:
        return None
    scheme, _, token = values[0].strip().partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def verifier_from(options: Mapping[str, str]) -> Verifier | None:
    """Read the options of an endpoint; None where they ask for no authentication.

    Raises:
        FerruleError: They do not fit together, or a secret is missing, weak or not private.
    """
    mode = options.get("ws-auth")
    used = [name for name in (*_CAPABILITY, *_SIGNED) if name in options]
    if mode is None:
        if used:
            raise AuthOptionsError(f"--{used[0]} needs --ws-auth {_mode_of(used[0])}")
        return None
    if mode not in MODES:
        raise AuthOptionsError(f"--ws-auth takes {' or '.join(MODES)}, not {mode!r}")
    for name in used:
        if _mode_of(name) != mode:
            raise AuthOptionsError(f"--{name} does not go with --ws-auth {mode}")
    return _capability(options) if mode == MODES[0] else _signed(options)


def _mode_of(option: str) -> str:
    return MODES[0] if option in _CAPABILITY else MODES[1]


def _capability(options: Mapping[str, str]) -> CapabilityToken:
    file, digest = (options.get(name) for name in _CAPABILITY)
    if (file is None) == (digest is None):
        raise AuthOptionsError(
            f"--ws-auth {MODES[0]} needs either --ws-token-file FILE or --ws-token-sha256 HEX"
        )
    if digest is not None:
        if not re.fullmatch("[0-9a-fA-F]{64}", digest):
            raise AuthOptionsError("--ws-token-sha256 takes 64 hexadecimal digits")
        return CapabilityToken(bytes.fromhex(digest))
    token = read_private(Path(file or ""), "the token")
    if len(token) < _SHORTEST_TOKEN:
        raise AuthOptionsError(
            f"the token in {file} can be guessed: it must have at least {_SHORTEST_TOKEN} "
            "characters; `openssl rand -hex 32` makes a good one"
        )
    return CapabilityToken(hashlib.sha256(token).digest())


def _signed(options: Mapping[str, str]) -> SignedToken:
    file = options.get("ws-shared-secret-file")
    if file is None:
        raise AuthOptionsError(f"--ws-auth {MODES[1]} needs --ws-shared-secret-file FILE")
    secret = read_private(Path(file), "the shared secret")
    if len(secret) < _SHORTEST_SECRET:
        raise AuthOptionsError(
            f"the shared secret in {file} is too short for HS256: it must have at least "
            f"{_SHORTEST_SECRET} bytes"
        )
    skew = options.get("ws-max-clock-skew-seconds", str(_SKEW_S))
    if not re.fullmatch("[0-9]{1,4}", skew) or int(skew) > _MOST_SKEW_S:
        raise AuthOptionsError(
            f"--ws-max-clock-skew-seconds takes a number from 0 to {_MOST_SKEW_S}, not {skew!r}"
        )
    return SignedToken(secret, options.get("ws-issuer"), options.get("ws-audience"), int(skew))
