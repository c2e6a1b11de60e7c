"""Whatever two texts differ in, a patch written from them leads from one to the other."""

from __future__ import annotations

import difflib
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule_apply_patch.parser import parse
from ferrule_apply_patch.plan import FileState, make_plan

LINES = st.lists(st.text("ab +-@*\té“", max_size=4), max_size=25)
ENDINGS = st.sampled_from(["\n", "\r\n"])


def patch_between(old, new):
    """One chunk per difference, with the whole text between as context."""
    lines = ["*** Begin Patch", "*** Update File: f", "@@"]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        if old[start:end] == new[new_start:new_end]:
            lines += [f" {line}" for line in old[start:end]]
            continue
        lines += [f"-{line}" for line in old[start:end]]
        lines += [f"+{line}" for line in new[new_start:new_end]]
    return "\n".join([*lines, "*** End Patch"])


def applied(old, new, ending="\n", is_ragged=False):
    text = "".join(line + ending for line in old)
    text = text.removesuffix(ending) if is_ragged else text
    plan = make_plan(
        parse(patch_between(old, new)), lambda path: path, {"f": FileState(text.encode())}
    )
    written = {edit.path: edit.data.decode() for edit in plan.edits}
    return text, written.get("f", text), plan.changes[0]["diff"]


@given(LINES.filter(bool), LINES, ENDINGS)
def test_a_patch_leads_from_one_text_to_the_other(old, new, ending):
    before, after, _ = applied(old, new, ending)
    assert before == "".join(line + ending for line in old)
    assert after == "".join(line + ending for line in new)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@settings(max_examples=40, deadline=None)
@given(LINES.filter(bool), LINES, st.booleans())
def test_git_applies_the_diff_that_clients_are_shown(tmp_path_factory, old, new, is_ragged):
    before, after, diff = applied(old, new, is_ragged=is_ragged and old[-1:] != [""])
    folder = tmp_path_factory.mktemp("repository")
    (folder / "f").write_text(before, newline="")
    if diff:
        subprocess.run(
            ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"],
            cwd=folder,
            input=f"--- a/f\n+++ b/f\n{diff}".encode(),
            check=True,
            env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        )
    assert (folder / "f").read_bytes().decode() == after
