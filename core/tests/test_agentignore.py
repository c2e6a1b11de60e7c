"""`.agentignore`: what a project keeps from commands and file tools, in the words of git."""

import os
import random
import shutil
import subprocess

import pytest

from ferrule.ignore_patterns import matches, parse_patterns
from ferrule.permissions import widened
from ferrule.policy import resolve_policy
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.evaluator import decide
from ferrule_hookspecs.permissions import AdditionalPermissions


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "ws"
    for name in ("src/deep/er/and", "secrets", "logs"):
        (folder / name).mkdir(parents=True)
    for name in ("a.env", "src/b.env", "src/main.c", "src/deep/c.env", "secrets/x", "logs/y.log"):
        (folder / name).write_text("x")
    return folder


@pytest.fixture
def resolve(tmp_path, workspace):
    def resolve(cwd=workspace, kind="workspaceWrite", **parts):
        return resolve_policy(
            {"type": kind, **parts},
            str(cwd),
            environ={"HOME": str(tmp_path / "home")},
            home=tmp_path / "home/.ferrule",
        )

    return resolve


def readable(policy, path):
    return decide(policy, "read", str(path)) is None


def writable(policy, path):
    return decide(policy, "write", str(path)) is None


@pytest.mark.parametrize("kind", ["readOnly", "workspaceWrite"])
def test_what_the_file_names_can_neither_be_read_nor_written(resolve, workspace, kind):
    (workspace / ".agentignore").write_text("*.env\nsecrets/\n!a.env\n")
    policy = resolve(kind=kind)
    assert readable(policy, workspace / "a.env")
    for name in ("src/b.env", "src/deep/c.env", "secrets/x", "secrets"):
        assert not readable(policy, workspace / name)
        assert not writable(policy, workspace / name)
    assert readable(policy, workspace / "src/main.c")


def test_the_file_itself_can_be_read_and_not_changed(resolve, workspace):
    deep = workspace / "src/deep/er/and/.agentignore"
    for file in (workspace / ".agentignore", workspace / "src/.agentignore", deep):
        file.write_text("*.env\n")
    policy = resolve()
    for file in (workspace / ".agentignore", workspace / "src/.agentignore", deep):
        assert readable(policy, file)
        assert not writable(policy, file)
        assert decide(policy, "rename", str(file)) is not None


def test_one_in_a_folder_holds_there_alone(resolve, workspace):
    (workspace / "src/.agentignore").write_text("/b.env\n*.c\n")
    policy = resolve()
    assert not readable(policy, workspace / "src/b.env")
    assert not readable(policy, workspace / "src/main.c")
    assert readable(policy, workspace / "a.env")
    assert readable(policy, workspace / "src/deep/c.env")


def test_one_file_takes_out_nothing_that_another_names(resolve, workspace):
    (workspace / ".agentignore").write_text("*.env\n")
    (workspace / "src/.agentignore").write_text("!b.env\n")
    assert not readable(resolve(), workspace / "src/b.env")


def test_in_a_sub_folder_that_of_the_repository_holds_too(resolve, workspace):
    (workspace / ".git").mkdir()
    (workspace / ".agentignore").write_text("secrets\n")
    assert not readable(resolve(cwd=workspace / "src"), workspace / "secrets/x")


def test_it_holds_in_other_folders_of_the_workspace(resolve, workspace, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/.agentignore").write_text("key\n")
    (tmp_path / "other/key").write_text("x")
    policy = resolve(writableRoots=[str(tmp_path / "other")])
    assert not readable(policy, tmp_path / "other/key")


def test_a_link_that_is_named_takes_away_what_it_leads_to(resolve, workspace, tmp_path):
    (tmp_path / "outside").write_text("x")
    (workspace / "link").symlink_to(tmp_path / "outside")
    (workspace / "up").symlink_to(tmp_path)
    (workspace / ".agentignore").write_text("link\nup/\n")
    policy = resolve()
    assert not readable(policy, tmp_path / "outside")
    assert readable(policy, workspace / "src/main.c")


def test_a_change_counts_for_the_next_command(resolve, workspace):
    (workspace / ".agentignore").write_text("*.env\n")
    assert not readable(resolve(), workspace / "a.env")
    (workspace / "new.env").write_text("x")
    assert not readable(resolve(), workspace / "new.env")
    (workspace / ".agentignore").write_text("nothing that is here\n")
    assert readable(resolve(), workspace / "a.env")


def test_the_git_folder_is_left_alone(resolve, workspace):
    (workspace / ".git").mkdir()
    (workspace / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (workspace / ".agentignore").write_text("*\n")
    policy = resolve()
    assert readable(policy, workspace / ".git/HEAD")
    assert not readable(policy, workspace / "src/main.c")


def test_a_grant_to_write_leaves_the_file_protected(resolve, workspace, tmp_path):
    deep = workspace / "src/deep/er/and/.agentignore"
    (workspace / ".agentignore").write_text("secrets\n")
    deep.write_text("x\n")
    granted = AdditionalPermissions(write=(str(workspace),))
    policy = widened(resolve(kind="readOnly"), granted, tmp_path / "home/.ferrule")
    assert writable(policy, workspace / "src/main.c")
    assert not writable(policy, workspace / ".agentignore")
    assert not writable(policy, deep)
    assert not readable(policy, workspace / "secrets/x")


def test_one_that_cannot_be_understood_stops_commands_and_is_named(resolve, workspace):
    (workspace / ".agentignore").mkdir()
    with pytest.raises(ConfigError, match=r"ws/\.agentignore must be a file"):
        resolve()


def test_one_that_names_too_much_stops_commands(resolve, workspace, monkeypatch):
    monkeypatch.setattr("ferrule.agentignore._MATCH_LIMIT", 2)
    (workspace / ".agentignore").write_text("*.env\n")
    with pytest.raises(ConfigError, match="names more than 2 places"):
        resolve()


PIECES = [
    *("*", "**", "***", "?", "a", "b", "foo", "*.txt", "x.env", ".env", "[ab]", "[!a]", "[a-c]*"),
    *("\\*", "**/", "/", "foo*", "[[:upper:]]?", "a\\ ", "bar ", "\\#h", "\\!n", "[]x]", "[x"),
    *("\\[x\\]", "a**b", "[^d]", "*[!-z]*", "[a/b]", "x\\"),
]
NAMES = ["a", "b", "foo", "foo.txt", "x.env", ".env", "a b", "A1", "[x]", "bar ", "#h", "!n", "-"]


def random_pattern(dice):
    parts = [dice.choice(PIECES) for _ in range(dice.randint(1, 3))]
    text = dice.choice(["", "/"]).join(parts)
    before = dice.choice(["", "", "", "!"]) + dice.choice(["", "", "", "/"])
    return before + text + dice.choice(["", "", "", "/"])


def make_tree(folder, dice):
    """Make a few files and folders; returns each with whether it is a folder."""
    made = {}
    for _ in range(12):
        path = "/".join(dice.choice(NAMES) for _ in range(dice.randint(1, 3)))
        place = folder / path
        if any(parent.is_file() for parent in place.parents) or place.exists():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir() if dice.random() < 0.3 else place.touch()
        while path:
            made[path] = (folder / path).is_dir()
            path = os.path.dirname(path)
    return made


def is_named(patterns, path, *, is_folder):
    """Whether patterns name a path or a folder it lies in."""
    parts = path.split("/")
    above = ("/".join(parts[:size]) for size in range(1, len(parts)))
    return any(matches(patterns, folder, is_folder=True) for folder in above) or matches(
        patterns, path, is_folder=is_folder
    )


@pytest.mark.parametrize("seed", range(4))
def test_patterns_mean_what_they_mean_to_git(tmp_path, seed):
    dice = random.Random(seed)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for _ in range(25):
        text = "\n".join(random_pattern(dice) for _ in range(dice.randint(1, 4))) + "\n"
        (tmp_path / ".gitignore").write_text(text)
        made = make_tree(tmp_path, dice)
        asked = subprocess.run(
            ["git", "-C", tmp_path, "check-ignore", "--no-index", "--stdin", "-z"],
            input="\0".join([*made, ""]),
            capture_output=True,
            text=True,
            check=False,
        )
        patterns = parse_patterns(text)
        ours = {p for p, is_folder in made.items() if is_named(patterns, p, is_folder=is_folder)}
        assert ours == set(filter(None, asked.stdout.split("\0"))), text
        for path in tmp_path.iterdir():
            if path.is_dir() and path.name != ".git":
                shutil.rmtree(path)
            elif path.is_file():
                path.unlink()
