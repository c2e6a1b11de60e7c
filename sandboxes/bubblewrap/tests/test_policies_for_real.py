"""Permission profiles, `.agentignore` and repositories as commands meet them in this backend."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule_testkit.confinement import make_place

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("ferrule") is None, reason="needs the ferrule command"
    ),
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
]

PROFILES = {
    "usual": {
        ":root": "read",
        ":project_roots": {".": "write", "docs": "read", "secrets": "none", "**/*.env": "none"},
    },
    "tight": {":minimal": "read", ":project_roots": {".": "write", "secrets": "none"}},
    "reopened": {":root": "read", "{place}": "none", ":project_roots": "write"},
    "one-folder": {":root": "read", ":project_roots": {"src": "write", "later": "none"}},
    "reading": {":root": "read", ":project_roots": {"src": "none"}},
}
PROBE = """
import json, sys
def tried(path, mode):
    try:
        open(path, mode).close()
    except OSError:
        return False
    return True
print(json.dumps([[tried(path, "rb"), tried(path, "ab")] for path in sys.argv[1:]]))
"""


@pytest.fixture
def place(secluded_path):
    """To open a folder within a denied one, all that stands beside it is gone through."""
    return make_place(secluded_path)


@pytest.fixture
def workspace(place):
    folder = place / "workspace"
    for name in ("docs", "secrets", "src/deep"):
        (folder / name).mkdir(parents=True)
    for name in ("docs/a.md", "secrets/x", "src/main.c", "src/deep/b.env", "c.env", "plain"):
        (folder / name).write_text("content\n")
    (place / "outside" / "file").write_text("content\n")
    (folder / "link").symlink_to("secrets/x")
    return folder


@pytest.fixture
def environ(place):
    home = place / "home"
    (home / ".ferrule").mkdir(exist_ok=True)
    (home / ".gitconfig").write_text(
        '[user]\nname = n\nemail = e@e\n[protocol "file"]\nallow = always\n'
        "[init]\ndefaultBranch = main\n"
    )
    return {
        **os.environ,
        "HOME": str(home),
        "FERRULE_HOME": str(home / ".ferrule"),
        "TMPDIR": "/nowhere",
    }


@pytest.fixture
def sandboxed(backend, workspace, environ):
    """Runs a command with `ferrule sandbox` and some options of it."""

    def sandboxed(options, *argv, cwd=workspace):
        return subprocess.run(
            [sys.executable, "-m", "ferrule", "sandbox", *options, "--", *argv],
            cwd=cwd,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )

    return sandboxed


def profile(name, place):
    """A profile as tables, and as what the command line takes."""
    files = {key.format(place=place): value for key, value in PROFILES[name].items()}
    written = ", ".join(f"{json.dumps(key)} = {_toml(value)}" for key, value in files.items())
    text = f"permissions.p.filesystem={{{written}}}"
    return files, ["-c", text, "-P", "p"]


def _toml(value):
    if isinstance(value, str):
        return json.dumps(value)
    return (
        "{" + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + "}"
    )


@pytest.mark.parametrize("name", PROFILES)
def test_what_the_evaluator_says_of_a_profile_happens(sandboxed, place, workspace, environ, name):
    from ferrule.policy import mode_to_policy, resolve_policy
    from ferrule_hookspecs.evaluator import decide

    files, options = profile(name, place)
    values = {"permissions": {"p": {"filesystem": files}}, "default_permissions": "p"}
    resolved = resolve_policy(
        mode_to_policy(values, None),
        str(workspace),
        environ=environ,
        home=Path(environ["FERRULE_HOME"]),
    )
    names = ("docs/a.md", "secrets/x", "src/main.c", "src/deep/b.env", "c.env", "plain", "link")
    paths = [*(str(workspace / each) for each in names), str(place / "outside" / "file")]
    said = [
        [decide(resolved, operation, path) is None for operation in ("read", "write")]
        for path in paths
    ]
    ended = sandboxed(options, "/usr/bin/python3", "-I", "-S", "-c", PROBE, *paths)
    assert dict(zip(paths, json.loads(ended.stdout), strict=True)) == dict(
        zip(paths, said, strict=True)
    ), ended.stderr


def test_what_a_project_ignores_is_out_of_reach(sandboxed, workspace):
    (workspace / ".agentignore").write_text("*.env\n/secrets/\n")
    ended = sandboxed(["-s", "workspace-write"], "cat", "c.env", "src/deep/b.env", "secrets/x")
    assert (ended.returncode, ended.stdout) == (1, "")
    for command in ("echo >> .agentignore", "rm .agentignore", "mv secrets open", "mv c.env d"):
        assert sandboxed(["-s", "workspace-write"], "sh", "-c", command).returncode != 0
    assert (workspace / ".agentignore").read_text() == "*.env\n/secrets/\n"
    read = sandboxed(["-s", "read-only"], "cat", "plain", "link")
    assert read.stdout == "content\n"


WORK = """
git switch -q -c topic
echo 2 > two && git add two && git commit -q -m two
git switch -q main
echo 3 > three && git add three && git commit -q -m three
git rebase -q main topic
git rebase -q --apply main topic
git switch -q main && git merge -q --no-edit topic
git tag kept && git stash list && git gc -q
git revert --no-edit HEAD && git cherry-pick HEAD~1
git worktree add -q tree -b other
cd tree && echo 4 > four && git add four && git commit -q -m four
"""


@pytest.fixture
def repository(workspace, environ):
    def git(*arguments, cwd=workspace):
        subprocess.run(["git", *arguments], cwd=cwd, env=environ, check=True, capture_output=True)

    git("init", "-q", str(workspace))
    git("add", "plain")
    git("commit", "-q", "-m", "one")
    return git


def test_git_works(sandboxed, repository):
    ended = sandboxed(["-s", "workspace-write"], "sh", "-e", "-c", WORK)
    assert ended.returncode == 0, ended.stderr


def test_submodules_are_cloned_and_protected_from_then_on(sandboxed, repository, workspace, place):
    other = place / "outside" / "other"
    repository("clone", "-q", str(workspace), str(other))
    repository("submodule", "add", "-q", str(other), "sub")
    repository("commit", "-q", "-m", "sub")
    clone = place / "clone"
    repository("clone", "-q", str(workspace), str(clone), cwd=place)
    repository("config", "submodule.sub.url", str(other), cwd=clone)
    fresh = sandboxed(["-s", "workspace-write"], "git", "submodule", "update", cwd=clone)
    assert fresh.returncode == 0, fresh.stderr
    script = "cd sub && echo x > new && git add new && git commit -q -m new"
    assert sandboxed(["-s", "workspace-write"], "sh", "-c", script, cwd=clone).returncode == 0
    for name in ("config", "hooks/post-checkout"):
        planted = f"echo x >> .git/modules/sub/{name}"
        ended = sandboxed(["-s", "workspace-write"], "sh", "-c", planted, cwd=clone)
        assert "Read-only" in ended.stderr


def test_a_rebase_that_stopped_is_continued_by_nobody_but_the_user(
    sandboxed, repository, workspace
):
    script = "git switch -q -c a && echo a > plain && git commit -q -a -m a && git switch -q main"
    script += " && echo b > plain && git commit -q -a -m b && git rebase main a"
    assert sandboxed(["-s", "workspace-write"], "sh", "-c", script).returncode != 0
    todo = workspace / ".git" / "rebase-merge" / "git-rebase-todo"
    assert todo.exists()
    planted = sandboxed(["-s", "workspace-write"], "sh", "-c", f"echo exec evil >> {todo}")
    assert "Read-only" in planted.stderr
    repository("rebase", "--abort")
