"""What is put before the model of what is not committed, in every state a repository can be in."""

import os
import shutil
import subprocess
import time
from pathlib import Path


def test_staged_unstaged_and_untracked_changes_are_told_apart(checkout):
    checkout.write("staged.py", "s = 1\n")
    checkout.git("add", "staged.py")
    checkout.write("a.py", "x = 2\n")
    checkout.write("new.py", "n = 1\n")

    prompt = checkout.uncommitted()

    staged, unstaged = prompt.split("Not staged, 2 files:")
    assert "- added: staged.py" in staged
    assert "+s = 1" in staged
    assert "- modified: a.py" in unstaged
    assert "-x = 1\n+x = 2" in unstaged
    assert "- added: new.py" in unstaged
    assert "+n = 1" in unstaged


def test_what_is_staged_and_undone_in_the_working_tree_shows_twice(checkout):
    checkout.write("a.py", "x = 2\n")
    checkout.git("add", "a.py")
    checkout.write("a.py", "x = 1\n")

    prompt = checkout.uncommitted()

    assert "Staged, 1 files:" in prompt
    assert "Not staged, 1 files:" in prompt


def test_nothing_of_the_users_repository_is_written(checkout):
    checkout.write("a.py", "x = 2\n")
    checkout.write("new.py", "n = 1\n")
    before = _everything_in(checkout.folder / ".git")

    checkout.uncommitted()

    assert _everything_in(checkout.folder / ".git") == before
    assert checkout.git("status", "--short") == "M a.py\n?? new.py"


def _everything_in(folder):
    return {
        path: path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))
    }


def test_a_file_that_was_only_touched_is_no_change(checkout):
    os.utime(checkout.folder / "a.py", (1, 1))

    assert "nothing to review" in checkout.refusal({"type": "uncommittedChanges"})


def test_a_file_that_changed_within_the_second_of_its_commit_is_a_change(checkout):
    file = checkout.folder / "a.py"
    for number in range(100):  # until both fall into one second
        checkout.commit("before", a__py=f"x = {number:03}\n")
        before = int(file.stat().st_ctime)
        file.write_text("x = new\n")
        if int(file.stat().st_ctime) == before:
            break
    while int(time.time()) == before:  # what is written now has another time
        time.sleep(0.01)

    assert "+x = new" in checkout.uncommitted()


def test_nothing_to_review_is_said_in_one_sentence(checkout):
    reason = checkout.refusal({"type": "uncommittedChanges"})

    assert reason == (
        f"there is nothing to review: nothing in {checkout.folder} is staged, changed or untracked"
    )


def test_ignored_files_are_no_changes(checkout):
    checkout.commit("ignore", __gitignore="*.log\n")
    checkout.write("x.log", "noise")
    checkout.write("private.txt", "mine")
    checkout.write("global.txt", "mine")
    checkout.write(".git/info/exclude", "private.txt\n")
    (checkout.home / ".gitconfig").write_text("[core]\nexcludesFile = ~/ignored\n")
    (checkout.home / "ignored").write_text("global.txt\n")

    assert "nothing to review" in checkout.refusal({"type": "uncommittedChanges"})


def test_before_the_first_commit_everything_is_added(unborn):
    unborn.write("a.py", "x = 1\n")
    unborn.git("add", "a.py")
    unborn.write("b.py", "y = 1\n")

    prompt = unborn.uncommitted()

    assert "- added: a.py" in prompt
    assert "+x = 1" in prompt
    assert "- added: b.py" in prompt


def test_an_empty_repository_has_nothing_to_review(unborn):
    assert "nothing to review" in unborn.refusal({"type": "uncommittedChanges"})


def test_renames_are_followed(checkout):
    checkout.commit("long", a__py="".join(f"line {n}\n" for n in range(50)))
    checkout.git("mv", "a.py", "b.py")

    prompt = checkout.uncommitted()

    assert "- renamed: a.py -> b.py" in prompt
    assert "rename to b.py" in prompt
    assert "line 7" not in prompt


def test_binary_files_are_named_and_not_shown(checkout):
    checkout.write("p.bin", bytes(range(256)) * 10)

    prompt = checkout.uncommitted()

    assert "- added: p.bin" in prompt
    assert "Binary files" in prompt
    assert "\x00" not in prompt


def test_a_deleted_file(checkout):
    (checkout.folder / "a.py").unlink()

    assert "- deleted: a.py" in checkout.uncommitted()


def test_a_merge_conflict(checkout):
    checkout.git("switch", "-q", "-c", "other")
    checkout.commit("theirs", a__py="x = 'theirs'\n")
    checkout.git("switch", "-q", "main")
    checkout.commit("ours", a__py="x = 'ours'\n")
    checkout.git("merge", "other", check=False)

    prompt = checkout.uncommitted()

    assert "- in conflict: a.py" in prompt
    assert "<<<<<<<" in prompt


def test_a_detached_head(checkout):
    checkout.git("switch", "-q", "--detach")
    checkout.write("a.py", "x = 2\n")

    assert "+x = 2" in checkout.uncommitted()


def test_a_linked_working_tree(checkout, tmp_path):
    checkout.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "a.py").write_text("x = 3\n")
    checkout.write("a.py", "x = 2\n")

    prompt = checkout.uncommitted(tmp_path / "side")

    assert "+x = 3" in prompt
    assert "+x = 2" not in prompt
    assert str(tmp_path / "side") in prompt


def test_from_a_folder_inside_the_repository_all_of_it_is_reviewed(checkout):
    checkout.write("sub/b.py", "y = 1\n")
    checkout.write("a.py", "x = 2\n")

    prompt = checkout.uncommitted(checkout.folder / "sub")

    assert "- modified: a.py" in prompt
    assert "- added: sub/b.py" in prompt


def test_a_submodule_whose_commit_changed(checkout, tmp_path):
    library = tmp_path / "library"
    subprocess.run(["git", "init", "-q", str(library)], env=checkout.environ, check=True)
    inside = type(checkout)(library, checkout.home)
    inside.commit("one", l__py="1\n")
    checkout.git("submodule", "add", "-q", str(library), "lib")
    checkout.commit("with a library")
    within = type(checkout)(checkout.folder / "lib", checkout.home)
    within.commit("two", l__py="2\n")
    within.write("l.py", "uncommitted in the submodule\n")

    prompt = checkout.uncommitted()

    assert "- modified: lib" in prompt
    assert "+Subproject commit" in prompt
    assert "uncommitted in the submodule" not in prompt


def test_a_repository_inside_the_working_tree_is_named_and_not_looked_into(checkout):
    nested = checkout.folder / "nested"
    subprocess.run(["git", "init", "-q", str(nested)], env=checkout.environ, check=True)
    type(checkout)(nested, checkout.home).commit("inner", i__py="secret\n")

    prompt = checkout.uncommitted()

    assert "- nested/" in prompt
    assert "secret" not in prompt


def test_names_of_repositories_inside_stay_in_their_lines_and_can_be_sent(checkout):
    nested = Path(os.fsdecode(os.fsencode(checkout.folder) + b"/a\nb\xff"))
    nested.mkdir()
    inner = type(checkout)(nested, checkout.home)
    inner.git("init", "-q")
    inner.commit("inner", i__py="1\n")

    prompt = checkout.uncommitted()

    assert r"- 'a\nb\udcff/'" in prompt
    prompt.encode()


def test_an_untracked_file_that_goes_meanwhile_hides_no_others(checkout, tmp_path):
    checkout.write("gone.py", "g = 1\n")
    checkout.write("new.py", "n = 1\n")
    real = shutil.which("git")
    tricks = tmp_path / "bin" / "git"
    tricks.parent.mkdir()
    tricks.write_text(
        f'#!/bin/sh\n{real} "$@"; code=$?\n'
        'case "$*" in *ls-files*) rm -f gone.py ;; esac\nexit $code\n'
    )
    tricks.chmod(0o755)
    checkout.environ["PATH"] = f"{tricks.parent}:{checkout.environ['PATH']}"

    prompt = checkout.uncommitted()

    assert not (checkout.folder / "gone.py").exists()
    assert "They are not shown here, for `git add` failed" in prompt
    assert "git status --short" in prompt


def test_names_that_would_break_a_line_stay_in_theirs(checkout):
    checkout.write("a\nb -> c.py", "1\n")
    checkout.write(":(top)*.py", "2\n")
    checkout.write("ü.py", "3\n")

    prompt = checkout.uncommitted()

    assert r"- added: 'a\nb -> c.py'" in prompt
    assert "- added: :(top)*.py" in prompt
    assert "- added: ü.py" in prompt


def test_a_split_index(checkout):
    checkout.git("update-index", "--split-index")
    checkout.write("a.py", "x = 2\n")

    assert "+x = 2" in checkout.uncommitted()


def test_a_repository_with_sha256(empty):
    empty.git("init", "-q", "-b", "main", "--object-format=sha256")
    empty.commit("first", a__py="x = 1\n")
    empty.write("a.py", "x = 2\n")

    assert "+x = 2" in empty.uncommitted()


def test_a_path_with_a_colon(tmp_path, unborn):
    place = type(unborn)(tmp_path / "with: colon", unborn.home)
    place.folder.mkdir()
    place.git("init", "-q", "-b", "main")
    place.commit("first", a__py="x = 1\n")
    place.write("a.py", "x = 2\n")

    assert "+x = 2" in place.uncommitted()


def test_outside_of_a_repository_the_sentence_says_what_else_can_be_done(empty):
    reason = empty.refusal({"type": "uncommittedChanges"})

    assert "is in no git repository" in reason
    assert "instructions of your own" in reason


def test_without_git_the_sentence_says_so(checkout, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    checkout.environ["PATH"] = str(tmp_path)

    assert "install git" in checkout.refusal({"type": "uncommittedChanges"})


def test_a_bare_repository_has_no_changes_but_commits(checkout, tmp_path):
    sha = checkout.git("rev-parse", "HEAD")
    checkout.git("clone", "-q", "--bare", str(checkout.folder), str(tmp_path / "bare"))

    assert "no working tree" in checkout.refusal({"type": "uncommittedChanges"}, tmp_path / "bare")
    assert "+x = 1" in checkout.prompt({"type": "commit", "sha": sha}, tmp_path / "bare")


def test_nothing_runs_that_the_repository_names(checkout, tmp_path):
    proofs = {name: tmp_path / f"{name}.proof" for name in ("monitor", "clean", "text", "hook")}
    hook = tmp_path / "hooks" / "post-index-change"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {proofs['hook']}\n")
    hook.chmod(0o755)
    checkout.write(".gitattributes", "*.py filter=evil diff=evil\n")
    checkout.commit("attributes")
    checkout.git("config", "core.fsmonitor", f"touch {proofs['monitor']}; false")
    checkout.git("config", "filter.evil.clean", f"touch {proofs['clean']}; cat")
    checkout.git("config", "diff.evil.textconv", f"touch {proofs['text']}; cat")
    checkout.git("config", "core.hooksPath", str(hook.parent))
    checkout.write("a.py", "x = 2\n")

    prompt = checkout.uncommitted()

    assert "+x = 2" in prompt
    assert not [proof for proof in proofs.values() if proof.exists()]
    checkout.git("diff")
    checkout.git("add", "a.py")
    assert all(proof.exists() for proof in proofs.values()), "the traps are no traps"


def test_a_file_the_sandbox_hides_is_not_shown(checkout):
    checkout.commit("with a secret", __env="KEY=old\n")
    checkout.write(".env", "KEY=new\n")
    checkout.write("a.py", "x = 2\n")
    checkout.hidden.add(str(checkout.folder / ".env"))

    prompt = checkout.uncommitted()

    assert "KEY=" not in prompt
    assert ".env" not in prompt
    assert "[left out: 1 files that may not be read here]" in prompt
    assert "+x = 2" in prompt


def test_where_the_session_sees_other_files_they_are_left_to_the_model(checkout):
    checkout.config = {"overlay": True}

    prompt = checkout.uncommitted()

    assert "git diff --cached" in prompt
    assert "<changes" not in prompt
