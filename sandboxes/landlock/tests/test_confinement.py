"""Real commands in the real sandbox, as root and as an ordinary user."""

import ctypes
import os
import resource
import signal
import socket
import subprocess

import anyio
import pytest

from ferrule_confinement.landlock import landlock_version
from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command, ResolvedPolicy
from ferrule_sandbox_landlock.backend import LandlockBackend
from ferrule_sandbox_landlock.grants import grant_policy
from ferrule_sandbox_landlock.ruleset import Ruleset
from ferrule_testkit.confinement import NOBODY, as_user, complete
from ferrule_testkit.tracing import ATTACH, TRACE_CHILD


def test_the_workspace_is_writable_and_nothing_else(run, place):
    (place / "outside" / "kept").write_text("kept")
    (place / "outside" / "kept").chmod(0o666)
    script = "echo in > in; echo out > ../outside/out; true > ../outside/kept; rm ../outside/kept"
    ended = run("sh", "-c", script + "; mv ../outside/kept .; ln ../outside/kept l")
    assert ended.stdout.lower().count("denied") + ended.stdout.count("cross-device") >= 4
    assert (place / "workspace" / "in").read_text() == "in\n"
    assert [path.read_text() for path in (place / "outside").iterdir()] == ["kept"]


def test_read_only_writes_nothing_but_has_room_for_scratch(run, policy, place):
    script = "echo x > in; cat <<< hello; f=$(mktemp) && echo $f > $f && cat $f"
    ended = run("bash", "-c", script, policy=policy("read-only"))
    assert "Permission denied" in ended.stdout
    assert "hello" in ended.stdout
    scratch = next(line for line in ended.stdout.splitlines() if "ferrule-scratch-" in line)
    assert not os.path.exists(os.path.dirname(scratch))
    assert list((place / "workspace").iterdir()) == []


def test_read_only_changes_no_permissions_owners_or_times(run, policy, place):
    (place / "workspace" / "file").write_text("x")
    (place / "workspace" / "file").chmod(0o666)
    before = os.stat(place / "workspace" / "file")
    ended = run("sh", "-c", "chmod 777 file; touch -d 2001-01-01 file", policy=policy("read-only"))
    assert "chmod: changing permissions of 'file': Read-only file system" in ended.stdout
    assert os.stat(place / "workspace" / "file") == before


def test_usual_tools_work_in_the_workspace(run):
    script = (
        "mkdir a && echo x > a/f && chmod 755 a/f && touch -d 2001-01-01 a/f && mv a/f a/g"
        " && cp -a a b && tar cf t.tar a && mkdir c && tar xf t.tar -C c && ln a/g h && mv a/g ."
        " && install -m 700 g i && sed -i s/x/y/ g && cat g && git init -q r 2>&1"
    )
    assert run("sh", "-ec", script).stdout == "y\n"


def test_denied_places_cannot_be_read_and_what_lies_around_can(run, policy, place):
    (place / "home" / "keys").mkdir()
    (place / "home" / "keys" / "key").write_text("secret")
    (place / "home" / "token").write_text("secret")
    (place / "home" / "plain").write_text("plain")
    denied = tuple(str(place / "home" / name) for name in ("keys", "token"))
    script = f"cd {place}/home; cat keys/key token; cat plain; ls; ln token {place}/workspace/t"
    ended = run("sh", "-c", script, policy=policy(deny_read=denied))
    assert "secret" not in ended.stdout
    assert "plain" in ended.stdout
    assert ended.stdout.count("Permission denied") >= 2
    assert not (place / "workspace" / "t").exists()


def test_a_link_to_a_denied_place_opens_nothing(run, policy, place):
    (place / "home" / "token").write_text("secret")
    (place / "home" / "link").symlink_to("token")
    denied = (str(place / "home" / "token"),)
    assert "secret" not in run("cat", f"{place}/home/link", policy=policy(deny_read=denied)).stdout


def test_unreadable_places_in_a_writable_folder_are_refused(backend, policy, place):
    denied = (str(place / "workspace" / "secrets"),)
    with pytest.raises(PolicyUnenforceableError, match="secrets unreadable while commands"):
        backend.prepare(policy(deny_read=denied), Command(("true",), str(place / "workspace"), {}))


def test_kernel_settings_and_devices_cannot_be_reached(run):
    script = "echo x > /proc/sys/kernel/core_pattern; echo h > /proc/sysrq-trigger; cat /dev/kmsg"
    ended = run("sh", "-c", script + "; echo 1 > /sys/kernel/profiling; echo ok > /dev/null")
    assert ended.stdout.lower().count("denied") + ended.stdout.count("not permitted") >= 3


def test_there_is_no_way_out_when_the_network_is_off(python):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 3)"
        assert "Network is unreachable" in python(code).stdout


def test_the_network_is_there_when_it_is_allowed(python, policy):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 3)"
        assert python(code, policy=policy(network=True)).returncode == 0


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_sockets_of_services_are_out_of_reach(python, policy, place, network, kind):
    with socket.socket(socket.AF_UNIX, getattr(socket, kind)) as server:
        server.bind(str(place / "workspace" / "service"))
        os.chmod(place / "workspace" / "service", 0o777)
        code = f"""
import socket
ours, theirs = socket.socketpair()
for way in (lambda: socket.socket(socket.AF_UNIX, socket.{kind}).connect("service"),
            lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
            lambda: ours.connect("service"),
            lambda: ours.sendto(b"x", "service")):
    try:
        print("open", way())
    except OSError as error:
        print("closed")
"""
        assert python(code, policy=policy(network=network)).stdout == "closed\n" * 4


def test_local_sockets_can_be_allowed_by_name(python, place):
    code = """
import socket
local = socket.socket(socket.AF_UNIX); local.bind("own"); local.listen()
socket.socket(socket.AF_UNIX).connect("own")
"""
    assert python(code).returncode != 0
    assert python(code, local_sockets=True).returncode == 0


def test_event_loops_and_pools_work_without_sockets(python):
    code = """
import asyncio, multiprocessing
async def main():
    await asyncio.to_thread(print, "thread")
    child = await asyncio.create_subprocess_exec("echo", "child")
    await child.wait()
asyncio.run(main())
print(multiprocessing.get_context("fork").Pool(2).map(abs, [-1]))
"""
    ended = python(code)
    assert (ended.returncode, sorted(ended.stdout.split())) == (0, ["[1]", "child", "thread"])


def test_other_processes_cannot_be_signalled(python):
    code = f"import os; os.kill({os.getpid()}, 0)"
    if landlock_version() < 6:
        pytest.skip("needs a newer kernel")
    assert "Operation not permitted" in python(code).stdout


def test_the_command_has_no_rights_and_gets_none(run):
    status = run("cat", "/proc/self/status").stdout
    for line in ("CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"):
        assert line in status
    assert "Seccomp:\t2" in status


@pytest.mark.root
def test_root_gets_nothing_back_by_starting_another_program(backend, policy, place):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    command = Command(("grep", "Cap", "/proc/self/status"), str(place / "workspace"), {})
    launch = backend.prepare(policy(), command)
    output = subprocess.check_output(launch.argv, pass_fds=launch.pass_fds, env={}, text=True)
    launch.started()
    launch.cleanup()
    assert {line.split()[1] for line in output.splitlines()} == {"0" * 16}


def test_the_environment_is_the_given_one(run):
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": "/dev/shm", "A": "b c\n", "LD_LIBRARY_PATH": "/none"}
    ended = run("env", "-0", env=env)
    lines = dict(item.split("=", 1) for item in ended.stdout.split("\0") if "=" in item)
    assert {name: lines.get(name) for name in ("PATH", "A", "LD_LIBRARY_PATH")} == {
        name: env[name] for name in ("PATH", "A", "LD_LIBRARY_PATH")
    }
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
        (["./bad"], 127, "ferrule: the program or the interpreter it names does not exist"),
    ],
    ids=["missing", "missing-path", "not-executable", "folder", "interpreter"],
)
def test_programs_that_cannot_run_fail_as_in_a_shell(run, place, argv, code, text):
    (place / "workspace" / "plain").write_text("x")
    (place / "workspace" / "folder").mkdir()
    (place / "workspace" / "bad").write_text("#!/no/such/interpreter\n")
    (place / "workspace" / "bad").chmod(0o755)
    ended = run(*argv)
    assert (ended.returncode, ended.stdout.strip()) == (code, text)


@pytest.mark.parametrize("code", [0, 1, 42, 125, 126, 255])
def test_exit_codes_pass(run, code):
    assert run("sh", "-c", f"exit {code}").returncode == code


def test_death_by_signal_is_seen(run):
    assert run("sh", "-c", "kill -SEGV $$").returncode == -signal.SIGSEGV


def test_no_descriptor_leaks_into_the_command(run):
    ended = run("sh", "-c", "ls /proc/self/fd | wc -l")
    assert ended.stdout.strip() == "4"  # the fourth is the folder that ls reads


def test_processes_are_bounded(python, backend, policy):
    if os.geteuid() == 0 and "resources" not in backend.probe().enforced:
        pytest.skip("processes cannot be bounded here")
    code = """
import os, signal
made = []
try:
    for _ in range(3000):
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


def test_memory_is_bounded_when_asked_for(python, policy):
    ended = python("print(len(bytearray(600 << 20)))", policy=policy(max_memory_bytes=200 << 20))
    assert ended.returncode != 0


def test_core_files_cannot_be_had(python):
    code = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1))"
    assert "not allowed to raise" in python(code).stdout


def test_limits_of_the_caller_are_kept(run):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert run("sh", "-c", "ulimit -n").stdout.strip() == str(limit)


def test_a_launch_that_never_starts_gives_everything_back(backend, policy, place):
    def opened():
        return set(os.listdir("/proc/self/fd"))

    command = Command(("true",), str(place / "workspace"), {"PATH": "/usr/bin:/bin"})
    backend.prepare(policy(), command).cleanup()
    before = opened()
    launch = backend.prepare(policy(), command)
    assert len(opened()) > len(before)
    launch.cleanup()
    assert opened() == before


def test_a_sandbox_that_cannot_be_applied_is_told_apart_from_the_command(backend, policy, place):
    command = Command(("touch", "x"), str(place / "workspace"), {"PATH": "/usr/bin:/bin"})
    launch = backend.prepare(policy(), command)
    _, *rest = launch.pass_fds
    ended = subprocess.run(launch.argv, env={}, cwd=launch.cwd, pass_fds=rest)
    launch.started()
    with pytest.raises(SandboxUnavailableError, match=r"landlock_restrict_self.*did not run"):
        launch.cleanup()
    assert ended.returncode == 125
    assert list((place / "workspace").iterdir()) == []


def test_a_missing_working_directory_is_named(backend, policy, place):
    with pytest.raises(SandboxUnavailableError, match="gone does not exist"):
        backend.prepare(policy(), Command(("true",), str(place / "gone"), {}))


def test_a_policy_without_confinement_is_not_for_this_backend(backend, place):
    unconfined = ResolvedPolicy("danger-full-access", str(place), unconfined=True)
    with pytest.raises(PolicyUnenforceableError, match="'none'"):
        backend.prepare(unconfined, Command(("true",), str(place), {}))


def test_what_is_declared_is_what_is_not_protected(backend):
    found = backend.probe()
    assert not found.enforced & {"protected_paths", "missing_names", "pids", "ipc"}
    assert "protected places" in found.reason


@pytest.mark.parametrize("version", range(1, landlock_version() + 1))
def test_rulesets_of_every_version_are_taken_by_the_kernel(policy, version):
    ruleset = Ruleset(network=False, version=version)
    grant_policy(ruleset, policy(), None)
    ruleset.close()


def test_old_landlock_still_keeps_files_from_being_emptied(place, policy, monkeypatch):
    if landlock_version() < 1:
        pytest.skip("needs Landlock")
    from ferrule_sandbox_landlock import backend as module

    monkeypatch.setattr(module, "landlock_version", lambda: 1)
    monkeypatch.setattr(module, "Ruleset", lambda *, network: Ruleset(network=network, version=1))
    (place / "outside" / "kept").write_text("kept")
    (place / "outside" / "kept").chmod(0o666)
    code = """
import os
for way in (lambda: os.truncate("../outside/kept", 0),
            lambda: os.open("../outside/kept", os.O_RDONLY | os.O_TRUNC),
            lambda: os.open("../outside/kept", 3 | os.O_TRUNC),
            lambda: open("../outside/kept", "w")):
    try:
        print("open", way())
    except OSError:
        print("closed")
open("own", "w").write("x"); open("own", "w").truncate(0)
"""
    old = LandlockBackend(PluginContext(place / "home", {}, str(place / "workspace")))
    argv = ("/usr/bin/python3", "-I", "-S", "-c", code)
    ended = complete(old, policy(), Command(argv, str(place / "workspace"), {}))
    assert (ended.returncode, ended.stdout) == (0, "closed\n" * 4)
    assert (place / "outside" / "kept").read_text() == "kept"


def test_a_debugger_may_trace_its_own_processes_when_that_is_granted(python, policy):
    assert python(TRACE_CHILD).stdout == "-1 -1 b''\n"
    assert python(TRACE_CHILD, policy=policy(debugging=True)).stdout == "0 0 4 b'word'\n"


def test_a_debugger_cannot_trace_processes_outside(python, policy, request):
    user = NOBODY if request.node.callspec.params["run"] == "user" and not os.geteuid() else None
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, user=user) as victim:
        ended = python(ATTACH, str(victim.pid), policy=policy(debugging=True))
        victim.stdin.close()
    assert ended.stdout == "-1 1\n"


def test_with_readable_folders_nothing_else_can_be_read_or_listed(run, policy, place):
    (place / "outside" / "file").write_text("hidden")
    script = (
        f"cat {place}/outside/file /etc/hostname; ls {place}/outside / /etc /home; echo y > kept"
    )

    ended = run("sh", "-c", script, policy=policy(readable_roots=()))

    assert "hidden" not in ended.stdout
    assert ended.stdout.count("Permission denied") == 6
    assert (place / "workspace" / "kept").read_text() == "y\n"


@pytest.mark.root
@pytest.mark.parametrize("network", [False, True])
def test_a_kernel_that_keeps_its_memory_to_itself_starts_commands(place, policy, network):
    """Its own `/proc` entries belong to root then, although it does not."""
    command = Command(("/bin/echo", "ran"), str(place / "workspace"), {"PATH": "/usr/bin:/bin"})

    def as_the_program_does():
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
        backend = LandlockBackend(PluginContext(place / "home", {}, str(place / "workspace")))
        try:
            return complete(backend, policy(network=network), command).stdout
        finally:
            anyio.run(backend.aclose)

    assert as_user(as_the_program_does) == "ran\n"
