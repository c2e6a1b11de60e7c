"""Stand-ins for missing names: never in the way, never left behind."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.sandbox import Command

NAMES = [".git", ".codex", ".ferrule"]


@pytest.fixture
def workspace(place):
    return place / "workspace"


@pytest.fixture
def start(backend, policy, workspace):
    """Starts a command; returns its process, its launch, and what it says first."""

    usual = policy(forbidden=NAMES)

    def start(script, *, policy=usual):
        command = Command(("sh", "-c", script), str(workspace), {"PATH": "/usr/bin:/bin"})
        launch = backend.prepare(policy, command)
        child = subprocess.Popen(
            launch.argv,
            env={},
            cwd="/",
            pass_fds=launch.pass_fds,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        launch.started()
        return child, launch

    return start


def left(workspace):
    return sorted(path.name for path in workspace.iterdir())


def test_nothing_is_left_after_a_command(start, workspace):
    child, launch = start("echo x > file")
    child.communicate()
    launch.cleanup()
    assert left(workspace) == ["file"]


def test_a_repository_above_is_still_found(start, workspace, place):
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    child, launch = start("git -c safe.directory=* rev-parse --show-toplevel")
    assert child.communicate()[0].decode().strip() == str(place)
    launch.cleanup()


def test_commands_at_the_same_time_share_them(start, workspace):
    running = [start("read line; mkdir .git; echo $line") for _ in range(8)]
    for number, (child, launch) in enumerate(running):
        assert child.communicate(f"{number}\n".encode())[0] == f"{number}\n".encode()
        launch.cleanup()
        assert (".git" in left(workspace)) == (number < 7)
    assert left(workspace) == []


def test_what_the_user_makes_meanwhile_stays(start, workspace):
    child, launch = start("read line")
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    child.communicate()
    launch.cleanup()
    assert left(workspace) == [".git"]
    assert (workspace / ".git" / "HEAD").exists()


def test_an_empty_folder_of_the_user_stays_and_is_protected(start, workspace):
    (workspace / ".codex").mkdir()
    os.utime(workspace / ".codex", (1, 1))
    time.sleep(0.06)  # longer than another run may be between making a stand-in and marking it
    child, launch = start("echo x > .codex/config.toml")
    child.communicate()
    launch.cleanup()
    assert left(workspace) == [".codex"]
    assert list((workspace / ".codex").iterdir()) == []


@pytest.mark.parametrize(("name", "content"), [(".git", None), ("config", ""), ("commondir", "")])
def test_one_that_was_only_begun_is_made_anew_and_removed(start, policy, workspace, name, content):
    path = workspace / name
    if content is None:
        path.mkdir()
    else:
        path.write_text(content)
    path.chmod(0o1755)
    time.sleep(0.06)  # longer than another run may be between making a stand-in and marking it
    child, launch = start("echo x > made; echo x > " + name, policy=policy(forbidden=[name]))
    child.communicate()
    launch.cleanup()
    assert left(workspace) == ["made"]


@pytest.mark.parametrize("name", [".git/HEAD", "config"])
def test_what_somebody_has_filled_since_it_was_begun_stays(start, policy, workspace, name):
    path = workspace / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine\n")
    begun = workspace / name.split("/")[0]
    begun.chmod(0o1755)
    time.sleep(0.06)  # longer than another run may be between making a stand-in and marking it
    child, launch = start("true", policy=policy(forbidden=[begun.name]))
    child.communicate()
    launch.cleanup()
    assert path.read_text() == "mine\n"


def test_removing_one_from_outside_is_noticed(start, workspace):
    child, launch = start("read line")
    (workspace / ".git").rmdir()
    child.communicate()
    with pytest.raises(SandboxUnavailableError, match=r"workspace/\.git: the protection was"):
        launch.cleanup()
    assert left(workspace) == []


def test_a_protected_link_is_put_back(start, policy, workspace):
    (workspace / "real").mkdir()
    (workspace / ".codex").symlink_to("real")
    kept = policy(read_only=[".codex", "real"])
    child, launch = start("rm .codex; mkdir evil; ln -s evil .codex", policy=kept)
    child.communicate()
    with pytest.raises(SandboxUnavailableError, match=r"\.codex"):
        launch.cleanup()
    assert os.readlink(workspace / ".codex") == "real"
    assert os.readlink(workspace / ".codex.rejected-1") == "evil"


def test_git_works_while_its_common_folder_is_stood_in_for(start, policy, workspace):
    subprocess.run(["git", "init", "-q", "-b", "main", str(workspace)], check=True)
    kept = policy(
        read_only=[".git/config", ".git/hooks"], forbidden=[".git/commondir"], pinned=[".git"]
    )
    script = """
    set -e; export HOME=$PWD
    git="git -c safe.directory=* -c user.name=n -c user.email=e@e"
    echo 1 > file; $git add file; $git commit -qm one; $git switch -qc topic
    echo 2 > file; $git commit -qam two; $git checkout -q main; $git merge -q topic
    $git worktree add -q tree; $git -C tree status --short; $git worktree remove tree
    $git stash list; $git tag v1; $git rebase -q topic; $git gc -q; $git fsck
    $git log --oneline | wc -l; echo evil > .git/commondir
    """
    child, launch = start(script, policy=kept)
    assert child.communicate()[0] == b"2\n"
    launch.cleanup()
    assert child.returncode != 0
    assert not (workspace / ".git" / "commondir").exists()


KILLED = """
import os, subprocess, sys
from pathlib import Path
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command, ResolvedPolicy, WritableRoot
from ferrule_sandbox_bubblewrap.backend import BubblewrapBackend
root = sys.argv[1]
backend = BubblewrapBackend(PluginContext(Path(root) / "../home", {}, root, environ=os.environ))
names = tuple(f"{root}/{name}" for name in (".git", ".codex", "commondir"))
policy = ResolvedPolicy(
    "workspace-write", root, (WritableRoot(root, (f"{root}/.agents", f"{root}/real"), names),)
)
script = "rm .agents; ln -s evil .agents; echo up; sleep 60"
launch = backend.prepare(policy, Command(("sh", "-c", script), root, {"PATH": "/bin:/usr/bin"}))
child = subprocess.Popen(launch.argv, env={}, cwd="/", pass_fds=launch.pass_fds)
launch.started()
child.wait()
"""


def test_nothing_is_left_after_the_session_was_killed(workspace, backend):
    (workspace / "real").mkdir()
    (workspace / ".agents").symlink_to("real")
    session = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(workspace)], stdout=subprocess.PIPE
    )
    with session:
        assert session.stdout.readline() == b"up\n"
        assert {".git", ".codex", "commondir"} <= set(left(workspace))
        session.send_signal(signal.SIGKILL)
        session.stdout.read()  # ends when nothing of the sandbox is left
    expected = [".agents", "real"]
    wait_until(lambda: [n for n in left(workspace) if "rejected" not in n] == expected)
    # It is moved aside before it is put back.
    wait_until(lambda: (workspace / ".agents").resolve() == workspace / "real")


def test_one_that_is_still_held_when_the_session_is_killed_goes_when_it_is_given_up(workspace):
    session = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(workspace)], stdout=subprocess.PIPE
    )
    with session:
        assert session.stdout.readline() == b"up\n"
        held = os.open(workspace / "commondir", os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_SH)
        session.send_signal(signal.SIGKILL)
        session.stdout.read()
        wait_until(lambda: ".codex" not in left(workspace))
        assert "commondir" in left(workspace)
        os.close(held)
    wait_until(lambda: "commondir" not in left(workspace))


def wait_until(holds):
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_session_that_ends_in_order_leaves_no_watchdog(backend, policy, workspace):
    command = Command(("true",), str(workspace), {"PATH": "/usr/bin:/bin"})
    before = children()
    backend.prepare(policy(forbidden=NAMES), command).cleanup()
    assert children() > before
    backend.close()
    assert children() <= before


def children():
    """The processes this one has started and not yet seen end."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
