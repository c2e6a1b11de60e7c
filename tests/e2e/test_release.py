"""A release is whole, the same every time it is built, and vouched for; see docs/release.md.

Everything is done in a clone with a throw-away key.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not shutil.which("uv"), reason="uv is not installed"),
    pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="OpenSSH is not installed"),
]
VALIDATE = """\
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
problem = JsonStrictValidator(SchemaVersion.V1_5).validate_str(sys.stdin.read())
sys.exit(str(problem) if problem else 0)
"""


@dataclass
class Checkout:
    """A clone that may be changed, and the release tool working on it."""

    root: Path
    environ: dict

    def release(self, *arguments):
        return subprocess.run(
            [sys.executable, ROOT / ".ci/release", "--root", self.root, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=self.root,
            env=self.environ,
            check=False,
        )

    def git(self, *arguments):
        command = ["git", *map(str, arguments)]
        done = subprocess.run(
            command, cwd=self.root, env=self.environ, capture_output=True, text=True, check=True
        )
        return done.stdout


@pytest.fixture
def checkout(tmp_path):
    environ = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
    }
    (tmp_path / "gitconfig").write_text("[user]\nname = Tester\nemail = tester@example.com\n")
    clone = Checkout(tmp_path / "clone", environ)
    subprocess.run(["git", "clone", "-q", ROOT, clone.root], env=environ, check=True)
    return clone


@pytest.fixture
def key(tmp_path):
    """A private key; the public one is beside it."""
    file = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)
    return file


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_release_is_committed_tagged_built_and_signed(checkout, key, tmp_path):
    out = tmp_path / "out"

    made = checkout.release("make", "7.8.9", "-o", out, "--key", key)

    assert made.returncode == 0, made.stderr
    assert checkout.git("status", "--porcelain") == ""
    assert checkout.git("tag", "--points-at", "HEAD") == "v7.8.9\n"
    assert (checkout.root / "CHANGELOG.md").read_text().count("# Ferrule 7.8.9 (") == 1
    assert list((checkout.root / "docs/changelog.d").glob("*.md")) == []
    released = json.loads((checkout.root / "hookspecs/released_api.json").read_text())
    assert released.pop("version") == "7.8.9"
    assert released == json.loads((checkout.root / "hookspecs/api.json").read_text())
    left = ["git", "grep", "-l", "-F", '"0.1.0"', "--", "*/src/*.py", ":!tests/e2e/packages"]
    found = subprocess.run(left, cwd=checkout.root, capture_output=True, text=True)
    assert found.stdout == "", "the version stands in code that bump does not know"
    for file in checkout.git("ls-files", "*pyproject.toml").splitlines():
        assert "0.1.0" not in (checkout.root / file).read_text() or "e2e/packages" in file
    checked = checkout.release("verify", out, "--key", f"{key}.pub")
    assert checked.returncode == 0, checked.stderr
    assert f"{len(list(out.iterdir())) - 2} files" in checked.stdout


def test_the_documented_commands_check_the_signature_too(checkout, key, tmp_path):
    out = tmp_path / "out"
    checkout.release("build", "-o", out, "--key", key)
    signer = f'ferrule namespaces="ferrule-release" {Path(f"{key}.pub").read_text()}'
    (tmp_path / "allowed_signers").write_text(signer)

    script = (
        f"ssh-keygen -Y verify -f {tmp_path}/allowed_signers -I ferrule -n ferrule-release"
        " -s SHA256SUMS.sig < SHA256SUMS && sha256sum --check --quiet SHA256SUMS"
    )
    done = subprocess.run(["sh", "-c", script], cwd=out, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def test_two_builds_are_the_same_byte_for_byte(checkout, tmp_path):
    stray = checkout.root / "plugins/plan/src/ferrule_plan/notes.pyc"
    first = checkout.release("build", "-o", tmp_path / "one")
    stray.write_text("left behind")
    again = checkout.git("clone", "-q", checkout.root, tmp_path / "elsewhere")
    assert again == ""
    second = checkout.release("build", "-o", tmp_path / "two")
    elsewhere = Checkout(tmp_path / "elsewhere", checkout.environ | {"TZ": "Asia/Tokyo"})
    third = elsewhere.release("build", "-o", tmp_path / "three")

    for done in (first, second, third):
        assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "one") == contents(tmp_path / "two") == contents(tmp_path / "three")


def test_a_dry_run_changes_nothing_but_shows_all(checkout, tmp_path):
    before = checkout.git("rev-parse", "HEAD")

    done = checkout.release("make", "7.8.9", "--dry-run", "-o", tmp_path / "out")

    assert done.returncode == 0, done.stderr
    assert "dry run" in done.stdout
    assert (tmp_path / "out/ferrule-7.8.9.tar.gz").is_file()
    assert checkout.git("rev-parse", "HEAD") == before
    assert checkout.git("tag", "--list") == ""
    assert checkout.git("status", "--porcelain") == ""


def test_the_bill_of_materials_is_valid_and_names_every_file(checkout, tmp_path):
    out = tmp_path / "out"
    checkout.release("build", "-o", out)
    (bill,) = out.glob("*.cdx.json")

    library = "cyclonedx-python-lib[json-validation]>=11,<12"
    checked = subprocess.run(
        ["uv", "run", "-q", "--no-project", "--with", library, "python", "-c", VALIDATE],
        input=bill.read_text(),
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )

    assert checked.returncode == 0, checked.stderr
    facts = json.loads(bill.read_text())
    components = [facts["metadata"]["component"], *facts["components"]]
    named = {ref["url"] for each in components for ref in each.get("externalReferences", ())}
    assert {path.name for path in out.iterdir()} - named == {bill.name, "SHA256SUMS"}
    assert {"anyio", "pluggy", "httpx", "ferrule-local"} <= {each["name"] for each in components}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda out: (out / "SHA256SUMS").write_text("0" * 64 + "  x\n"), "does not hold"),
        (lambda out: next(out.glob("*.whl")).write_bytes(b"evil"), "is not the file"),
        (lambda out: next(out.glob("*.whl")).unlink(), "is missing"),
        (lambda out: (out / "more.whl").write_bytes(b""), "not covered"),
        (lambda out: (out / "SHA256SUMS.sig").unlink(), "not both"),
    ],
    ids=["sums", "file", "gone", "added", "unsigned"],
)
def test_what_was_changed_after_signing_is_found(checkout, key, tmp_path, change, told):
    out = tmp_path / "out"
    assert checkout.release("build", "-o", out, "--key", key).returncode == 0
    change(out)

    checked = checkout.release("verify", out, "--key", f"{key}.pub")

    assert checked.returncode == 1
    assert told in checked.stderr


def test_another_key_vouches_for_nothing(checkout, key, tmp_path):
    checkout.release("build", "-o", tmp_path / "out", "--key", key)
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)

    checked = checkout.release("verify", tmp_path / "out", "--key", f"{other}.pub")

    assert checked.returncode == 1
    assert "does not hold" in checked.stderr


@pytest.mark.parametrize(
    ("spoil", "version", "told"),
    [
        (lambda c: (c.root / "README.md").write_text("new"), "7.8.9", "has changes"),
        (lambda c: c.git("tag", "v7.8.9"), "7.8.9", "exists already"),
        (lambda c: None, "0.0.1", "not newer"),
        (lambda c: None, "seven", "not a version"),
        (
            lambda c: [c.git("rm", "-q", "docs/changelog.d/*.md"), c.git("commit", "-qm", "x")],
            "7.8.9",
            "nothing to release",
        ),
    ],
    ids=["dirty", "tag", "older", "malformed", "no-news"],
)
def test_what_would_make_a_wrong_release_stops_it(checkout, tmp_path, spoil, version, told):
    spoil(checkout)

    done = checkout.release("make", version, "-o", tmp_path / "out")

    assert done.returncode == 1
    assert told in done.stderr
    assert not (tmp_path / "out").exists()


def test_no_private_key_is_in_the_repository():
    listed = subprocess.run(
        ["git", "grep", "-l", "-E", "BEGIN (OPENSSH|RSA|EC|PGP) PRIVATE KEY"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert listed.stdout.replace("tests/e2e/test_release.py\n", "") == ""
