"""Attempts to get a message out: by every family of sockets, and by sockets of services."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress

from .attempt import NotHere, Place, attempt

Address = str | tuple[str, int]
SECONDS = 5
MPTCP, UDP_LITE, TCP_FAST_OPEN = 262, 136, 0x20000000
UNIX_SOCKETS = {1, 2, 10, 16}  # unix, internet and routing ones are judged elsewhere
FAMILIES = 46


def _stream(place: Place, family: int, address: Address, protocol: int = 0) -> bool:
    with socket.socket(family, socket.SOCK_STREAM, protocol) as made:
        made.settimeout(SECONDS)
        made.connect(address)
        made.sendall(place.token.encode())
        made.shutdown(socket.SHUT_WR)
        return made.recv(16) == b"heard" or False


def _datagram(
    place: Place, family: int, address: Address, protocol: int = 0, text: bytes | None = None
) -> None:
    with socket.socket(family, socket.SOCK_DGRAM, protocol) as made:
        made.settimeout(SECONDS)
        made.sendto(text or place.token.encode(), address)


@attempt("network.tcp")
def _(place: Place) -> object:
    return _stream(place, socket.AF_INET, ("127.0.0.1", place.tcp))


@attempt("network.tcp6")
def _(place: Place) -> object:
    return _stream(place, socket.AF_INET6, ("::1", place.tcp6))


@attempt("network.tcp_mapped")
def _(place: Place) -> object:
    return _stream(place, socket.AF_INET6, ("::ffff:127.0.0.1", place.tcp))


@attempt("network.tcp_own_address")
def _(place: Place) -> object:
    if not place.address:
        raise NotHere("the machine has no address but the loopback one")
    return _stream(place, socket.AF_INET, (place.address, place.tcp))


@attempt("network.tcp_multipath")
def _(place: Place) -> object:
    return _stream(place, socket.AF_INET, ("127.0.0.1", place.tcp), MPTCP)


@attempt("network.tcp_without_connect")
def _(place: Place) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
        made.sendto(place.token.encode(), TCP_FAST_OPEN, ("127.0.0.1", place.tcp))
        made.shutdown(socket.SHUT_WR)
        return made.recv(16) == b"heard" or False


@attempt("network.udp")
def _(place: Place) -> object:
    _datagram(place, socket.AF_INET, ("127.0.0.1", place.udp))


@attempt("network.udp6")
def _(place: Place) -> object:
    _datagram(place, socket.AF_INET6, ("::1", place.udp6))


@attempt("network.udp_message")
def _(place: Place) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.sendmsg([place.token.encode()], [], 0, ("127.0.0.1", place.udp))


@attempt("network.udp_connected")
def _(place: Place) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.connect(("127.0.0.1", place.udp))
        os.write(made.fileno(), place.token.encode())


@attempt("network.udp_lite")
def _(place: Place) -> object:
    _datagram(place, socket.AF_INET, ("127.0.0.1", place.udp_lite), UDP_LITE)


@attempt("network.dns")
def _(place: Place) -> object:
    label = place.token.encode()
    question = bytes([len(label)]) + label + b"\7invalid\0" + struct.pack("!HH", 1, 1)
    query = struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 0) + question
    _datagram(place, socket.AF_INET, ("127.0.0.1", place.udp), text=query)


@attempt("network.name_service")
def _(place: Place) -> object:
    """Ask the name server that the machine is set up with; only whether the way is open counts."""
    with open("/etc/resolv.conf", encoding="utf-8") as file:
        servers = [line.split()[1] for line in file if line.startswith("nameserver")]
    for server in servers:
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as made:
            made.settimeout(SECONDS)
            made.connect((server, 53))
            made.send(struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\0\0\2\0\1")
            return bool(made.recv(512))
    raise NotHere("no name server is set up")


@attempt("network.raw")
def _(place: Place) -> object:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


@attempt("network.raw6")
def _(place: Place) -> object:
    socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6).close()


@attempt("network.packet")
def _(place: Place) -> object:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()


@attempt("network.virtual_machine")
def _(place: Place) -> object:
    socket.socket(40, socket.SOCK_STREAM).close()


@attempt("network.kernel_crypto")
def _(place: Place) -> object:
    socket.socket(38, socket.SOCK_SEQPACKET).close()


@attempt("network.audit")
def _(place: Place) -> object:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9).close()


@attempt("network.other_families")
def _(place: Place) -> object:
    opened = []
    for family in range(FAMILIES):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
            if family not in UNIX_SOCKETS:
                with suppress(OSError):
                    socket.socket(family, kind, 0).close()
                    opened.append(str(family))
                    break
    return ("families " + " ".join(opened)) if opened else False


def _abstract(place: Place) -> str:
    return "\0" + place.abstract


@attempt("unix.stream")
def _(place: Place) -> object:
    return _stream(place, socket.AF_UNIX, place.service)


@attempt("unix.root_of_self")
def _(place: Place) -> object:
    return _stream(place, socket.AF_UNIX, "/proc/self/root" + place.service)


@attempt("unix.link")
def _(place: Place) -> object:
    for folder in (place.workspace, os.environ.get("TMPDIR", "/tmp"), "/dev/shm"):
        link = os.path.join(folder, f"service-{os.getpid()}")
        with suppress(OSError):
            os.symlink(place.service, link)
            return _stream(place, socket.AF_UNIX, link)
    raise OSError(13, "no link leads there")


@attempt("unix.datagram")
def _(place: Place) -> object:
    _datagram(place, socket.AF_UNIX, place.service_datagram)


@attempt("unix.datagram_message")
def _(place: Place) -> object:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.sendmsg([place.token.encode()], [], 0, place.service_datagram)


@attempt("unix.abstract")
def _(place: Place) -> object:
    return _stream(place, socket.AF_UNIX, _abstract(place))


@attempt("unix.abstract_datagram")
def _(place: Place) -> object:
    _datagram(place, socket.AF_UNIX, _abstract(place) + "-datagram")


@attempt("unix.granted")
def _(place: Place) -> object:
    return _stream(place, socket.AF_UNIX, place.service)


@attempt("door.way_out")
def _(place: Place) -> object:
    return _stream(place, socket.AF_INET, ("127.0.0.1", place.door))


@attempt("door.other_port")
def _(place: Place) -> object:
    return _stream(place, socket.AF_INET, ("127.0.0.1", place.tcp))


@attempt("door.other_port6")
def _(place: Place) -> object:
    return _stream(place, socket.AF_INET6, ("::1", place.tcp6))


@attempt("door.datagram")
def _(place: Place) -> object:
    _datagram(place, socket.AF_INET, ("127.0.0.1", place.udp))


@attempt("door.service")
def _(place: Place) -> object:
    return _stream(place, socket.AF_UNIX, place.service)
