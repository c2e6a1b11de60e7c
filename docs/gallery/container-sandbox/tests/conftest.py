"""A rootless podman, with an image that holds nothing but busybox."""

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

IMAGE = "localhost/gallery-box:busybox"
BUSYBOX = Path("/bin/busybox")
NOBODY = 65534


@pytest.fixture(scope="session")
def engine():
    """Settings of the backend; skips where there is no engine, and says why.

    As root, podman is called through a script that gives root up: rootless is how it is used.
    """
    if shutil.which("podman") is None:
        pytest.skip("needs podman, as in `apt install podman`")
    if not is_static(BUSYBOX):
        pytest.skip("needs a busybox that is linked statically, as in `apt install busybox-static`")
    base = Path(tempfile.mkdtemp(prefix="gallery-podman-", dir="/var/tmp"))
    base.chmod(0o755)
    for name in ("user", "run"):
        (base / name).mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(base / name, NOBODY, NOBODY)
    program = write_program(base)
    try:
        load_image(program, base)
        yield {"engine": str(program), "image": IMAGE}
    finally:
        call(program, "rmi", "--all", "--force")
        call(program, "unshare", "rm", "-rf", base / "user" / ".local")
        call(program, "system", "migrate")  # ends the process that keeps its user namespace
        shutil.rmtree(base, ignore_errors=True)


def is_static(program):
    if not program.exists():
        return False
    return subprocess.run(["ldd", program], capture_output=True).returncode != 0


def write_program(base):
    words = ["env", f"HOME={base}/user", f"XDG_RUNTIME_DIR={base}/run", "podman"]
    words += ["--runtime=runc"] if shutil.which("runc") else []
    if os.geteuid() == 0:
        words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words]
    program = base / "podman"
    program.write_text(f'#!/bin/sh\nPATH="{os.environ["PATH"]}"\nexec {" ".join(words)} "$@"\n')
    program.chmod(0o755)
    return program


def call(program, *words):
    command = [str(word) for word in (program, *words)]
    return subprocess.run(
        command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def load_image(program, base):
    names = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True)
    archive = base / "image.tar"
    with tarfile.open(archive, "w") as tar:
        for folder in ("bin", "tmp"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        tar.add(BUSYBOX, "bin/busybox", filter=as_root)
        for name in set(names.stdout.split()) - {"busybox"}:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    archive.chmod(0o644)
    for words in (
        ["import", archive, IMAGE],
        ["run", "--rm", "--network=none", IMAGE, "/bin/true"],
    ):
        done = call(program, *words)
        if done.returncode != 0:
            pytest.skip(f"podman runs no container here: {done.stderr.strip()[-500:]}")


def as_root(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


@pytest.fixture
def place():
    """A folder that everybody may enter; those of pytest are for one user."""
    base = Path(tempfile.mkdtemp(prefix="gallery-box-", dir="/var/tmp"))
    base.chmod(0o777)
    yield base
    shutil.rmtree(base, ignore_errors=True)
