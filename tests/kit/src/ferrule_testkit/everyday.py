"""What people run every day, to be tried in every sandbox: it must work there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable

EVERYDAY: Final = r"""
import asyncio, ctypes, fcntl, json, mmap, multiprocessing, os, pty, signal, socket, subprocess
import tempfile, threading
from multiprocessing import shared_memory

def shell(script, *arguments):
    ended = subprocess.run(["bash", "-c", script, "bash", *arguments], capture_output=True)
    return ended.returncode, ended.stdout

def works_asyncio_threads():
    assert asyncio.run(asyncio.to_thread(lambda: 5)) == 5

def works_asyncio_children():
    async def run():
        child = await asyncio.create_subprocess_exec("echo", "x", stdout=subprocess.PIPE)
        return (await child.communicate())[0]
    assert asyncio.run(run()) == b"x\n"

def works_socket_pairs():
    ours, theirs = socket.socketpair()
    ours.send(b"x")
    assert theirs.recv(1) == b"x"

def served(family, address):
    with socket.create_server(address, family=family) as server:
        with socket.create_connection(server.getsockname()[:2], 60) as ours:
            theirs = server.accept()[0]
            theirs.sendall(b"x")
            assert ours.recv(1) == b"x"
            theirs.close()

def works_own_server():
    served(socket.AF_INET, ("127.0.0.1", 0))

def works_own_server_ipv6():
    served(socket.AF_INET6, ("::1", 0))

def works_own_datagrams():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", server.getsockname())
    assert server.recv(1) == b"x"

def works_own_local_server():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(folder + "/service")
        server.listen()
        socket.socket(socket.AF_UNIX).connect(folder + "/service")

def double(number):
    return 2 * number

def works_pools_of_processes():
    with multiprocessing.Pool(2) as pool:
        assert pool.map(double, [1, 2]) == [2, 4]

def works_managers_of_processes():
    with multiprocessing.Manager() as manager:
        assert list(manager.list([1])) == [1]

def works_shared_memory():
    memory = shared_memory.SharedMemory(create=True, size=10)
    memory.close()
    memory.unlink()

def works_long_here_documents():
    assert shell("cat <<END\n" + "x" * 100_000 + "\nEND") == (0, b"x" * 100_000 + b"\n")

def works_temporary_files():
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x" * 100_000)
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        mmap.mmap(file.fileno(), 0)
        os.link(file.name, file.name + "-2")
        os.rename(file.name + "-2", file.name + "-3")
        os.unlink(file.name + "-3")
    code, name = shell("mktemp")
    os.unlink(name.strip())

def works_process_substitution():
    assert shell("cat <(echo x)") == (0, b"x\n")

def works_exit_codes():
    found = [shell(each)[0] for each in ("exit 3", "no-such-program", "/etc/passwd", "exit 255")]
    assert found == [3, 127, 126, 255], found

def works_signals():
    caught = []
    signal.signal(signal.SIGUSR1, lambda number, frame: caught.append(number))
    os.kill(os.getpid(), signal.SIGUSR1)
    child = subprocess.Popen(["sleep", "600"])
    child.terminate()
    assert (caught, child.wait()) == ([signal.SIGUSR1], -signal.SIGTERM)

def works_broken_pipes():
    assert shell("set -o pipefail; yes | head -1") == (141, b"y\n")

def works_bytes_that_are_no_text():
    name = b"\xff\xfe"
    with tempfile.TemporaryDirectory() as folder:
        path = os.fsencode(folder) + b"/" + name
        open(path, "w").close()
        assert os.listdir(os.fsencode(folder)) == [name]
        assert shell('printf %s "$1"', name) == (0, name)

def works_terminals():
    ours, theirs = pty.openpty()
    os.write(theirs, b"x")
    assert os.read(ours, 1) == b"x"

def works_many_threads_and_children():
    threads = [threading.Thread(target=int) for _ in range(100)]
    [each.start() for each in threads]
    [each.join() for each in threads]
    children = [subprocess.Popen(["true"]) for _ in range(50)]
    assert not any(each.wait() for each in children)

def works_programs_in_memory():
    opened = os.memfd_create("program")
    os.write(opened, b"#!/bin/sh\nexit 7\n")
    assert subprocess.call(["sh", f"/proc/self/fd/{opened}"], pass_fds=[opened]) == 7

def works_own_confinement():
    assert ctypes.CDLL(None, use_errno=True).prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert ctypes.CDLL(None).syscall(444, None, 0, 1) != -1  # landlock_create_ruleset

def tried(way):
    # Each in a process of its own: what one leaves running must not hurt the next.
    ours, theirs = os.pipe()
    if (child := os.fork()) == 0:
        try:
            way()
            text = b"works"
        except BaseException as error:
            text = f"{type(error).__name__}: {error}".encode()
        os.write(theirs, text)
        os._exit(0)
    os.close(theirs)
    text = b""
    while piece := os.read(ours, 4096):
        text += piece
    os.close(ours)
    os.waitpid(child, 0)
    return text.decode("utf-8", "replace")

ways = {name[6:]: way for name, way in list(globals().items()) if name.startswith("works_")}
print(json.dumps({name: tried(way) for name, way in ways.items()}))
"""
"""Tries each and prints a JSON object: by name `works`, or how it failed."""


def failures(run: Callable[[str], str]) -> dict[str, str]:
    """Return what does not work, with how it failed.

    Args:
        run: Runs a Python program in the sandbox; returns what it prints.
    """
    found = cast("dict[str, str]", json.loads(run(EVERYDAY).splitlines()[-1]))
    return {name: how for name, how in found.items() if how != "works"}
