"""The steps of a release, in order. Nothing is uploaded or pushed here: that is done by hand."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import contract
from artifacts import build
from sbom import bill_of_materials
from signing import sign, write_sums
from tree import ReleaseError, Tree, run


@dataclass(frozen=True)
class Plan:
    """What is to be released.

    Attributes:
        version: The new version; all members get it.
        out: Where the files go.
        key: The private key to sign with; without one nothing is signed.
    """

    version: str
    out: Path
    key: Path | None


def check(tree: Tree, version: str) -> None:
    """Look for what would make the release wrong, before anything is changed.

    Raises:
        ReleaseError: Something is.
    """
    if changes := tree.git("status", "--porcelain"):
        raise ReleaseError(f"the checkout has changes; commit or remove them first:\n{changes}")
    if tree.git("tag", "--list", f"v{version}"):
        raise ReleaseError(f"the tag v{version} exists already")
    if not tree.fragments:
        raise ReleaseError("docs/changelog.d has no fragment: there is nothing to release")
    if fault := contract.version_fault(tree.root / "hookspecs", version):
        raise ReleaseError(fault)
    run("uv", "lock", "--check", "--quiet", cwd=tree.root)
    if tree.version == version and f"# Ferrule {version} " in _changelog(tree):
        raise ReleaseError(f"CHANGELOG.md has {version} already")


def make(tree: Tree, plan: Plan, say: Callable[[str], None]) -> None:
    """Commit and tag the version, then build, describe, sum up and sign it."""
    check(tree, plan.version)
    changed = [] if tree.version == plan.version else tree.bump(plan.version)
    say(f"version {plan.version} in {len(changed)} files")
    contract.move_on(tree.root / "hookspecs", plan.version)
    today = datetime.now(UTC).date().isoformat()
    fragments = len(tree.fragments)
    run(
        *("towncrier", "build", "--yes", "--version", plan.version, "--date", today),
        cwd=tree.root,
    )
    say(f"CHANGELOG.md from {fragments} fragments")
    tree.git("add", "--all")
    tree.git("commit", "--quiet", "--message", f"Release {plan.version}")
    tree.git("tag", "--annotate", f"v{plan.version}", "--message", f"Ferrule {plan.version}")
    say(f"commit {tree.git('rev-parse', '--short', 'HEAD')}, tag v{plan.version}")
    package(tree, plan, say)


def package(tree: Tree, plan: Plan, say: Callable[[str], None]) -> None:
    """Build the current commit into a folder, with bill of materials, checksums and signature."""
    if tree.version != plan.version:
        raise ReleaseError(f"the checkout is version {tree.version}, not {plan.version}")
    files = build(tree, plan.out)
    say(f"{len(files)} files built in {plan.out}")
    bill = plan.out / f"ferrule-{plan.version}.cdx.json"
    bill.write_text(json.dumps(bill_of_materials(tree, files), indent=2) + "\n", "utf-8")
    sums = write_sums(plan.out, [*files, bill])
    say(f"{bill.name} and {sums.name} written")
    if plan.key is not None:
        say(f"{sign(sums, plan.key).name} written")


def rehearse(tree: Tree, plan: Plan, say: Callable[[str], None]) -> None:
    """Do all of it in a clone that is thrown away afterwards, except for the files built."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Tree(Path(folder) / "clone")
        run("git", "clone", "--quiet", tree.root, clone.root, cwd=tree.root)
        for setting, field in (("user.name", "%an"), ("user.email", "%ae")):
            clone.git("config", setting, tree.git("log", "-1", f"--format={field}"))
        make(clone, plan, say)


def _changelog(tree: Tree) -> str:
    file = tree.root / "CHANGELOG.md"
    return file.read_text("utf-8") if file.is_file() else ""
