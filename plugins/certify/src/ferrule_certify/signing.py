"""Ed25519 signatures of certificates. The library for it is an optional part: `[sign]`."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ferrule_certify.certificate import canonical
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )


class SigningUnavailableError(FerruleError):
    """The library that signs is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "signatures need the library cryptography: pip install 'ferrule-certify[sign]'"
        )


def sign(content: Mapping[str, object], file: Path) -> dict[str, object]:
    """Seal a certificate with the key in a file, which is made where it is missing.

    Raises:
        SigningUnavailableError: The library is missing.
        FerruleError: The key cannot be used.
    """
    key = _private_key(file)
    signature = base64.b64encode(key.sign(canonical(content))).decode("ascii")
    return {**content, "public_key": public_text(key.public_key()), "signature": signature}


def is_signed_by(content: Mapping[str, object], public_key: str) -> bool:
    """Whether a certificate is sealed by the key that is given in base64.

    Raises:
        SigningUnavailableError: The library is missing.
        FerruleError: The text is no public key.
    """
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise SigningUnavailableError from None
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
    except ValueError as error:
        raise FerruleError(f"the public key is no Ed25519 key in base64: {error}") from None
    try:
        signature = base64.b64decode(str(content.get("signature", "")), validate=True)
        key.verify(signature, canonical(content))
    except (ValueError, InvalidSignature):
        return False
    return True


def public_text(key: Ed25519PublicKey) -> str:
    """Write a public key in base64."""
    return base64.b64encode(key.public_bytes_raw()).decode("ascii")


def _private_key(file: Path) -> Ed25519PrivateKey:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        raise SigningUnavailableError from None
    try:
        found = serialization.load_pem_private_key(file.read_bytes(), None)
    except FileNotFoundError:
        made = Ed25519PrivateKey.generate()
        text = made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        _write_private(file, text)
        return made
    except (OSError, ValueError, TypeError) as error:
        raise FerruleError(f"the key in {file} cannot be used: {error}") from None
    if not isinstance(found, Ed25519PrivateKey):
        raise FerruleError(f"the key in {file} is no Ed25519 key")
    return found


def _write_private(file: Path, text: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(text)
    except OSError as error:
        raise FerruleError(f"the key cannot be kept in {file}: {error}") from None
