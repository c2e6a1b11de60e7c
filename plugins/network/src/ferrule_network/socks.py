"""SOCKS5 (RFC 1928) with user and password (RFC 1929): `CONNECT` only; the proxy looks names up."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Final

from ferrule_network.audit import AuditEvent
from ferrule_network.connection import Connection
from ferrule_network.gate import RefusedError, UnreachableError
from ferrule_network.host import Host, TargetError, canonical_address, canonical_host
from ferrule_network.rule import Target
from ferrule_network.tunnel import tunnel

VERSION: Final = 5
_NO_PASSWORD: Final = 0
_USER_AND_PASSWORD: Final = 2
_CONNECT: Final = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_DONE, _NOT_ALLOWED, _UNREACHABLE, _NO_COMMAND, _NO_ADDRESS = 0, 2, 4, 7, 8
_FAILED: Final = 1


class _SocksError(Exception):
    """The request ends with a reply code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


async def serve_socks(connection: Connection) -> None:
    """Serve one SOCKS5 connection, its first byte still unread."""
    offered = await _methods(connection)
    shown: tuple[str, str] | None = None
    if connection.owner is not None and _NO_PASSWORD in offered:
        await connection.stream.send(bytes((VERSION, _NO_PASSWORD)))
    else:
        shown = await _authenticate(connection, offered)
        if shown is None:
            return
    try:
        target = await _request(connection)
        credential = connection.hold(shown, target)
        way = await connection.connect(target, credential)
    except _SocksError as error:
        await _reply(connection, error.code)
    except TargetError as error:
        connection.gate.record(AuditEvent("refused", "", reason=str(error)))
        await _reply(connection, _NOT_ALLOWED)
    except RefusedError:
        await _reply(connection, _NOT_ALLOWED)
    except UnreachableError:
        await _reply(connection, _UNREACHABLE)
    else:
        async with way.stream:
            await connection.stream.send(_answer(_DONE))
            await tunnel(connection, way, target, credential, connection.take())


async def _methods(connection: Connection) -> bytes:
    _, count = await connection.exactly(2)
    return await connection.exactly(count)


async def _authenticate(connection: Connection, offered: bytes) -> tuple[str, str] | None:
    """Read user and password; None where the client has none, after it was told."""
    if _USER_AND_PASSWORD not in offered:
        await connection.stream.send(bytes((VERSION, 0xFF)))
        await connection.linger()
        return None
    await connection.stream.send(bytes((VERSION, _USER_AND_PASSWORD)))
    version, length = await connection.exactly(2)
    user = await connection.exactly(length)
    password = await connection.exactly((await connection.exactly(1))[0])
    shown = user.decode("utf-8", "replace"), password.decode("utf-8", "replace")
    is_known = connection.owner is not None or connection.credentials.find(*shown) is not None
    if version != 1 or not is_known:
        connection.gate.record(AuditEvent("refused", "", reason="the credential is nobody's"))
        await connection.stream.send(b"\x01\x01")
        await connection.linger()
        return None
    await connection.stream.send(b"\x01\x00")
    return shown


async def _request(connection: Connection) -> Target:
    version, command, reserved, kind = await connection.exactly(4)
    if version != VERSION or reserved != 0:
        raise _SocksError(_FAILED)
    host = await _host(connection, kind)
    port = int.from_bytes(await connection.exactly(2))
    if port == 0:
        raise TargetError("0 is no port")
    if command != _CONNECT:
        raise _SocksError(_NO_COMMAND)
    return Target(host, port, "socks5_tcp")


async def _host(connection: Connection, kind: int) -> Host:
    if kind == _NAME:
        name = await connection.exactly((await connection.exactly(1))[0])
        try:
            return canonical_host(name.decode())
        except UnicodeDecodeError:
            raise TargetError("the host is not written in UTF-8") from None
    if kind == _IPV4:
        address = IPv4Address(await connection.exactly(4))
    elif kind == _IPV6:
        address = canonical_address(IPv6Address(await connection.exactly(16)))
    else:
        raise _SocksError(_NO_ADDRESS)
    return Host(str(address), address)


async def _reply(connection: Connection, code: int) -> None:
    await connection.stream.send(_answer(code))
    await connection.linger()


def _answer(code: int) -> bytes:
    return bytes((VERSION, code, 0, _IPV4, 0, 0, 0, 0, 0, 0))
