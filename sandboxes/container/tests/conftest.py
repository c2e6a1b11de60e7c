"""A rootless podman of an ordinary user, with an image that holds nothing but busybox."""

import asyncio
import os
import pwd
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import anyio
import pytest

# What a process that has given root up may not be able to import any more.
import ferrule_confinement.denials
import ferrule_sandbox_container.backend
from ferrule_hookspecs.plugins import PluginContext
from ferrule_testkit.confinement import NOBODY, as_user, complete, make_place, make_policy

IMAGE = "localhost/ferrule-test:busybox"
BUSYBOX = Path("/bin/busybox")
_USED = (pwd, ferrule_confinement.denials)
_GIVEN_UP = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


class Podman:
    """Podman as an ordinary user has it."""

    def __init__(self, base):
        self.base = base
        self.runtime = "runc" if shutil.which("runc") else ""
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(base / "user"),
            "XDG_RUNTIME_DIR": str(base / "run"),
        }

    def __call__(self, *arguments):
        general = ["--runtime", self.runtime] if self.runtime else []
        return subprocess.run(
            ["podman", *general, *map(str, arguments)],
            **_GIVEN_UP,
            env=self.environ,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def containers(self):
        """The names of all containers, running or not."""
        return self("ps", "--all", "--format", "{{.Names}}").stdout.split()


@pytest.fixture(scope="session")
def podman():
    """Podman with the image; skips where that cannot be had, and says why."""
    if shutil.which("podman") is None:
        pytest.skip("needs podman, as in `apt install podman`")
    if (
        not BUSYBOX.exists()
        or subprocess.run(["ldd", BUSYBOX], capture_output=True).returncode == 0
    ):
        pytest.skip("needs a busybox that is linked statically, as in `apt install busybox-static`")
    anyio.run(asyncio.to_thread, int)  # has imported by now what a process of a user may not find
    base = Path(tempfile.mkdtemp(prefix="ferrule-podman-"))
    base.chmod(0o755)
    for name in ("user", "run"):
        (base / name).mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(base / name, NOBODY, NOBODY)
    podman = Podman(base)
    try:
        _import_image(podman)
        tried = podman("run", "--rm", "--network=none", IMAGE, "/bin/true")
        if tried.returncode != 0:
            pytest.skip(f"podman runs no container here: {tried.stderr.strip()[-500:]}")
        yield podman
    finally:
        podman("rmi", "--all", "--force")
        podman("unshare", "rm", "-rf", base / "user" / ".local")
        podman("system", "migrate")  # ends the process that keeps its user namespace
        shutil.rmtree(base, ignore_errors=True)


def _import_image(podman):
    archive = podman.base / "image.tar"
    names = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True)
    with tarfile.open(archive, "w") as tar:
        for folder in ("bin", "tmp", "etc", "opt"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        tar.add(BUSYBOX, "bin/busybox", filter=_as_root)
        for name in names.stdout.split():
            if name != "busybox":
                link = tarfile.TarInfo(f"bin/{name}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(link)
    archive.chmod(0o644)
    done = podman("import", "--change", "ENV PATH=/bin", archive, IMAGE)
    if done.returncode != 0:
        pytest.skip(f"podman imports no image here: {done.stderr.strip()[-500:]}")


def _as_root(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


@pytest.fixture
def place():
    """A folder every user may enter, with a workspace in it; pytest's own are for one user."""
    base = Path(tempfile.mkdtemp(prefix="ferrule-container-"))
    yield make_place(base)
    shutil.rmtree(base, ignore_errors=True)


class Session:
    """A backend, and what a test asks of it; lives in a process without root's rights."""

    def __init__(self, podman, place, settings):
        table = {"image": IMAGE, "runtime": podman.runtime, "network": "host", **settings}
        self.place = place
        self.workspace = place / "workspace"
        self.backend = ferrule_sandbox_container.backend.ContainerBackend(
            PluginContext(
                place / "home",
                {"sandboxes": {"container": table}},
                str(self.workspace),
                environ=podman.environ,
            )
        )

    def policy(self, mode="workspace-write", **options):
        return make_policy(self.workspace, mode, **options)

    def command(self, *argv, env=None, cwd=None):
        from ferrule_hookspecs.sandbox import Command

        return Command(argv, str(cwd or self.workspace), {"PATH": "/bin"} if env is None else env)

    def run(self, *argv, policy=None, **options):
        """Run a command to its end."""
        return complete(self.backend, policy or self.policy(), self.command(*argv, **options))

    def sh(self, script, **options):
        """Run a script; returns what it says."""
        return self.run("sh", "-c", script, **options).stdout


@pytest.fixture
def inside(podman, place):
    """Runs a function with a session, as an ordinary user; brings back what it returns."""

    def inside(function, **settings):
        def work():
            session = Session(podman, place, settings)
            try:
                return function(session)
            finally:
                session.backend.close()

        return as_user(work) if os.geteuid() == 0 else work()

    return inside
