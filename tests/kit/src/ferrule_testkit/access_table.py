"""Policies, a tree of files and every operation on each of them, to compare verdicts over.

What the evaluator says about each case must be what a backend does: `tests/test_golden.py` of every
backend runs `PROBE` in the sandbox and compares.
"""

from __future__ import annotations

import json
import os
import random
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.evaluator import canonical, decide, decide_canonical, is_inside
from ferrule_hookspecs.sandbox import ResolvedPolicy, WritableRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ferrule_hookspecs.evaluator import Operation

ODD_NAMES: Final = (
    *("two words", 'quo"te', "apo'strophe", "back\\slash", "par)en(", "line\nbreak", "ünï-çødé"),
    *(
        "dollar$(x)",
        "star*",
        "brack[et]",
        "semi;colon",
        "caret^",
        "plus+",
        "pipe|",
        "{curly}",
        "#hash",
    ),
    *("percent%41", "-dash", "dot.", 'end\\"', "日本語", "tab\there"),
)
"""Names that would break out of a profile or a pattern which pastes them."""

_FOLDERS: Final = (
    *("workspace/.git/hooks", "workspace/.git/objects", "workspace/sub/deep", "workspace/empty"),
    *("workspace/nested/.git/hooks", "workspace/nested/inner", "workspace/secret", "workspace-2"),
    *("outside/extra/kept", "outside/bare", "home/keys", "workspace/.ferrule"),
)
_FILES: Final = (
    *("workspace/file", "workspace/.git/config", "workspace/.git/index", "workspace/sub/deep/file"),
    *("workspace/.git/hooks/pre-commit", "workspace/.ferrule/config.toml", "workspace/secret/key"),
    *("workspace/nested/.git/config", "workspace/nested/inner/file", "workspace/sub/.env"),
    *("workspace/nested/.git/hooks/post", "outside/file", "outside/extra/file", "home/keys/key"),
    *("outside/extra/kept/file", "home/token", "home/plain", "workspace-2/file"),
)
_LINKS: Final = {
    "workspace/to-outside": "../outside",
    "workspace/to-file": "../outside/file",
    "workspace/to-missing": "../outside/not-there",
    "workspace/to-key": "../home/keys/key",
    "workspace/to-hooks": ".git/hooks",
    "workspace/to-sub": "sub",
    "workspace/up": "..",
    "outside/into-file": "../workspace/file",
    "outside/into-hooks": "../workspace/.git/hooks",
}
_MISSING: Final = (
    *("workspace/new", "workspace/.vscode", "workspace/.git/new"),
    *("workspace/.git/hooks/new", "workspace/.git/config.worktree", "workspace/sub/new"),
    *("workspace/to-outside/new", "workspace/to-sub/new", "workspace/up/new", "workspace-2/new"),
    *("workspace/to-hooks/new", "workspace/nested/new", "workspace/nested/.git/hooks/new"),
    *("workspace/nested/inner/new", "workspace/sub/../../outside/new", "workspace/.codex-like"),
    *("outside/new", "outside/extra/new", "outside/extra/kept/new", "home/keys/new", "new"),
    *("workspace/secret/new", "workspace/.VSCODE-like", "outside/into-hooks/new"),
)


class Case(NamedTuple):
    """One operation on one path."""

    operation: Operation
    path: str


class Table(NamedTuple):
    """A policy over the tree, and its name."""

    name: str
    policy: ResolvedPolicy


def make_tree(place: Path) -> None:
    """Fill a place made by `make_place` with files, folders and links that all may change."""
    for name in (*_FOLDERS, *(f"workspace/{odd}" for odd in ODD_NAMES)):
        (place / name).mkdir(parents=True, exist_ok=True)
    for name in (*_FILES, *(f"workspace/{odd}/file" for odd in ODD_NAMES)):
        (place / name).write_text("content")
    for name, target in _LINKS.items():
        (place / name).symlink_to(target)
    for folder, _, files in os.walk(place):
        os.chmod(folder, 0o777)  # so that only the sandbox refuses
        for name in files:
            if not os.path.islink(f"{folder}/{name}"):
                os.chmod(f"{folder}/{name}", 0o666)


def cases(place: Path) -> list[Case]:
    """Every operation that makes sense on everything in the tree, and on missing names."""
    missing = [*_MISSING, *(f"workspace/{odd}/new" for odd in ODD_NAMES)]
    found = [Case(operation, f"{place}/{name}") for name in missing for operation in _OF_MISSING]
    for name in ("workspace", "outside", "workspace-2"):
        found += _cases_of(f"{place}/{name}", is_folder=True)
    for top in ("workspace", "outside", "home", "workspace-2"):
        for folder, folders, files in os.walk(place / top):
            for name in folders:
                found += _cases_of(f"{folder}/{name}", is_folder=True)
            for name in files:
                found += _cases_of(f"{folder}/{name}", is_folder=False)
    return found


_OF_MISSING: Final[tuple[Operation, ...]] = ("write", "create")


def _cases_of(path: str, *, is_folder: bool) -> list[Case]:
    operations: tuple[Operation, ...] = ("rename", "remove")
    if not is_folder:
        operations = ("write", *operations)
        if os.path.exists(path):
            operations = ("read", *operations)
    return [Case(operation, path) for operation in operations]


def tables(place: Path) -> list[Table]:
    """Policies as the resolver makes them, and some that it does not make yet."""
    at = _At(place)
    git = ("workspace/.git/hooks", "workspace/.git/config", "workspace/.ferrule")
    plain = at.root("workspace")
    whole = at.root("workspace", git, ("workspace/.vscode",), ("workspace/.git",))
    return [
        Table("read-only", at.policy(mode="read-only")),
        Table("read-only-network", at.policy(mode="read-only", network=True)),
        Table("read-only-deny", at.policy(mode="read-only", deny=("home/keys", "home/token"))),
        Table("plain", at.policy(plain)),
        Table("network", at.policy(plain, network=True)),
        Table("protected", at.policy(at.root("workspace", git))),
        Table("pinned", at.policy(at.root("workspace", git, pinned=("workspace/.git",)))),
        Table("forbidden", at.policy(at.root("workspace", (), _FORBIDDEN))),
        Table("whole", at.policy(whole, deny=("home/keys", "home/token"))),
        Table("deny-file", at.policy(plain, deny=("home/token", "home/keys/key"))),
        Table("deny-inside", at.policy(whole, deny=("workspace/secret", "workspace/sub/.env"))),
        Table("two-roots", at.policy(whole, at.root("outside/extra", ("outside/extra/kept",)))),
        Table("nested-roots", at.policy(whole, _nested(at))),
        Table("nested-in-protected", at.policy(*_opened(at))),
        Table("pin-in-protected", at.policy(_pin_in_protected(at))),
        Table("outside-root", at.policy(at.root("outside"))),
        Table("sibling-names", at.policy(at.root("workspace-2"))),
        Table("odd-protected", at.policy(_odd(at))),
        Table("odd-roots", at.policy(*(at.root(f"workspace/{odd}") for odd in ODD_NAMES))),
        Table("odd-deny", at.policy(mode="read-only", deny=[f"workspace/{n}" for n in ODD_NAMES])),
        Table("odd-missing", at.policy(_odd_missing(at))),
        Table("protected-link", at.policy(_link(at))),
    ]


def readable_tables(place: Path) -> list[Table]:
    """Policies that name the only readable folders, for backends that hold to them."""
    at = _At(place)
    git = ("workspace/.git/hooks", "workspace/.git/config", "workspace/.ferrule")
    whole = at.root("workspace", git, ("workspace/.vscode",), ("workspace/.git",))
    roots: dict[str, tuple[ResolvedPolicy, tuple[str, ...]]] = {
        "nothing": (at.policy(mode="read-only"), ()),
        "workspace": (at.policy(mode="read-only"), ("workspace",)),
        "part": (at.policy(mode="read-only"), ("workspace/sub", "outside/extra/kept")),
        "file": (at.policy(mode="read-only"), ("workspace/file", "home/token")),
        "elsewhere": (at.policy(mode="read-only"), ("outside", "workspace-2")),
        "nested": (at.policy(mode="read-only"), ("outside", "outside/extra/kept")),
        "denied": (at.policy(mode="read-only", deny=_DENIED), ("workspace", "home")),
        "odd": (at.policy(mode="read-only"), tuple(f"workspace/{odd}" for odd in ODD_NAMES)),
        "written": (at.policy(whole), ()),
        "beside": (at.policy(whole), ("outside",)),
        "around": (at.policy(at.root("outside/extra")), ("outside", "workspace")),
        "in-written": (at.policy(at.root("outside")), ("outside/extra", "workspace")),
        "network": (at.policy(at.root("workspace"), network=True), ("home/keys",)),
    }
    return [
        Table(
            f"readable-{name}",
            policy._replace(readable_roots=tuple(f"{place}/{root}" for root in readable)),
        )
        for name, (policy, readable) in roots.items()
    ]


def leads_through_hidden(policy: ResolvedPolicy, case: Case) -> bool:
    """Whether a link on the way is out of sight, so that where it leads is out of reach, too."""
    parts = case.path.split("/")
    ways = ("/".join(parts[:end]) for end in range(2, len(parts) + 1))
    return any(
        os.path.islink(way)
        and decide_canonical(policy, "read", canonical(way, "rename")) is not None
        for way in ways
    )


_DENIED: Final = ("home/keys", "home/token")
_FORBIDDEN: Final = ("workspace/.vscode", "workspace/.git/config.worktree", "workspace/empty")


class _At:
    """Builds policies of names in a place."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def root(
        self,
        name: str,
        read_only: Sequence[str] = (),
        forbidden: Sequence[str] = (),
        pinned: Sequence[str] = (),
    ) -> WritableRoot:
        kept, missing, held = (self._all(names) for names in (read_only, forbidden, pinned))
        return WritableRoot(f"{self._place}/{name}", kept, missing, held)

    def policy(
        self,
        *roots: WritableRoot,
        mode: str = "workspace-write",
        deny: Sequence[str] = (),
        network: bool = False,
    ) -> ResolvedPolicy:
        return ResolvedPolicy(
            mode,  # pyright: ignore[reportArgumentType] -- one of the two that confine
            f"{self._place}/workspace",
            tuple(sorted(roots)),
            self._all(deny),
            network,
        )

    def _all(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"{self._place}/{name}" for name in names)


def _nested(at: _At) -> WritableRoot:
    kept = ("workspace/nested/.git/hooks", "workspace/nested/.git/config")
    return at.root("workspace/nested", kept, (), ("workspace/nested/.git",))


def _opened(at: _At) -> Iterator[WritableRoot]:
    """A root inside of what an outer one protects: the outer one wins."""
    yield at.root("workspace", ("workspace/nested",))
    yield at.root("workspace/nested/inner")


def _pin_in_protected(at: _At) -> WritableRoot:
    """A pinned folder inside of a protected one stays protected."""
    return at.root("workspace", ("workspace/nested",), (), ("workspace/nested/inner",))


def _odd(at: _At) -> WritableRoot:
    return at.root("workspace", [f"workspace/{odd}" for odd in ODD_NAMES])


def _odd_missing(at: _At) -> WritableRoot:
    return at.root("workspace", (), [f"workspace/{odd}/new" for odd in ODD_NAMES])


def _link(at: _At) -> WritableRoot:
    return at.root("workspace", ("workspace/to-hooks", "workspace/.git/hooks"))


def random_tables(place: Path, count: int, seed: int) -> Iterator[Table]:
    """Policies that nobody thought of, over the same tree."""
    draw = random.Random(seed)
    folders = [f"{place}/{name}" for name in ("workspace", *_FOLDERS)]
    files = [f"{place}/{name}" for name in _FILES]
    missing = [
        path for name in _MISSING if os.path.isdir((path := f"{place}/{name}").rpartition("/")[0])
    ]
    missing = [path for path in missing if os.path.realpath(path) == path]
    for number in range(count):
        roots = [
            _random_root(draw, root, folders + files, missing, folders)
            for root in sorted(draw.sample(folders, draw.randint(1, 3)))
        ]
        deny = draw.sample([*folders[1:], *files], draw.randint(0, 2))
        policy = ResolvedPolicy("workspace-write", f"{place}/workspace", tuple(roots), tuple(deny))
        yield Table(f"random-{seed}-{number}", policy)


def _random_root(
    draw: random.Random, root: str, existing: list[str], missing: list[str], folders: list[str]
) -> WritableRoot:
    def some(paths: list[str]) -> tuple[str, ...]:
        inside = [path for path in paths if is_inside(path, root) and path != root]
        return tuple(sorted(draw.sample(inside, min(len(inside), draw.randint(0, 3)))))

    kept = some(existing)
    pinned = tuple(path for path in some(folders) if path not in kept)
    return WritableRoot(root, kept, some(missing), pinned)


PROBE: Final = r"""
import json, os, sys
DENIED = {1: "EPERM", 13: "EACCES", 16: "EBUSY", 30: "EROFS"}
DENIED |= {17: "EEXIST", 20: "ENOTDIR", 21: "EISDIR"}  # what stands in for a missing name
DENIED[2] = "ENOENT"  # what is out of sight
def read(path):
    os.close(os.open(path, os.O_RDONLY))
def write(path):
    new = not os.path.exists(path)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666))
    if new:
        os.unlink(os.path.realpath(path))
def create(path):
    os.mkdir(path)
    os.rmdir(path)
    os.symlink("x", path)
    os.unlink(path)
def rename(path):
    os.rename(path, path + ".moved")
    os.rename(path + ".moved", path)
def remove(path):
    if os.path.islink(path):
        target = os.readlink(path)
        os.unlink(path)
        os.symlink(target, path)
    elif os.path.isdir(path):
        try:
            os.rmdir(path)
        except OSError as error:
            if error.errno != 39:
                raise
        else:
            os.mkdir(path)
            os.chmod(path, 0o777)
    else:
        os.unlink(path)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666))
        os.chmod(path, 0o666)
os.umask(0)
out = []
for operation, path in json.loads(sys.argv[1]):
    try:
        globals()[operation](path)
        out.append("")
    except OSError as error:
        out.append(DENIED.get(error.errno) or f"error {error.errno}")
print(json.dumps(out))
"""
"""A program for the sandbox: tries the cases in its argument, undoes each, prints the errors."""


def compare(
    policy: ResolvedPolicy, tried: Sequence[Case], run: Callable[[str, str], str]
) -> list[str]:
    """Try cases in a sandbox; returns each that ended otherwise than the evaluator says.

    Args:
        policy: What the sandbox enforces.
        tried: The cases.
        run: Runs the program of its first argument with the second as argument there; returns what
            it prints.
    """
    printed = run(PROBE, json.dumps(tried))
    ended = cast("list[str]", json.loads(printed))
    return [
        f"{case.operation} {case.path}: the evaluator says {denial and denial.reason},"
        f" the sandbox {error or 'allows it'}"
        for case, error in zip(tried, ended, strict=True)
        for denial in [decide(policy, case.operation, case.path)]
        if error.startswith("error")
        or (denial is None) != (not error)
        or (error == "ENOENT" and policy.readable_roots is None)
    ]
