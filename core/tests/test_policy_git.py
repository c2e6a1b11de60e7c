"""What of a repository a command may write, and what it may not."""

import shutil
import subprocess

import pytest

from ferrule.policy import resolve_policy
from ferrule_hookspecs.evaluator import decide

CONFINED = {"type": "workspaceWrite", "excludeSlashTmp": True, "excludeTmpdirEnvVar": True}
FREE = ("index", "index.lock", "HEAD", "COMMIT_EDITMSG", "packed-refs", "objects/ab/cd")
FREE += ("refs/heads/topic", "logs/HEAD", "worktrees/new/HEAD", "ORIG_HEAD", "info/exclude")
BOUND = ("hooks/pre-commit", "config", "commondir")


@pytest.fixture
def resolve(tmp_path):
    def resolve(cwd, **options):
        return resolve_policy(
            CONFINED, str(cwd), environ={"HOME": str(tmp_path)}, home=tmp_path / "none", **options
        )

    return resolve


def git(*arguments, cwd):
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e@e", *arguments],
        cwd=cwd,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git("init", "-q", cwd=folder)
    (folder / "file").write_text("1")
    git("add", "file", cwd=folder)
    git("commit", "-q", "-m", "first", cwd=folder)
    return folder


def refused(policy, *paths):
    """The paths that may not be written, replaced or removed."""
    return [
        str(path)
        for path in paths
        if decide(policy, "write", str(path)) or decide(policy, "rename", str(path))
    ]


@pytest.mark.parametrize("name", FREE)
def test_what_commits_need_may_be_written(resolve, repository, name):
    assert decide(resolve(repository), "write", str(repository / ".git" / name)) is None


@pytest.mark.parametrize("name", BOUND)
def test_what_runs_or_redirects_may_not(resolve, repository, name):
    denial = decide(resolve(repository), "write", str(repository / ".git" / name))
    assert denial is not None
    assert "is protected" in denial.reason


def test_the_git_folder_itself_may_not_be_replaced(resolve, repository):
    policy = resolve(repository)
    assert str(repository / ".git") in policy.writable_roots[0].pinned
    assert refused(policy, repository / ".git")


def test_a_stopped_rebase_keeps_its_list_of_steps(resolve, repository):
    todo = repository / ".git" / "rebase-merge" / "git-rebase-todo"
    todo.parent.mkdir()
    todo.write_text("pick 1\n")
    assert refused(resolve(repository), todo)


def test_settings_that_the_configuration_includes_are_protected(resolve, repository):
    (repository / "shared.gitconfig").write_text("[core]\n")
    (repository / ".githooks").mkdir()
    (repository / ".githooks" / "pre-push").write_text("x")
    git("config", "include.path", "../shared.gitconfig", cwd=repository)
    git("config", "core.hooksPath", ".githooks", cwd=repository)
    inside = (repository / "shared.gitconfig", repository / ".githooks" / "pre-push")
    assert refused(resolve(repository), *inside) == [str(path) for path in inside]


def test_nested_repositories_are_protected_as_well(resolve, repository):
    nested = repository / "vendor" / "nested"
    nested.mkdir(parents=True)
    git("init", "-q", cwd=nested)
    policy = resolve(repository)
    assert refused(policy, nested / ".git" / "hooks" / "x", nested / ".git" / "config")
    assert not refused(policy, nested / ".git" / "index")


def test_submodules_are_protected_where_their_git_folders_lie(resolve, repository, tmp_path):
    other = tmp_path / "other"
    git("clone", "-q", str(repository), str(other), cwd=tmp_path)
    add = ("submodule", "add", "-q", "--name", "deep/name", str(other), "sub")
    git("-c", "protocol.file.allow=always", *add, cwd=repository)
    policy = resolve(repository)
    module = repository / ".git" / "modules" / "deep" / "name"
    bound = (repository / "sub" / ".git", module / "config", module / "hooks" / "x")
    assert refused(policy, *bound) == [str(path) for path in bound]
    assert not refused(policy, module / "index")


def test_worktrees_keep_their_pointers(resolve, repository, tmp_path):
    git("worktree", "add", "-q", str(repository / "tree"), cwd=repository)
    policy = resolve(repository)
    admin = repository / ".git" / "worktrees" / "tree"
    bound = (repository / "tree" / ".git", admin / "commondir", admin / "gitdir")
    assert refused(policy, *bound) == [str(path) for path in bound]
    assert not refused(policy, admin / "index", admin / "HEAD")


def test_a_linked_worktree_may_commit_into_its_repository(resolve, repository, tmp_path):
    tree = tmp_path / "tree"
    git("worktree", "add", "-q", str(tree), cwd=repository)
    policy = resolve(tree)
    common = repository / ".git"
    free = (common / "objects" / "ab", common / "refs" / "heads" / "x")
    assert not refused(policy, *free, common / "worktrees" / "tree" / "index")
    assert refused(policy, common / "hooks" / "x", common / "config", repository / "file")


def test_a_strangers_pointer_opens_no_other_repository(resolve, repository, tmp_path):
    git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=repository)
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / ".git").write_bytes((tmp_path / "tree" / ".git").read_bytes())
    policy = resolve(stranger)
    assert refused(policy, repository / ".git" / "refs" / "heads" / "x")
    assert refused(policy, stranger / ".git")


def test_a_linked_git_folder_is_protected_under_both_names(resolve, repository):
    (repository / ".git").rename(repository / "real")
    (repository / ".git").symlink_to("real")
    policy = resolve(repository)
    assert refused(policy, repository / ".git" / "hooks" / "x", repository / "real" / "config")
    assert refused(policy, repository / ".git")
    assert not refused(policy, repository / "real" / "index")


def test_a_git_folder_without_a_repository_is_read_only_as_a_whole(resolve, tmp_path):
    (tmp_path / "odd" / ".git" / "hooks").mkdir(parents=True)
    assert refused(resolve(tmp_path / "odd"), tmp_path / "odd" / ".git" / "index")


def test_a_stand_in_for_the_common_folder_counts_as_missing(resolve, repository):
    stand_in = repository / ".git" / "commondir"
    stand_in.write_text(f"{repository / '.git'}\n")
    assert str(stand_in) in resolve(repository).writable_roots[0].forbidden


@pytest.mark.parametrize("name", ["rebase-merge", "rebase-apply", "sequencer"])
@pytest.mark.parametrize("place", [".git", ".git/worktrees/tree", ".git/modules/sub"])
def test_what_was_begun_and_stopped_keeps_its_steps_everywhere(
    resolve, repository, tmp_path, name, place
):
    git("worktree", "add", "-q", str(repository / "tree"), cwd=repository)
    git("clone", "-q", str(repository), str(tmp_path / "other"), cwd=tmp_path)
    add = ("submodule", "add", "-q", str(tmp_path / "other"), "sub")
    git("-c", "protocol.file.allow=always", *add, cwd=repository)
    todo = repository / place / name / "todo"
    todo.parent.mkdir()
    todo.write_text("pick 1\n")
    policy = resolve(repository)
    assert refused(policy, todo, todo.parent) == [str(todo), str(todo.parent)]
    assert not refused(
        policy, repository / place / "index", repository / place / "CHERRY_PICK_HEAD"
    )


def test_what_is_not_begun_yet_may_begin(resolve, repository):
    steps = (repository / ".git" / name / "todo" for name in ("rebase-merge", "sequencer"))
    assert not refused(resolve(repository), *steps)


def test_settings_of_single_worktrees_cannot_come_into_being(resolve, repository):
    git("worktree", "add", "-q", str(repository / "tree"), cwd=repository)
    git("config", "extensions.worktreeConfig", "true", cwd=repository)
    own = repository / ".git" / "config.worktree"
    others = repository / ".git" / "worktrees" / "tree" / "config.worktree"
    assert refused(resolve(repository), own, others) == [str(own), str(others)]


@pytest.mark.parametrize(
    ("key", "value", "bound"),
    [
        ("core.hooksPath", ".husky/_", ".husky"),
        ("include.path", "../shared/git/config", "shared"),
        ("includeIf.gitdir:~/.path", "../more.gitconfig", "more.gitconfig"),
    ],
)
def test_what_the_configuration_names_and_is_missing_cannot_come_into_being(
    resolve, repository, key, value, bound
):
    git("config", key, value, cwd=repository)
    policy = resolve(repository)
    assert decide(policy, "create", str(repository / bound))
    assert decide(policy, "create", str(repository / "other")) is None


def test_other_paths_in_the_configuration_are_left_alone(resolve, repository):
    git("config", "difftool.x.path", "tools/x", cwd=repository)
    assert decide(resolve(repository), "create", str(repository / ".git" / "tools")) is None


def test_linked_hooks_modules_and_worktrees_are_protected_where_they_lead(
    resolve, repository, tmp_path
):
    git("worktree", "add", "-q", str(repository / "tree"), cwd=repository)
    folder = repository / ".git"
    shutil.rmtree(folder / "hooks")
    (repository / "real-hooks").mkdir()
    (repository / "real-hooks" / "pre-push").write_text("x")
    (folder / "hooks").symlink_to("../real-hooks")
    (folder / "worktrees").rename(repository / "real-worktrees")
    (folder / "worktrees").symlink_to("../real-worktrees")
    (repository / "real-worktrees" / "tree" / "commondir").write_text(f"{folder}\n")
    module = repository / "real-modules" / "sub"
    module.mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/main\n")
    (module / "config").write_text("[core]\n")
    (folder / "modules").symlink_to("../real-modules")
    bound = (
        folder / "hooks",
        repository / "real-hooks" / "pre-push",
        folder / "worktrees",
        repository / "real-worktrees" / "tree" / "commondir",
        folder / "modules",
        module / "config",
        module / "hooks" / "x",
    )
    policy = resolve(repository)
    assert refused(policy, *bound) == [str(path) for path in bound]
    assert not refused(policy, repository / "file", folder / "index", module / "index")


def test_a_workspace_that_is_a_bare_repository_is_protected(resolve, tmp_path):
    git("init", "-q", "--bare", str(tmp_path / "bare"), cwd=tmp_path)
    policy = resolve(tmp_path / "bare")
    bound = (tmp_path / "bare" / "config", tmp_path / "bare" / "hooks" / "x")
    assert refused(policy, *bound) == [str(path) for path in bound]
    assert not refused(policy, tmp_path / "bare" / "refs" / "heads" / "x")
