"""Attempts made from the host: how a command starts, ends, is signalled and what it leaves."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ferrule_certify.bench import SECONDS
from ferrule_certify.probe import Outcome
from ferrule_hookspecs.sandbox import CommandResult

if TYPE_CHECKING:
    from ferrule_certify.bench import Bench, Running

_PYTHON: Final = (sys.executable, "-I", "-S", "-c")
_PAUSE_S: Final = 0.02
_SETTLE_S: Final = 10.0
_WAITING: Final = """\
import os, signal
def end(number, frame):
    os.write(1, b"caught")
    os._exit(number + 20)
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, end)
os.write(1, b"ready\\n")
while True:
    signal.pause()
"""


def _compared(found: object, wanted: object) -> Outcome:
    if found == wanted:
        return Outcome(reached=True)
    return Outcome(reached=False, detail=f"{found!r:.120} instead of {wanted!r:.120}")


def exit_codes(bench: Bench) -> Outcome:
    """Exit codes come through."""
    wanted = [0, 1, 3, 42, 126, 127, 255]
    return _compared([bench.run(["sh", "-c", f"exit {code}"]).code for code in wanted], wanted)


def deadly_signals(bench: Bench) -> Outcome:
    """A command that a signal ends is seen as 128 + n."""
    wanted = [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV]
    found = [bench.run(["sh", "-c", f"kill -{number:d} $$"]).code for number in wanted]
    return _compared(found, [128 + number for number in wanted])


def missing_program(bench: Bench) -> Outcome:
    """A program that is not there gives 127."""
    return _status_of(bench, "ferrule-certify-absent", 127)


def closed_program(bench: Bench) -> Outcome:
    """A file that is no program gives 126."""
    path = bench.stage.workspace / "data.txt"
    path.chmod(0o644)
    return _status_of(bench, str(path), 126)


def _status_of(bench: Bench, program: str, wanted: int) -> Outcome:
    if bench.target.backend is None and not bench.target.declared:
        return Outcome(reached=True)  # a bare start fails in the starter, which is no exit code
    ended = bench.run([program])
    if b"Traceback" in ended.errors or b"panicked" in ended.errors:
        return Outcome(reached=False, detail="an inner failure is shown to the user")
    return _compared(ended.code, wanted)


def standard_input(bench: Bench) -> Outcome:
    """A mebibyte of input arrives."""
    text = os.urandom(1 << 20)
    return _compared(bench.run(["cat"], stdin=text).output == text, True)


def standard_output(bench: Bench) -> Outcome:
    """Eight mebibytes of output arrive, and errors stay apart."""
    code = (
        "import sys; sys.stdout.buffer.write(bytes(range(256)) * 32768); sys.stderr.write('other')"
    )
    ended = bench.run([*_PYTHON, code])
    is_whole = ended.output == bytes(range(256)) * 32768
    return _compared((is_whole, ended.errors.endswith(b"other")), (True, True))


def argument_bytes(bench: Bench) -> Outcome:
    """Arguments may be bytes that are no text."""
    code = "import os, sys; sys.stdout.buffer.write(os.fsencode(sys.argv[1]))"
    word = b"a\xff\xfe\n'\"b"
    ended = bench.run([*_PYTHON, code, os.fsdecode(word)])
    return _compared(ended.output + ended.errors, word)


def environment_bytes(bench: Bench) -> Outcome:
    """Variables may hold bytes that are no text."""
    code = "import os, sys; sys.stdout.buffer.write(os.environb[b'WORD'])"
    word = b"a\xff\xfe\n=b"
    env = {"WORD": os.fsdecode(word)}
    return _compared(bench.run([*_PYTHON, code], env=env).output, word)


def long_argument(bench: Bench) -> Outcome:
    """An argument of 120 KiB comes through."""
    code = "import sys; print(len(sys.argv[1]))"
    return _compared(bench.run([*_PYTHON, code, "x" * 122_880]).output, b"122880\n")


def many_arguments(bench: Bench) -> Outcome:
    """Five thousand arguments come through."""
    code = "import sys; print(len(sys.argv))"
    return _compared(bench.run([*_PYTHON, code, *["x"] * 5000]).output, b"5001\n")


def dashes(bench: Bench) -> Outcome:
    """Arguments that look like options reach the command."""
    words = ["-c", "--", "--help", "-x", "--bind", "/", "", "a b"]
    code = "import sys; print(sys.argv[1:])"
    return _compared(bench.run([*_PYTHON, code, *words]).output, f"{words}\n".encode())


def environment(bench: Bench) -> Outcome:
    """Every variable given is there."""
    given = {"PLAIN": "text", "EMPTY": "", "WITH_EQUALS": "a=b", "LC_ALL": "C"}
    names = " ".join(given)
    code = f"import os; print([os.environ.get(n) for n in {names.split()!r}])"
    found = bench.run([*_PYTHON, code], env=given).output
    return _compared(found, f"{list(given.values())}\n".encode())


def limits(bench: Bench) -> Outcome:
    """The mask of permissions and the bound on open files stay."""
    code = (
        "import os, resource; mask = os.umask(0);"
        "print(mask, resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    wanted = subprocess.run([*_PYTHON, code], capture_output=True, check=True).stdout
    return _compared(bench.run([*_PYTHON, code]).output, wanted)


def signal_state(bench: Bench) -> Outcome:
    """No signal is ignored or held back when a command starts."""
    ended = bench.run(["sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status"])
    found = [int(line.split()[1], 16) for line in ended.output.decode().splitlines()]
    return _compared(found, [0, 0])


def early_reader(bench: Bench) -> Outcome:
    """A reader that leaves early ends the writer without a word."""
    ended = bench.run(["sh", "-c", "yes | head -n 1"])
    return _compared((ended.output, b"roken" in ended.errors), (b"y\n", False))


def working_directory(bench: Bench) -> Outcome:
    """A command starts in its working directory, below the workspace, too."""
    folder = bench.stage.workspace / "nested"
    found = [bench.run(["pwd", "-P"], cwd=str(path)).output for path in (folder.parent, folder)]
    return _compared(found, [f"{folder.parent}\n".encode(), f"{folder}\n".encode()])


def removed_directory(bench: Bench) -> Outcome:
    """A command that removes its working directory still ends as it should."""
    folder = bench.stage.workspace / "passing"
    folder.mkdir()
    return _compared(bench.run(["sh", "-c", "rmdir ../passing; exit 5"], cwd=str(folder)).code, 5)


def ownership(bench: Bench) -> Outcome:
    """What a command creates belongs to the user."""
    ended = bench.run(["sh", "-c", "echo x > owned"])
    path = bench.stage.workspace / "owned"
    if not path.exists():
        return Outcome(reached=False, detail=f"nothing was made, exit code {ended.code}")
    return _compared(path.stat().st_uid, os.geteuid())


def parallel(bench: Bench) -> Outcome:
    """Eight commands at once in one workspace end as they should."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: bench.run(["sh", "-c", f"exit {n}"]).code, range(8)))
    return _compared(found, list(range(8)))


def background(bench: Bench) -> Outcome:
    """A process left in the background does not keep the command from ending."""
    process = ["sh", "-c", "sleep 600 & exit 4"]
    with bench.running(bench.command(process)) as run:
        code = run.process.wait(SECONDS)
        if code != 4 or not bench.target.declared:
            return _compared(code, 4)
        return Outcome(_wait_until(lambda: not bench.survivors(), _SETTLE_S))


def terminated(bench: Bench) -> Outcome:
    """A request to end reaches the command's own handler."""
    return _signalled(bench, signal.SIGTERM)


def interrupted(bench: Bench) -> Outcome:
    """An interrupt reaches the command's own handler."""
    return _signalled(bench, signal.SIGINT)


def _signalled(bench: Bench, number: int) -> Outcome:
    with bench.running(bench.command([*_PYTHON, _WAITING])) as run:
        if not _await_line(run, b"ready"):
            return Outcome(None, "the command did not start")
        run.signal(number)
        output, _ = run.process.communicate(timeout=SECONDS)
        return _compared((b"caught" in output, run.process.returncode), (True, number + 20))


def killed(bench: Bench) -> Outcome:
    """What is killed from outside leaves no process; reached: something still runs."""
    script = "(sleep 600; :) & echo ready; sleep 600; :"
    with bench.running(bench.command(["sh", "-c", script])) as run:
        if not _await_line(run, b"ready"):
            return Outcome(None, "the command did not start")
        os.kill(run.process.pid, signal.SIGKILL)
        run.process.wait(SECONDS)
        is_gone = _wait_until(lambda: not bench.survivors(), _SETTLE_S)
        return Outcome(not is_gone, "" if is_gone else "processes still run")


def daemon(bench: Bench) -> Outcome:
    """A process in a session of its own outlives the command; reached: it still runs."""
    code = (
        "import os, signal, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        null = os.open(os.devnull, os.O_RDWR)\n"
        "        for n in range(3): os.dup2(null, n)\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    ended = bench.run([*_PYTHON, code])
    if ended.code != 0:
        return Outcome(None, ended.errors[-200:].decode("utf-8", "replace"))
    is_gone = _wait_until(lambda: not bench.survivors(), _SETTLE_S)
    return Outcome(not is_gone, "" if is_gone else "it still runs")


def served(bench: Bench) -> Outcome:
    """Come in from outside to a server that the command opened; reached: it answered."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = (
        "import socket\n"
        f"with socket.create_server(('127.0.0.1', {port})) as s:\n"
        "    print('ready', flush=True)\n"
        "    s.settimeout(600)\n"
        "    s.accept()[0].sendall(b'hello')\n"
    )
    with bench.running(bench.command([*_PYTHON, code])) as run:
        if not _await_line(run, b"ready"):
            return Outcome(reached=False, detail="no server could be opened")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as client:
            return Outcome(client.recv(5) == b"hello")
    return Outcome(reached=False, detail="nobody answers")


def service_of_workspace(bench: Bench) -> Outcome:
    """Connect to a socket that a service opened in the workspace."""
    path = bench.stage.workspace / "service.sock"
    made = bench.traps.listeners.listen_in(str(path))
    code = (
        "import socket, sys\n"
        "with socket.socket(socket.AF_UNIX) as s:\n"
        "    s.connect(sys.argv[1])\n"
        "    s.sendall(sys.argv[2].encode())\n"
        "    s.shutdown(socket.SHUT_WR)\n"
        "    s.recv(16)\n"
    )
    try:
        ended = bench.run([*_PYTHON, code, str(path), bench.word])
        return Outcome(ended.code == 0, ended.errors[-120:].decode("utf-8", "replace"))
    finally:
        bench.traps.listeners.heard(bench.word)
        bench.traps.listeners.forget(made)


def nothing_left(bench: Bench) -> Outcome:
    """Nothing stands afterwards where a protected name was missing."""
    ended = bench.run(["sh", "-c", "exit 3"])
    return _compared((ended.code, _stand_ins(bench)), (3, []))


def nothing_left_when_killed(bench: Bench) -> Outcome:
    """Nothing stands where a protected name was missing after the command was killed."""
    with bench.running(bench.command(["sh", "-c", "echo ready; sleep 600; :"])) as run:
        if not _await_line(run, b"ready"):
            return Outcome(None, "the command did not start")
        os.kill(run.process.pid, signal.SIGKILL)
        run.process.wait(SECONDS)
    return _compared(_stand_ins(bench), [])


def _stand_ins(bench: Bench) -> list[str]:
    """What stands where a name was missing."""
    folders = (bench.stage.workspace, bench.stage.path / "extra")
    paths = [folder / bench.stage.names.missing for folder in folders]
    return [str(path) for path in paths if os.path.lexists(path)]


def refusal_is_told(bench: Bench) -> Outcome:
    """The backend knows its own refusal from a failure of the command's own."""
    backend = bench.target.backend
    if backend is None:
        return Outcome(reached=True, is_absent=bool(bench.target.declared))
    path = bench.stage.outside / "canary.txt"
    refused = bench.run(["sh", "-c", f"echo x >> '{path}'"])
    failed = bench.run(["sh", "-c", "echo no such thing >&2; exit 3"])
    verdicts = [
        backend.classify(bench.policy, CommandResult(each.code, each.output + each.errors))
        for each in (refused, failed)
    ]
    return _compared([verdict is not None for verdict in verdicts], [True, False])


def _await_line(run: Running, word: bytes) -> bool:
    stream = run.process.stdout
    while stream is not None and (line := stream.readline()):
        if re.search(word, line):
            return True
    return False


def _wait_until(is_so: object, seconds: float = SECONDS) -> bool:
    """Wait for something that has no event; a process's end is not told to strangers."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if callable(is_so) and is_so():
            return True
        time.sleep(_PAUSE_S)
    return False
