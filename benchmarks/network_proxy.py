"""Compares a sandboxed command's download through its door with one that needs no door.

    python benchmarks/network_proxy.py [--megabytes 512] [--runs 5]

The whole way of a session: the kernel, the sandbox bubblewrap, the proxy in the kernel's process, a
small program in the sandbox that reads and counts. `direct` is the same program in the same
sandbox with the machine's network. The ways alternate; figures are medians, ratios those of runs
that lie beside each other. `start` is what the door adds to a command that does nothing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from pathlib import Path

from proxy import serve

from ferrule.host import LocalHost
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.sandbox import Command

TARGET = 0.6
READER = """
import base64, os, socket, sys, time
way, upstream, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) << 20
shown, _, proxy = os.environ.get("FERRULE_NETWORK_PROXY", "").partition("//")[2].rpartition("@")
port = upstream if way == "direct" else int(proxy.rpartition(":")[2])
buffer = memoryview(bytearray(256 * 1024))
def head(link):
    data = b""
    while b"\\r\\n\\r\\n" not in data:
        data += link.recv(65536)
    assert data.startswith(b"HTTP/1.1 200"), data
    return data.partition(b"\\r\\n\\r\\n")[2]
started = time.perf_counter()
link = socket.create_connection(("127.0.0.1", port))
host = f"127.0.0.1:{upstream}"
secret = base64.b64encode(shown.encode()).decode()
if way == "connect":
    link.sendall(f"CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode())
    head(link)
target = f"http://{host}/" if way == "http" else "/"
link.sendall(f"GET {target} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode())
left = size - len(head(link))
while left:
    left -= link.recv_into(buffer, min(left, len(buffer)))
print(time.perf_counter() - started)
"""
CONFIG = """
[network]
enabled = {enabled}
local_addresses = ["127.0.0.1"]
rules = ["allow network host:127.0.0.1 port:{port}"]
[sandbox_workspace_write]
network_access = {network}
"""
WAYS = ("direct", "http", "connect")


async def run(kernel, sandbox, *argv: str) -> str:
    """Run a command to its end and return what it says."""
    command = Command(argv, os.getcwd(), {"PATH": os.environ["PATH"]})
    process = await sandbox.spawn(command)
    output = b""
    while data := await process.read():
        output += data
    assert await process.wait() == 0, output.decode()
    return output.decode()


async def measure(kernel, sandboxes, arguments, port: int) -> dict[str, list[float]]:
    """Take turns between the ways."""
    times: dict[str, list[float]] = {way: [] for way in (*WAYS, "true", "true with a door")}
    for number in range(arguments.runs + 1):
        for way in WAYS:
            sandbox = sandboxes["direct" if way == "direct" else "door"]
            words = ("python3", "-I", "-S", "-c", READER.replace("-I", ""), way)
            said = await run(kernel, sandbox, *words, str(port), str(arguments.megabytes))
            times[way] += [float(said)] if number else []
        for name, sandbox in (("true", "none"), ("true with a door", "door")):
            for _ in range(10):
                started = time.perf_counter()
                await run(kernel, sandboxes[sandbox], "true")
                times[name] += [time.perf_counter() - started] if number else []
    return times


def kernel_times(arguments, port: int) -> dict[str, list[float]]:
    """Open the three sandboxes in one kernel and measure."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        host = LocalHost(Path(folder), dict(os.environ))

        async def main(kernel):
            sandboxes = {}
            for name in ("direct", "door", "none"):
                text = CONFIG.format(
                    enabled=str(name == "door").lower(),
                    network=str(name == "direct").lower(),
                    port=port,
                )
                (Path(folder) / "config.toml").write_text(text)
                config = kernel.config(ConfigRequest(cwd=folder))
                sandboxes[name] = kernel.sandbox(config, folder, mode="workspace-write")
            return await measure(kernel, sandboxes, arguments, port)

        return host.run(main)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs, arguments.megabytes), daemon=True)
    server.start()
    try:
        times = kernel_times(arguments, ours.recv())
    finally:
        server.terminate()
    print(f"{'way':18} {'seconds':>8} {'MiB/s':>8} {'ratio':>6}")
    for way in WAYS:
        seconds = statistics.median(times[way])
        pairs = zip(times["direct"], times[way], strict=True)
        ratio = statistics.median(direct / own for direct, own in pairs)
        met = "" if way == "direct" else "  ok" if ratio >= TARGET else f"  below {TARGET}"
        speed = arguments.megabytes / seconds
        print(f"{way:18} {seconds:8.3f} {speed:8.0f} {ratio:6.2f}{met}")
    plain, door = (statistics.median(times[name]) for name in ("true", "true with a door"))
    print(f"start: {plain * 1000:.1f} ms, with a door {door * 1000:.1f} ms")


if __name__ == "__main__":
    main()
