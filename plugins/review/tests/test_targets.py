"""Branches, commits and instructions of one's own: what is compared, and what cannot be."""

import os

import pytest

from ferrule_hookspecs.change_review import ReviewTask


@pytest.fixture
def branch(checkout):
    """A branch with a commit of its own, whose base has gone on."""
    checkout.git("switch", "-q", "-c", "feature")
    checkout.commit("on the branch", b__py="b = 1\n")
    checkout.git("switch", "-q", "main")
    checkout.commit("on main", main__py="m = 1\n")
    checkout.git("switch", "-q", "feature")
    return checkout


def test_against_a_branch_all_since_it_was_left_counts_committed_or_not(branch):
    branch.write("a.py", "x = 2\n")
    branch.write("new.py", "n = 1\n")
    base = branch.git("merge-base", "main", "HEAD")

    prompt = branch.against("main")

    for line in ("+b = 1", "+x = 2", "+n = 1", base, f"git diff {base}"):
        assert line in prompt
    assert "m = 1" not in prompt


def test_against_a_branch_that_only_the_remote_has(branch, tmp_path):
    branch.git("clone", "-q", "-b", "feature", str(branch.folder), str(tmp_path / "clone"))

    prompt = branch.prompt({"type": "baseBranch", "branch": "main"}, tmp_path / "clone")

    assert "+b = 1" in prompt


def test_against_a_branch_with_nothing_new(checkout):
    reason = checkout.refusal({"type": "baseBranch", "branch": "main"})

    assert reason.startswith("there is nothing to review")


@pytest.mark.parametrize("name", ["nope", "--help", "a b", "main..", "'"])
def test_a_branch_that_does_not_exist_is_named(checkout, name):
    reason = checkout.refusal({"type": "baseBranch", "branch": name})

    assert f"has no branch or commit {name!r}" in reason


def test_a_branch_without_a_common_commit(checkout):
    checkout.git("switch", "-q", "--orphan", "lonely")
    checkout.commit("alone", c__py="c = 1\n")

    assert "no commit in common" in checkout.refusal({"type": "baseBranch", "branch": "main"})


def test_against_a_branch_before_the_first_commit(unborn):
    assert "no commit yet" in unborn.refusal({"type": "baseBranch", "branch": "main"})


def test_a_commit_is_compared_with_the_one_before_it(checkout):
    sha = checkout.commit("second\n\nbecause of reasons", a__py="x = 2\n")
    checkout.commit("third", a__py="x = 3\n")
    checkout.write("a.py", "x = 4\n")

    prompt = checkout.of_commit("HEAD~1")

    assert "-x = 1\n+x = 2" in prompt
    assert "x = 3" not in prompt
    assert "x = 4" not in prompt
    assert "because of reasons" in prompt
    assert sha in prompt


def test_the_first_commit_adds_everything(checkout):
    assert "+x = 1" in checkout.of_commit("HEAD")


def test_a_merge_is_compared_with_its_first_parent(checkout):
    checkout.git("switch", "-q", "-c", "other")
    checkout.commit("theirs", b__py="b = 1\n")
    checkout.git("switch", "-q", "main")
    checkout.commit("ours", c__py="c = 1\n")
    checkout.git("merge", "-q", "--no-edit", "other")

    prompt = checkout.of_commit("HEAD")

    assert "+b = 1" in prompt
    assert "+c = 1" not in prompt
    assert "first parent" in prompt


def test_a_commit_whose_parent_is_not_in_the_clone_is_left_to_the_model(checkout, tmp_path):
    checkout.commit("second", a__py="x = 2\n")
    url = f"file://{checkout.folder}"
    checkout.git("clone", "-q", "--depth", "1", url, str(tmp_path / "shallow"))

    prompt = checkout.prompt({"type": "commit", "sha": "HEAD"}, tmp_path / "shallow")

    assert "is not in this clone" in prompt
    assert "<changes" not in prompt


def test_a_commit_that_changes_nothing(checkout):
    checkout.git("commit", "-q", "--allow-empty", "-m", "nothing")

    assert "changes no file" in checkout.refusal({"type": "commit", "sha": "HEAD"})


@pytest.mark.parametrize("name", ["deadbeef", "nope", "-x", "HEAD:a.py"])
def test_a_commit_that_does_not_exist_is_named(checkout, name):
    assert f"has no commit {name!r}" in checkout.refusal({"type": "commit", "sha": name})


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ({"type": "baseBranch", "branch": " "}, "the name of a branch"),
        ({"type": "commit", "sha": ""}, "a commit"),
        ({"type": "custom", "instructions": "\n"}, "instructions"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["type"],
)
def test_blank_targets_are_refused(checkout, target, what):
    assert f"a review needs {what}" in checkout.refusal(target)


def test_instructions_of_ones_own_need_no_repository(empty):
    task = empty.task({"type": "custom", "instructions": " look at the locks \n"})

    assert isinstance(task, ReviewTask)
    assert (task.label, task.prompt) == ("look at the locks", "look at the locks")


def test_labels_hold_no_words_but_the_users(checkout):
    checkout.commit("a title that somebody else chose", a__py="x = 2\n")
    sha = checkout.git("rev-parse", "HEAD")
    checkout.write("a.py", "x = 3\n")
    checkout.git("branch", "old", "HEAD~1")

    def label(target):
        return checkout.task(target).label

    assert label({"type": "uncommittedChanges"}) == "current changes"
    assert label({"type": "baseBranch", "branch": "old"}) == "changes against 'old'"
    assert label({"type": "commit", "sha": "HEAD"}) == f"commit {sha[:7]}"
    assert label({"type": "commit", "sha": sha, "title": "T"}) == f"commit {sha[:7]}: T"


def test_the_configured_model_reviews(checkout):
    checkout.config = {"review_model": "strict"}

    assert checkout.task({"type": "custom", "instructions": "look"}).model == "strict"


def test_variables_that_lead_git_elsewhere_are_not_heard(checkout, tmp_path):
    checkout.write("a.py", "x = 2\n")
    checkout.environ |= {"GIT_DIR": str(tmp_path / "nowhere"), "GIT_INDEX_FILE": os.devnull}

    assert "+x = 2" in checkout.uncommitted()
