"""What people run must work: each raises where it does not."""

from __future__ import annotations

import asyncio
import mmap
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from multiprocessing import get_context

from .attempt import NotHere, Place, attempt, call, in_child, read, write

SECONDS = 60


def _run(*argv: str, cwd: str | None = None, pass_fds: tuple[int, ...] = ()) -> str:
    if shutil.which(argv[0]) is None:
        raise NotHere(f"{argv[0]} is not installed")
    ended = subprocess.run(
        argv, cwd=cwd, pass_fds=pass_fds, capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        raise RuntimeError(f"{argv} ended with {ended.returncode}: {ended.stderr[-300:]}")
    return ended.stdout


def _expect(found: object, wanted: object) -> None:
    if found != wanted:
        raise RuntimeError(f"{found!r:.100} instead of {wanted!r:.100}")


def _git(place: Place, *words: str, folder: str = "") -> str:
    names = ("-c", "user.name=Kit", "-c", "user.email=kit@example.invalid")
    return _run("git", *names, "-C", place.in_workspace(folder), *words)


def _square(number: int) -> int:
    return number * number


@attempt("work.write")
def _(place: Place) -> object:
    write(place.in_workspace("new.txt"), "new")
    _expect(read(place.in_workspace("new.txt")), "new")


@attempt("work.second_root")
def _(place: Place) -> object:
    write(os.path.join(place.extra, "new.txt"))


@attempt("work.tree")
def _(place: Place) -> object:
    os.makedirs(place.in_workspace("one", "two"))
    write(place.in_workspace("one", "two", "file"))
    os.rename(place.in_workspace("one"), place.in_workspace("uno"))
    shutil.rmtree(place.in_workspace("uno"))


@attempt("work.links")
def _(place: Place) -> object:
    write(place.in_workspace("target"), "text")
    os.symlink("target", place.in_workspace("soft"))
    os.link(place.in_workspace("target"), place.in_workspace("hard"))
    _expect(read(place.in_workspace("soft")) + read(place.in_workspace("hard")), "texttext")


@attempt("work.pipe_file")
def _(place: Place) -> object:
    os.mkfifo(place.in_workspace("pipe"))


@attempt("work.locks")
def _(place: Place) -> object:
    import fcntl

    with open(place.in_workspace("lock"), "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)


@attempt("work.mapped_file")
def _(place: Place) -> object:
    path = place.in_workspace("mapped")
    write(path, "0" * 4096)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:4] = b"1234"
    _expect(read(path)[:4], "1234")


@attempt("work.program")
def _(place: Place) -> object:
    path = place.in_workspace("program")
    write(path, "#!/bin/sh\necho ran\n")
    os.chmod(path, 0o755)
    _expect(_run(path), "ran\n")


@attempt("work.times")
def _(place: Place) -> object:
    path = place.in_workspace("data.txt")
    os.utime(path, (1000, 1000))
    _expect(int(os.stat(path).st_mtime), 1000)


@attempt("work.file_name_bytes")
def _(place: Place) -> object:
    path = os.fsencode(place.workspace) + b"/n\xff\xfe"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
    if b"n\xff\xfe" not in os.listdir(os.fsencode(place.workspace)):
        raise RuntimeError("the name did not stay what it is")


@attempt("work.read_system")
def _(place: Place) -> object:
    os.listdir("/usr")
    _run("sh", "-c", "exit 0")


@attempt("work.read_workspace")
def _(place: Place) -> object:
    _expect(read(place.in_workspace("data.txt")), "data\n")


@attempt("work.temporary_file")
def _(place: Place) -> object:
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 100_000)
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "x"))


@attempt("work.here_document")
def _(place: Place) -> object:
    text = "line of a document\n" * 6_000
    _expect(_run("sh", "-c", f"cat <<'END'\n{text}END\n"), text)


@attempt("work.here_string")
def _(place: Place) -> object:
    _expect(_run("bash", "-c", "cat <<< word; cat <(echo other)"), "word\nother\n")


@attempt("work.git_status")
def _(place: Place) -> object:
    _git(place, "status", "--porcelain")


@attempt("work.git_log")
def _(place: Place) -> object:
    _expect(_git(place, "log", "--format=%s"), "start\n")


@attempt("work.git_commit")
def _(place: Place) -> object:
    write(place.in_workspace("committed"))
    _git(place, "add", "committed")
    _git(place, "commit", "-q", "-m", "one")
    _expect(_git(place, "log", "--format=%s", "-1"), "one\n")


@attempt("work.git_switch")
def _(place: Place) -> object:
    _git(place, "switch", "-q", "-c", "branch")
    _expect(_git(place, "branch", "--show-current"), "branch\n")


@attempt("work.git_stash")
def _(place: Place) -> object:
    write(place.in_workspace("data.txt"), "changed", os.O_WRONLY | os.O_TRUNC)
    _git(place, "stash", "-q")
    _expect(read(place.in_workspace("data.txt")), "data\n")


@attempt("work.git_new_repository")
def _(place: Place) -> object:
    os.mkdir(place.in_workspace("fresh"))
    _git(place, "init", "-q", folder="fresh")
    _git(place, "commit", "-q", "--allow-empty", "-m", "first", folder="fresh")


@attempt("work.event_loop")
def _(place: Place) -> object:
    async def run() -> tuple[int, int]:
        found = await asyncio.wait_for(asyncio.to_thread(_square, 3), SECONDS)
        child = await asyncio.create_subprocess_exec("sh", "-c", "exit 3")
        return found, await asyncio.wait_for(child.wait(), SECONDS)

    _expect(asyncio.run(run()), (9, 3))


@attempt("work.socket_pair")
def _(place: Place) -> object:
    one, other = socket.socketpair()
    with one, other:
        one.send(b"hello")
        _expect(other.recv(5), b"hello")


@attempt("work.process_pool")
def _(place: Place) -> object:
    with get_context("fork").Pool(2) as pool:
        _expect(pool.map(_square, [1, 2, 3]), [1, 4, 9])


@attempt("work.shared_queue")
def _(place: Place) -> object:
    context = get_context("fork")
    queue = context.Queue()
    child = context.Process(target=queue.put, args=("word",))
    child.start()
    _expect(queue.get(timeout=SECONDS), "word")
    child.join()


@attempt("work.manager")
def _(place: Place) -> object:
    with get_context("fork").Manager() as manager:
        shared = manager.list([1])
        shared.append(2)
        _expect(list(shared), [1, 2])


@attempt("work.own_server")
def _(place: Place) -> object:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), SECONDS) as client,
    ):
        client.sendall(b"hello")
        with server.accept()[0] as other:
            _expect(other.recv(5), b"hello")


@attempt("work.own_local_server")
def _(place: Place) -> object:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.join(folder, "s"))
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(os.path.join(folder, "s"))
            client.sendall(b"hello")
            with server.accept()[0] as other:
                _expect(other.recv(5), b"hello")


@attempt("work.threads")
def _(place: Place) -> object:
    found = []
    threads = [threading.Thread(target=found.append, args=(each,)) for each in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _expect(sorted(found), list(range(20)))


@attempt("work.signals")
def _(place: Place) -> object:
    heard = []
    signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
    os.kill(os.getpid(), signal.SIGUSR1)
    _expect(heard, [signal.SIGUSR1])
    child = subprocess.Popen(["sleep", "600"])
    child.terminate()
    _expect(child.wait(), -signal.SIGTERM)


@attempt("work.terminal")
def _(place: Place) -> object:
    import pty

    ours, theirs = pty.openpty()
    os.write(theirs, b"hello")
    _expect(os.read(ours, 5), b"hello")


@attempt("work.devices")
def _(place: Place) -> object:
    write("/dev/null", flags=os.O_WRONLY)
    with open("/dev/zero", "rb") as zero, open("/dev/urandom", "rb") as random:
        _expect((zero.read(4), len(random.read(4))), (b"\0\0\0\0", 4))


@attempt("work.descriptor_links")
def _(place: Place) -> object:
    ours, theirs = os.pipe()
    os.write(theirs, b"hello")
    os.close(theirs)
    _expect(read(f"/dev/fd/{ours}"), "hello")


@attempt("work.many_files")
def _(place: Place) -> object:
    for descriptor in [os.open(os.devnull, os.O_RDONLY) for _ in range(200)]:
        os.close(descriptor)


@attempt("work.program_in_memory")
def _(place: Place) -> object:
    descriptor = os.memfd_create("program")
    os.write(descriptor, b"#!/bin/sh\necho ran\n")
    _expect(_run("sh", f"/proc/self/fd/{descriptor}", pass_fds=(descriptor,)), "ran\n")


@attempt("work.own_processes")
def _(place: Place) -> object:
    child = os.fork()
    if child == 0:
        os._exit(os.getpid() != os.getppid() and 7)
    _expect(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
    _expect(read("/proc/self/stat").split()[0], str(os.getpid()))


@attempt("work.interpreter")
def _(place: Place) -> object:
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "print(6 * 7)"],
        capture_output=True,
        text=True,
        check=True,
    )
    _expect(ended.stdout, "42\n")


@attempt("work.debugger")
def _(place: Place) -> object:
    def trace() -> None:
        seize = 0x4206
        child = os.fork()
        if child == 0:
            signal.pause()
        try:
            call("ptrace", seize, child, 0, 0)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    in_child(trace)


@attempt("work.network")
def _(place: Place) -> object:
    with socket.create_connection(("127.0.0.1", place.tcp), SECONDS) as made:
        made.sendall(place.token.encode())
        made.shutdown(socket.SHUT_WR)
        _expect(made.recv(16), b"heard")
