"""Compares a download through the network proxy with the same download from the server itself.

    python benchmarks/proxy.py [--megabytes 512] [--runs 5] [--connections 500]

Server, proxy and client are processes of their own, as in a session. The server sends a body from
memory, the client reads and counts it, both with blocking sockets and as little work of their own
as they can: what the proxy costs shows as much as it can. The ways alternate; figures are medians.
The last line opens many tunnels at once and sends a byte both ways through each.
"""

from __future__ import annotations

import argparse
import base64
import multiprocessing
import socket
import statistics
import threading
import time
from multiprocessing.connection import Connection

import anyio

from ferrule_network.addresses import reach_from
from ferrule_network.gate import Gate
from ferrule_network.limits import Limits
from ferrule_network.policy import Policy
from ferrule_network.proxy import Proxy
from ferrule_network.rule import parse_rule
from ferrule_network.settings import Settings

CHUNK = 256 * 1024
TARGET = 0.6


def serve(pipe: Connection, size: int) -> None:
    body = bytes(1024 * 1024)
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as server:
        pipe.send(server.getsockname()[1])
        while True:
            client, _ = server.accept()
            threading.Thread(target=answer, args=(client, body, size), daemon=True).start()


def answer(client: socket.socket, body: bytes, size: int) -> None:
    with client:
        head = b""
        while b"\r\n\r\n" not in head:
            data = client.recv(65536)
            if not data:
                return
            if data == b"!":  # of the many tunnels
                client.sendall(data)
                client.recv(1)
                return
            head += data
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (size * len(body)))
        for _ in range(size):
            client.sendall(body)


def run_proxy(pipe: Connection, upstream: int) -> None:
    async def main() -> None:
        rules = [
            parse_rule(f"allow network {protocol}host:127.0.0.1 port:{upstream}", "benchmark")
            for protocol in ("", "protocol:socks5_tcp ")
        ]
        settings = Settings(Policy(tuple(rules)), reach_from(["127.0.0.1"]))
        gate = Gate(settings, lambda event: None, limits=Limits())
        async with Proxy(gate) as proxy:
            port = await proxy.listen_tcp()
            with proxy.admit("benchmark") as credential:
                pipe.send((port, credential.user, credential.secret))
                await anyio.sleep_forever()

    anyio.run(main)


def read_head(connection: socket.socket) -> bytes:
    """Read to the end of a head; returns what came behind it."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(65536)
    first, _, rest = head.partition(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 200"), first
    return rest


def download(way: str, upstream: int, proxy: tuple[int, str, str], size: int) -> float:
    port, user, secret = proxy
    shown = base64.b64encode(f"{user}:{secret}".encode()).decode()
    buffer = memoryview(bytearray(CHUNK))
    started = time.perf_counter()
    with socket.create_connection(("127.0.0.1", upstream if way == "direct" else port)) as link:
        target = "/"
        if way == "http":
            target = f"http://127.0.0.1:{upstream}/"
        if way == "connect":
            tunnel(link, upstream, shown)
        link.sendall(
            f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{upstream}\r\n"
            f"Proxy-Authorization: Basic {shown}\r\n\r\n".encode()
        )
        left = size * 1024 * 1024 - len(read_head(link))
        while left:
            left -= link.recv_into(buffer, min(left, CHUNK))
    return time.perf_counter() - started


def tunnel(link: socket.socket, upstream: int, shown: str) -> None:
    link.sendall(
        f"CONNECT 127.0.0.1:{upstream} HTTP/1.1\r\nHost: 127.0.0.1:{upstream}\r\n"
        f"Proxy-Authorization: Basic {shown}\r\n\r\n".encode()
    )
    assert read_head(link) == b""


def many(count: int, upstream: int, proxy: tuple[int, str, str]) -> float:
    port, user, secret = proxy
    shown = base64.b64encode(f"{user}:{secret}".encode()).decode()
    started = time.perf_counter()
    links = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    for link in links:
        tunnel(link, upstream, shown)
    for link in links:
        link.sendall(b"!")
    assert all(link.recv(1) == b"!" for link in links)
    for link in links:
        link.close()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--connections", type=int, default=500)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs, arguments.megabytes), daemon=True)
    server.start()
    upstream = ours.recv()
    relay = context.Process(target=run_proxy, args=(theirs, upstream), daemon=True)
    relay.start()
    proxy = ours.recv()
    try:
        times: dict[str, list[float]] = {"direct": [], "connect": [], "http": []}
        for turn in range(arguments.runs + 1):
            for way, walls in times.items():
                wall = download(way, upstream, proxy, arguments.megabytes)
                if turn:
                    walls.append(wall)
        direct = statistics.median(times["direct"])
        print(f"{'way':<10}{'MB/s':>8}{'ratio':>8}   (target: >= {TARGET})")
        for way, walls in times.items():
            wall = statistics.median(walls)
            print(f"{way:<10}{arguments.megabytes / wall:>8.0f}{direct / wall:>8.2f}")
        wall = many(arguments.connections, upstream, proxy)
        print(f"{arguments.connections} tunnels at once: {wall:.2f} s")
    finally:
        relay.kill()
        server.kill()


if __name__ == "__main__":
    main()
