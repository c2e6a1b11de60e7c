"""The certificates that the proxy shows to commands, signed by an authority of this user alone.

The authority is made once for a home. Its key can be read by its owner only and is among the
places that commands never read; leaves are short-lived and their keys stay in memory.
"""

from __future__ import annotations

import datetime
import os
import secrets
import ssl
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.hashes import SHA256

    from ferrule_network.host import Host

_YEARS: Final = datetime.timedelta(days=3650)
_LEAF: Final = datetime.timedelta(days=2)
_SKEW: Final = datetime.timedelta(hours=1)
_NAME: Final = "Ferrule network proxy (this machine's user)"
_LONGEST_NAME: Final = 64


class AuthorityError(FerruleError):
    """There is no authority, so that no tunnel is opened."""


class Authority:
    """Signs for the hosts whose tunnels are opened."""

    def __init__(self, folder: Path) -> None:
        """Read the authority of a folder, or make it.

        Raises:
            AuthorityError: It cannot be read or made.
        """
        self._key, self._certificate = _load(folder)
        self._leaf_key = _new_key()
        self._contexts: dict[str, tuple[datetime.datetime, ssl.SSLContext]] = {}

    @property
    def pem(self) -> bytes:
        """The authority's certificate."""
        from cryptography.hazmat.primitives.serialization import Encoding

        return self._certificate.public_bytes(Encoding.PEM)

    def context_for(self, host: Host) -> ssl.SSLContext:
        """What a command is shown that asks for a host; HTTP/1.1 is all that is offered."""
        made, context = self._contexts.get(host.text, (None, None))
        if made is None or context is None or made + _LEAF / 2 < _now():
            made, context = _now(), self._context(host)
            self._contexts[host.text] = made, context
        return context

    def _context(self, host: Host) -> ssl.SSLContext:
        from cryptography.hazmat.primitives import serialization as form

        password = secrets.token_bytes(32)
        key = self._leaf_key.private_bytes(
            form.Encoding.PEM,
            form.PrivateFormat.PKCS8,
            form.BestAvailableEncryption(password),
        )
        chain = self._leaf(host).public_bytes(form.Encoding.PEM)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        with tempfile.TemporaryDirectory() as folder:  # OpenSSL reads files only
            path = Path(folder, "leaf.pem")
            path.write_bytes(key + chain)
            context.load_cert_chain(path, password=password)
        return context

    def _leaf(self, host: Host) -> x509.Certificate:
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        name = x509.DNSName(host.text) if host.address is None else x509.IPAddress(host.address)
        shown = host.text if len(host.text) <= _LONGEST_NAME else "intercepted"
        authority = self._certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        builder = (
            _builder(shown, self._leaf_key, _LEAF)
            .issuer_name(self._certificate.subject)
            .add_extension(x509.SubjectAlternativeName([name]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority.value),
                critical=False,
            )
        )
        return builder.sign(self._key, _hash())


def _load(folder: Path) -> tuple[EllipticCurvePrivateKey, x509.Certificate]:
    """Read key and certificate, which stand in one file so that they always belong together."""
    path = folder / "ca.key"
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
    except ImportError:
        raise AuthorityError(
            "opening tunnels needs the library `cryptography`; install ferrule-network[tls]"
        ) from None
    try:
        if not path.exists():
            _make(folder, path)
        data = _private(path)
        key, certificate = load_pem_private_key(data, None), x509.load_pem_x509_certificate(data)
        replace_file(folder / "ca.pem", certificate.public_bytes(Encoding.PEM))
    except (OSError, ValueError) as error:
        raise AuthorityError(
            f"the authority of the network proxy at {path} cannot be used: {error}; remove the file"
            " to have a new one made"
        ) from None
    if not isinstance(key, EllipticCurvePrivateKey) or certificate.not_valid_after_utc < _now():
        raise AuthorityError(
            f"the authority of the network proxy at {path} has run out, or is none of Ferrule's;"
            " remove the file to have a new one made"
        )
    return key, certificate


def _private(path: Path) -> bytes:
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ValueError("others may read it")
    return path.read_bytes()


def _make(folder: Path, path: Path) -> None:
    """Make an authority; of processes that do so at the same time, one wins."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization as form

    key = _new_key()
    certificate = (
        _builder(_NAME, key, _YEARS)
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)]))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, _hash())
    )
    secret = key.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    ) + certificate.public_bytes(form.Encoding.PEM)
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, made = tempfile.mkstemp(dir=folder, prefix="ca-")  # for its owner only
    try:
        with open(descriptor, "wb") as file:
            file.write(secret)
        os.link(made, path)
    except FileExistsError:
        return
    finally:
        os.unlink(made)


def replace_file(path: Path, data: bytes) -> None:
    """Bring a file that everybody may read to what it shall be, in one step; raises `OSError`."""
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}-")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.chmod(made, 0o644)
        os.replace(made, path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


def _builder(
    name: str, key: EllipticCurvePrivateKey, valid: datetime.timedelta
) -> x509.CertificateBuilder:
    from cryptography import x509

    now = _now()
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + valid)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _hash() -> SHA256:
    from cryptography.hazmat.primitives.hashes import SHA256

    return SHA256()


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
