"""Real commands in the real sandbox, as root and as an ordinary user."""

import ctypes
import os
import resource
import signal
import socket
import subprocess
import time

import pytest

from ferrule_confinement.landlock import SCOPES_SINCE, landlock_version
from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command, ResolvedPolicy
from ferrule_sandbox_bubblewrap.backend import BubblewrapBackend
from ferrule_testkit.confinement import as_user, complete
from ferrule_testkit.tracing import TRACE_CHILD


def test_the_workspace_is_writable_and_nothing_else(run, place):
    ended = run("sh", "-c", "echo in > in; echo out > ../outside/out; echo etc > /etc/ferrule-x")
    assert ended.stdout.count("Read-only file system") == 2
    assert (place / "workspace" / "in").read_text() == "in\n"
    assert list((place / "outside").iterdir()) == []


def test_read_only_writes_nothing_but_has_room_for_scratch(run, policy, place):
    script = "echo x > in; cat <<< hello; f=$(mktemp) && echo $f > $f && cat $f"
    ended = run("bash", "-c", script, policy=policy("read-only"))
    assert "Read-only file system" in ended.stdout
    assert "hello" in ended.stdout
    assert "/dev/shm/" in ended.stdout
    assert list((place / "workspace").iterdir()) == []


def test_protected_places_stay_as_they_are(run, policy, place):
    (place / "workspace" / ".git" / "hooks").mkdir(parents=True)
    (place / "workspace" / ".git").chmod(0o777)
    kept = policy(read_only=[".git/hooks"], pinned=[".git"])
    script = "echo x > .git/hooks/x; mv .git/hooks h; rm -rf .git; mv .git g; echo y > .git/index"
    run("sh", "-c", script, policy=kept)
    found = sorted(str(p.relative_to(place / "workspace")) for p in place.rglob("*/.git/*"))
    assert found == [".git/hooks", ".git/index"]


@pytest.mark.parametrize("attempt", ["mkdir .codex", "echo x > .codex", "ln -s x .codex"])
def test_forbidden_names_do_not_come_into_being(run, policy, place, attempt):
    run("sh", "-c", attempt, policy=policy(forbidden=[".codex"]))
    assert not os.path.lexists(place / "workspace" / ".codex")


def test_denied_places_cannot_be_read(run, policy, place):
    (place / "home" / "keys").mkdir()
    (place / "home" / "keys" / "key").write_text("secret")
    (place / "home" / "token").write_text("secret")
    denied = tuple(str(place / "home" / name) for name in ("keys", "token"))
    script = f"cat {place}/home/keys/key {place}/home/token; ls {place}/home/keys"
    ended = run("sh", "-c", script, policy=policy(deny_read=denied))
    assert "secret" not in ended.stdout
    assert ended.returncode != 0


def test_kernel_settings_cannot_be_written(run):
    ended = run("sh", "-c", "echo x > /proc/sys/kernel/core_pattern; echo h > /proc/sysrq-trigger")
    assert ended.returncode != 0
    assert "ferrule" not in ended.stdout


def test_there_is_no_way_out_when_the_network_is_off(python):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 3)"
        assert "ConnectionRefusedError" in python(code).stdout


def test_the_network_is_there_when_it_is_allowed(python, policy):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 3)"
        assert python(code, policy=policy(network=True)).returncode == 0


@pytest.mark.parametrize("network", [False, True])
def test_sockets_of_services_are_out_of_reach(python, policy, place, network):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "workspace" / "service"))
        server.listen()
        os.chmod(place / "workspace" / "service", 0o777)
        code = "import socket; socket.socket(socket.AF_UNIX).connect('service')"
        ended = python(code, policy=policy(network=network))
    assert "Error" in ended.stdout


def test_own_servers_and_event_loops_work_without_a_network(python):
    code = """
import asyncio, socket
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname(), 3)
local = socket.socket(socket.AF_UNIX); local.bind("own"); local.listen()
socket.socket(socket.AF_UNIX).connect("own")
async def main():
    await asyncio.to_thread(print, "thread")
    child = await asyncio.create_subprocess_exec("echo", "child")
    await child.wait()
asyncio.run(main())
"""
    ended = python(code)
    assert (ended.returncode, sorted(ended.stdout.split())) == (0, ["child", "thread"])


def test_dangerous_calls_are_refused(python):
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for number, argument in ((272, 0x10000000), (101, 0), (250, 0)):  # unshare, ptrace, keyctl
    print(libc.syscall(number, argument, 0, 0, 0), ctypes.get_errno())
"""
    if os.uname().machine != "x86_64":
        pytest.skip("numbers of x86_64")
    assert python(code).stdout == "-1 1\n" * 3


def test_the_command_has_no_rights_and_gets_none(run):
    status = run("cat", "/proc/self/status").stdout
    for line in ("CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"):
        assert line in status
    assert "Seccomp:\t2" in status


def test_the_environment_is_the_given_one(run):
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": "/dev/shm", "A": "b c\n", "LD_LIBRARY_PATH": "/none"}
    ended = run("env", "-0", env={**env, "PWD": "/"})
    lines = dict(item.split("=", 1) for item in ended.stdout.split("\0") if "=" in item)
    cwd = lines.pop("PWD")
    assert cwd.endswith("/workspace")
    assert {name: lines.get(name) for name in env} == env
    assert set(lines) == set(env)


def test_bytes_that_are_not_text_arrive(run):
    odd = os.fsdecode(b"a\xff\xfe")
    ended = run("sh", "-c", 'printf "%s%s" "$1" "$ODD" | od -An -tx1', "sh", odd,
                env={"PATH": "/bin:/usr/bin", "ODD": odd})  # fmt: skip
    assert ended.stdout.split() == ["61", "ff", "fe"] * 2


@pytest.mark.parametrize(
    ("argv", "code", "text"),
    [
        (["no-such-program"], 127, "no-such-program: command not found"),
        (["./missing"], 127, "./missing: no such file or directory"),
        (["./plain"], 126, "./plain: permission denied"),
        (["./folder"], 126, "./folder: is a directory"),
        (["a=b"], 127, "a=b: command not found"),
    ],
    ids=["missing", "missing-path", "not-executable", "folder", "odd-name"],
)
def test_programs_that_cannot_run_fail_as_in_a_shell(run, place, argv, code, text):
    (place / "workspace" / "plain").write_text("x")
    (place / "workspace" / "folder").mkdir()
    ended = run(*argv)
    assert (ended.returncode, ended.stdout.strip()) == (code, text)


@pytest.mark.parametrize("code", [0, 1, 42, 126, 255])
def test_exit_codes_pass(run, code):
    assert run("sh", "-c", f"exit {code}").returncode == code


def test_death_by_signal_is_seen(run):
    assert run("sh", "-c", "kill -SEGV $$").returncode == 128 + signal.SIGSEGV


def test_daemons_end_with_the_command(python):
    code = """
import os, sys
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "8642.75"])
"""
    python(code)
    assert subprocess.run(["pgrep", "-f", "sleep 8642.75"], capture_output=True).stdout == b""


def test_processes_are_bounded(python, backend, policy):
    if "resources" not in backend.probe().enforced:
        pytest.skip("processes cannot be bounded here")
    code = """
import os, signal, sys
made = []
try:
    for _ in range(60):
        pid = os.fork()
        if pid == 0:
            signal.pause()
        made.append(pid)
except BlockingIOError:
    print("bounded")
for pid in made:
    os.kill(pid, 9)
"""
    assert python(code, policy=policy(max_processes=30)).stdout == "bounded\n"
    assert python(code, policy=policy(max_processes=100)).stdout == ""


def test_memory_is_bounded_when_asked_for(python, policy):
    ended = python("print(len(bytearray(600 << 20)))", policy=policy(max_memory_bytes=200 << 20))
    assert ended.returncode != 0


def test_core_files_cannot_be_had(python):
    code = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1))"
    assert "not allowed to raise" in python(code).stdout


def test_limits_of_the_caller_are_kept(run):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert run("sh", "-c", "ulimit -n").stdout.strip() == str(limit)


def test_a_signal_reaches_the_command_itself(backend, policy, place):
    script = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    command = Command(("sh", "-c", script), str(place / "workspace"), {"PATH": "/usr/bin:/bin"})
    launch = backend.prepare(policy(), command)
    child = subprocess.Popen(
        launch.argv, env={}, cwd="/", pass_fds=launch.pass_fds, stdout=subprocess.PIPE
    )
    with child:
        launch.started()
        assert child.stdout.readline() == b"ready\n"
        assert launch.forward_signal(child.pid, signal.SIGTERM)
        assert child.stdout.read() == b"caught\n"
    launch.cleanup()
    assert child.returncode == 5


def test_a_launch_that_never_starts_gives_everything_back(backend, policy, place):
    def opened():
        """Our descriptors, once what lies on removed stand-ins is closed."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            links = {number: _link(number) for number in os.listdir("/proc/self/fd")}
            if not any(each.endswith(".git (deleted)") for each in links.values()):
                return {number for number, link in links.items() if link}
            time.sleep(0.005)
        raise AssertionError("removed stand-ins stay open")

    command = Command(("true",), str(place / "workspace"), {"PATH": "/usr/bin:/bin"})
    backend.prepare(policy(forbidden=[".git"]), command).cleanup()
    before = opened()
    launch = backend.prepare(policy(forbidden=[".git"]), command)
    assert len(opened()) > len(before)
    launch.cleanup()
    assert opened() == before
    assert list((place / "workspace").iterdir()) == []


def _link(number):
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except FileNotFoundError:  # it was the one that listed them
        return ""


def test_secrets_are_not_in_the_arguments(backend, policy, place):
    env = {"PATH": "/usr/bin:/bin", "TOKEN_VALUE": "very-secret"}
    launch = backend.prepare(policy(), Command(("true",), str(place / "workspace"), env))
    assert "very-secret" not in " ".join(launch.argv)
    assert launch.env == {}
    launch.cleanup()


def test_a_missing_working_directory_is_named(backend, policy, place):
    with pytest.raises(SandboxUnavailableError, match="gone does not exist"):
        backend.prepare(policy(), Command(("true",), str(place / "gone"), {}))


def test_a_policy_without_confinement_is_not_for_this_backend(backend, place):
    unconfined = ResolvedPolicy("danger-full-access", str(place), unconfined=True)
    with pytest.raises(PolicyUnenforceableError, match="'none'"):
        backend.prepare(unconfined, Command(("true",), str(place), {}))


@pytest.mark.root
def test_a_stranger_s_socket_in_a_closed_folder_does_not_switch_commands_off(run, place):
    """A socket below a folder of another user's used to make every command fail."""
    closed = place / "closed"
    closed.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(closed / "service"))
        server.listen()
        os.chown(closed, 12345, 12345)
        closed.chmod(0o700)

        assert run("/bin/echo", "ran").stdout == "ran\n"


def test_with_readable_folders_nothing_else_is_in_sight(run, policy, place):
    (place / "outside" / "file").write_text("hidden")
    script = f"cat {place}/outside/file; ls {place} / /etc /home; echo x > /new; echo y > kept"

    ended = run("sh", "-c", script, policy=policy(readable_roots=()))

    assert "hidden" not in ended.stdout
    assert not {"outside", "root", "var", "shadow", "hostname"} & set(ended.stdout.split())
    assert "Read-only file system" in ended.stdout
    assert (place / "workspace" / "kept").read_text() == "y\n"


def test_programs_start_where_little_can_be_read(python, policy):
    code = "import pwd, ssl, subprocess, os; print(subprocess.check_output(['id', '-u']))"

    ended = python(code, policy=policy("read-only", readable_roots=()))

    assert (ended.returncode, ended.stdout[:2]) == (0, "b'")


def test_a_hidden_working_directory_is_an_empty_one(run, policy, place):
    (place / "workspace" / "file").write_text("hidden")
    kept = policy("read-only", readable_roots=())

    assert run("ls", "-A", policy=kept).stdout == ""
    assert "Read-only" in run("touch", "new", policy=kept).stdout


def test_a_hidden_program_is_named(run, policy, place):
    program = place / "outside" / "program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)

    ended = run(str(program), policy=policy(readable_roots=()))

    assert (ended.returncode, ended.stdout) == (
        126,
        f"{program}: it lies outside of the readable folders\n",
    )
    assert run(str(program), policy=policy(readable_roots=(str(program),))).stdout == "ran\n"


def test_a_debugger_may_trace_its_own_processes_when_that_is_granted(python, policy):
    assert python(TRACE_CHILD).stdout == "-1 -1 b''\n"
    assert python(TRACE_CHILD, policy=policy(debugging=True)).stdout == "0 0 4 b'word'\n"


def test_abstract_sockets_of_the_machine_are_out_of_reach_with_a_network(python, policy):
    if landlock_version() < SCOPES_SINCE:
        pytest.skip("needs Linux 6.12")
    code = """
import socket, sys
own = socket.socket(socket.AF_UNIX)
own.bind("\\0ferrule-own")
own.listen()
for name in ("own", sys.argv[1]):
    try:
        socket.socket(socket.AF_UNIX).connect(f"\\0ferrule-{name}")
        print("open")
    except OSError as error:
        print(error.strerror)
"""
    with socket.socket(socket.AF_UNIX) as server:
        name = f"test-{os.getpid()}"
        server.bind(f"\0ferrule-{name}")
        server.listen()

        ended = python(code, name, policy=policy(network=True))

    assert ended.stdout == "open\nOperation not permitted\n"


@pytest.mark.parametrize("network", [False, True])
def test_no_descriptor_leaks_into_the_command(run, policy, network):
    ended = run("sh", "-c", "ls /proc/self/fd | wc -l", policy=policy(network=network))
    assert ended.stdout.strip() == "4"  # the fourth is the folder that ls reads


@pytest.mark.root
@pytest.mark.parametrize("network", [False, True])
def test_a_kernel_that_keeps_its_memory_to_itself_starts_commands(place, policy, network):
    """Its own `/proc` entries belong to root then, although it does not."""
    command = Command(("/bin/echo", "ran"), str(place / "workspace"), {"PATH": "/usr/bin:/bin"})

    def as_the_program_does():
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
        backend = BubblewrapBackend(
            PluginContext(place / "home", {}, str(place / "workspace"), environ=dict(os.environ))
        )
        try:
            return complete(backend, policy(network=network), command).stdout
        finally:
            backend.close()

    assert as_user(as_the_program_does) == "ran\n"
