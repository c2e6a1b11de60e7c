"""A program that makes listening sockets in the networks of sandboxes; `doors.py` starts it.

A process can enter the user namespace of a sandbox only while it has a single thread, which the
kernel's never has. So this one does, once per socket, in a child that ends with it. Nothing of it
runs in the sandbox: the command starts when the socket is there and its maker is gone. It ends with
the pipe that it reads, and so with whoever started it.

It is run by path, in isolation, and so imports nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import sys

_NS_GET_USERNS = 0xB701
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_IP_FREEBIND = 15
_WAITING = 1024
_LONGEST = 64


def main() -> None:
    """Serve requests, each a port together with a network namespace, until the pipe ends."""
    link = socket.socket(fileno=0)
    while True:
        request, descriptors, _, _ = socket.recv_fds(link, _LONGEST, 1)
        if not request:
            return
        child = os.fork()
        if child == 0:
            _answer(link, descriptors[0], int(request))
            os._exit(0)
        os.waitpid(child, 0)
        os.close(descriptors[0])


def _answer(link: socket.socket, network: int, port: int) -> None:
    try:
        listener = _listen(network, port)
        socket.send_fds(link, [b"ok"], [listener.fileno()])
    except OSError as error:
        link.send(os.fsencode(f"{error.strerror or error}"))


def _listen(network: int, port: int) -> socket.socket:
    # The namespace the sandbox's process is in by now may be one below that which owns the network.
    owner = fcntl.ioctl(network, _NS_GET_USERNS)
    _enter(owner, _CLONE_NEWUSER)
    _enter(network, _CLONE_NEWNET)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # The sandbox may not have given the address to its interface yet.
    listener.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(_WAITING)
    return listener


def _enter(namespace: int, kind: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(namespace, kind) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    sys.exit(main())
