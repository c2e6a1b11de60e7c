"""What holds of every permission profile, tried on random ones.

The resolver and the evaluator are asked together, as file tools ask them: each operation on each
path of a small tree that has links, a repository and missing names.
"""

import random
from itertools import product
from typing import get_args

import pytest

from ferrule.policy import mode_to_policy, resolve_policy
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.evaluator import Operation, decide

ACCESS = ("read", "write", "none")
OPERATIONS = [each for each in get_args(Operation) if not each.startswith("connect")]
BELOW = (".", "src", "src/deep", "docs", "docs/a.md", "secrets", "secrets/x.env", "gone", "link")
PATTERNS = ("**/*.env", "*.md", "src/*", "**/deep", "d*", "**/x*")
IGNORED = ("*.env", "src/", "!x.env", "/docs", "deep", "*", "!*", "!.agentignore", "a.md", "link")
SEEDS = range(60)


@pytest.fixture
def tree(secluded_path):
    workspace = secluded_path / "ws"
    for name in ("src/deep", "docs", "secrets", ".git/objects", ".git/refs"):
        (workspace / name).mkdir(parents=True)
    for name in ("src/main.c", "src/deep/y.env", "docs/a.md", "secrets/x.env", ".git/HEAD"):
        (workspace / name).write_text("x")
    (secluded_path / "out").mkdir()
    (secluded_path / "out/file").write_text("x")
    (secluded_path / "home/.ssh").mkdir(parents=True)
    (workspace / "link").symlink_to(secluded_path / "out")
    return secluded_path


def random_files(dice, tree):
    """Make up the table `filesystem` of a profile."""
    files = {}
    for place in (":root", ":minimal", str(tree), str(tree / "out"), "~"):
        if dice.random() < 0.4:
            files[place] = dice.choice(ACCESS if place != ":minimal" else ("read",))
    below = {name: dice.choice(ACCESS) for name in BELOW if dice.random() < 0.35}
    below |= {pattern: "none" for pattern in PATTERNS if dice.random() < 0.15}
    return {**files, ":project_roots": below}


def resolve(files, tree, **config):
    values = {"permissions": {"p": {"filesystem": files}}, "default_permissions": "p"}
    environ = {"HOME": str(tree / "home")}
    return resolve_policy(
        mode_to_policy(values, None),
        str(tree / "ws"),
        environ=environ,
        home=tree / "home/.ferrule",
        config=config,
    )


def paths(tree):
    found = [tree, *tree.rglob("*"), tree / "ws/gone", tree / "ws/src/new", tree / "out/new"]
    return [*map(str, found), "/etc/hostname", str(tree / "ws/.vscode/tasks.json")]


def allowed(policy, tree):
    return {
        (operation, path)
        for operation, path in product(OPERATIONS, paths(tree))
        if decide(policy, operation, path) is None
    }


def resolved(files, tree, **config):
    """What a profile allows; nothing where it is refused as a whole."""
    try:
        return allowed(resolve(files, tree, **config), tree)
    except ConfigError:
        return set()


@pytest.mark.parametrize("seed", SEEDS)
def test_one_more_denial_never_widens(tree, seed):
    dice = random.Random(seed)
    files = random_files(dice, tree)
    before = resolved(files, tree)
    if not before:
        return  # refused: another entry may make it one that can be enforced
    more = dice.choice([*BELOW, *PATTERNS])
    denied = {**files, ":project_roots": {**files[":project_roots"], more: "none"}}
    assert resolved(denied, tree) <= before
    place = dice.choice([":root", str(tree), str(tree / "out"), str(tree / "ws/src")])
    assert resolved({**files, place: "none"}, tree) <= before
    assert resolved(files, tree, sandbox_deny_read=[more, str(tree / "out")]) <= before


@pytest.mark.parametrize("seed", SEEDS)
def test_files_of_a_project_never_widen(tree, seed):
    dice = random.Random(seed)
    files = random_files(dice, tree)
    before = resolved(files, tree)
    for folder in dice.sample(["ws", "ws/src", "ws/src/deep", "ws/docs"], 2):
        lines = [dice.choice(IGNORED) for _ in range(dice.randint(1, 3))]
        (tree / folder / ".agentignore").write_text("\n".join(lines) + "\n")
    after = resolved(files, tree)
    assert {each for each in after if ".agentignore" not in each[1]} <= before


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_denied_can_neither_be_read_nor_changed(tree, seed):
    dice = random.Random(seed)
    files = random_files(dice, tree)
    files[":project_roots"] |= {"secrets": "none", "**/*.env": "none"}
    files[":project_roots"].pop("secrets/x.env", None)
    for _, path in resolved(files, tree):
        assert "/secrets" not in path
        assert not path.endswith(".env")


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_can_be_written_that_cannot_be_read(tree, seed):
    after = resolved(random_files(random.Random(seed), tree), tree)
    assert {path for kind, path in after if kind == "write"} <= {
        path for kind, path in after if kind == "read"
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_what_runs_later_stays_protected(tree, seed):
    after = resolved(random_files(random.Random(seed), tree), tree)
    changed = {path for kind, path in after if kind != "read"}
    assert not {path for path in changed if "/.git/hooks" in path or "/.vscode" in path}
    assert str(tree / "ws/.git") not in {path for kind, path in after if kind == "rename"}
