"""Real commands in real containers of an ordinary user."""

import os
import socket
import stat

import pytest

from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError


def test_the_workspace_is_writable_and_nothing_else(inside, place):
    said = inside(lambda session: session.sh("echo in > in; echo x > ../out; echo x > /etc/x"))

    assert "/etc/x: Read-only file system" in said
    assert not (place / "out").exists(), "/tmp is the container's own"
    made = place / "workspace" / "in"
    assert made.read_text() == "in\n"
    assert made.stat().st_uid == (os.geteuid() or 65534), "it belongs to who works in it"


def test_read_only_writes_nothing_but_has_room_for_scratch(inside, place):
    def work(session):
        policy = session.policy("read-only")
        return session.sh("echo x > in; f=$(mktemp) && echo room > $f && cat $f", policy=policy)

    said = inside(work)

    assert "Read-only file system" in said
    assert "room" in said
    assert list((place / "workspace").iterdir()) == []


def test_protected_places_stay_as_they_are(inside, place):
    def work(session):
        hooks = session.workspace / ".git" / "hooks"
        hooks.mkdir(parents=True)
        kept = session.policy(read_only=[".git/hooks"], pinned=[".git"], forbidden=[".codex"])
        script = "echo x > .git/hooks/x; mv .git/hooks h; mv .git g; rm -rf .git; echo y > .git/i"
        session.sh(script + "; echo x > .codex/x; rm -rf .codex; mkdir .codex", policy=kept)
        session.backend.close()
        return sorted(str(path.relative_to(session.workspace)) for path in place.rglob("*/.*/*"))

    assert inside(work) == [".git/hooks", ".git/i"]
    assert not (place / "workspace" / ".codex").exists(), "no stand-in is left"


def test_what_replaces_a_protected_file_outside_is_protected_for_the_next_command(inside, place):
    def work(session):
        config = session.workspace / "config"
        config.write_text("old")
        kept = session.policy(read_only=["config"])
        first = session.sh("cat config", policy=kept)
        (session.workspace / "new").write_text("new")
        os.rename(session.workspace / "new", config)
        return first, session.sh("cat config; echo evil > config", policy=kept)

    first, then = inside(work)

    assert first == "old"
    assert then.startswith("new")
    assert "Read-only file system" in then
    assert (place / "workspace" / "config").read_text() == "new"


def test_a_repository_that_came_into_being_is_protected_for_the_next_command(inside, place):
    def work(session):
        session.sh("mkdir -p nested/.git/hooks && echo ok > nested/.git/hooks/first")
        kept = session.policy(read_only=["nested/.git/hooks"])
        session.sh("echo evil > nested/.git/hooks/second", policy=kept)
        return session.sh("echo x > nested/.git/hooks/third")

    inside(work)

    hooks = place / "workspace" / "nested" / ".git" / "hooks"
    assert sorted(os.listdir(hooks)) == ["first", "third"]


def test_a_symbolic_link_that_is_protected_is_put_back(inside, place):
    def work(session):
        (session.workspace / "kept").mkdir()
        (session.workspace / ".codex").symlink_to("kept")
        kept = session.policy(read_only=[".codex"])
        with pytest.raises(SandboxUnavailableError, match=r"\.codex: the protection was removed"):
            session.sh("rm .codex; mkdir .codex; echo x > .codex/x", policy=kept)

    inside(work)

    assert os.readlink(place / "workspace" / ".codex") == "kept"


def test_a_stand_in_that_was_removed_outside_is_told_of(inside):
    def work(session):
        kept = session.policy(forbidden=[".codex"])
        session.sh("true", policy=kept)
        launch = session.backend.prepare(kept, session.command("true"))
        (session.workspace / ".codex").rmdir()
        with pytest.raises(SandboxUnavailableError, match=r"\.codex: the protection was removed"):
            launch.cleanup()
        return session.run("mkdir", ".codex/made", policy=kept).returncode

    assert inside(work) != 0, "the next command is protected again"


def test_denied_places_cannot_be_read(inside, place):
    def work(session):
        keys = session.workspace / "keys"
        keys.mkdir()
        (keys / "key").write_text("secret")
        (session.workspace / ".env").write_text("secret")
        policy = session.policy(deny_read=(str(keys), str(session.workspace / ".env")))
        return session.run("sh", "-c", "cat keys/key .env; ls keys; rm -r keys", policy=policy)

    done = inside(work)

    assert "secret" not in done.stdout
    assert done.returncode != 0
    assert (place / "workspace" / "keys" / "key").exists()


def test_other_folders_of_this_machine_are_not_there(inside, place):
    (place / "home" / "note").write_text("mine")

    assert "No such file" in inside(lambda session: session.sh(f"cat {place}/home/note"))


def test_readable_roots_and_mounts_can_be_read_only(inside, place):
    (place / "outside" / "note").write_text("mine")

    def work(session):
        policy = session.policy(readable_roots=(str(place / "outside"),))
        return session.sh(f"cat {place}/outside/note /opt/note; echo x > /opt/note", policy=policy)

    said = inside(work, mounts=[f"{place}/outside:/opt"])

    assert said.startswith("minemine")
    assert "Read-only file system" in said


def test_there_is_no_network_unless_the_policy_allows_it(inside):
    def work(session):
        count = "wc -l < /proc/net/dev"
        return session.sh(count), session.sh(count, policy=session.policy(network=True))

    without, with_it = inside(work)

    assert int(without) == 3, "two lines of heading and the loopback interface"
    assert int(with_it) >= int(without)


def test_sockets_of_services_in_the_workspace_are_out_of_reach(inside, place):
    path = place / "workspace" / "service"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen()
        said = inside(lambda session: session.sh("ls -l service; nc local:service < /dev/null"))
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not said.startswith("s")


def test_a_command_has_no_rights_to_raise(inside):
    said = inside(lambda session: session.sh("cat /proc/self/status"))

    facts = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
    assert {facts[name] for name in ("CapPrm", "CapEff", "CapBnd")} == {"0" * 16}
    assert facts["NoNewPrivs"] == "1"
    assert facts["Seccomp"] == "2"


def test_kernel_settings_cannot_be_written(inside):
    done = inside(lambda session: session.run("sh", "-c", "echo x > /proc/sys/kernel/core_pattern"))

    assert done.returncode != 0


@pytest.mark.parametrize("folder", ["/", "/home"])
def test_a_place_of_the_system_is_not_shared(inside, folder):
    def work(session):
        policy = session.policy()._replace(writable_roots=(), cwd=folder, mode="read-only")
        session.run("true", policy=policy, cwd=folder)

    with pytest.raises(SandboxUnavailableError, match="cannot be shared with a container"):
        inside(work)


def test_the_engine_is_never_shared(podman, inside):
    run = podman.environ["XDG_RUNTIME_DIR"]

    with pytest.raises(SandboxUnavailableError, match="the engine's socket"):
        inside(lambda session: session.run("true"), mounts=[f"{run}:/opt"])


def test_no_confinement_is_somebody_elses(inside):
    def work(session):
        session.run("true", policy=session.policy("danger-full-access")._replace(unconfined=True))

    with pytest.raises(PolicyUnenforceableError, match="use the sandbox backend 'none'"):
        inside(work)


def test_its_image_is_never_fetched(inside):
    found = inside(lambda session: session.backend.probe(), image="localhost/none:at-all")

    assert not found.available
    assert "podman pull localhost/none:at-all" in found.reason


def test_it_says_what_it_works_with(inside):
    found = inside(lambda session: session.backend.probe())

    assert found.available
    assert "rootless, image localhost/ferrule-test:busybox" in found.reason
    assert {"filesystem", "protected_paths", "missing_names", "network"} <= found.enforced


def test_what_runs_inside_is_no_device_of_this_machine(inside):
    said = inside(lambda session: session.sh("ls /dev"))

    assert not [name for name in said.split() if stat.S_ISBLK(_mode(f"/dev/{name}"))]


def _mode(path):
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0
