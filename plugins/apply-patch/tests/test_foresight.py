"""What a patch would do is shown before it is approved, as far as that can be told."""

import os
from pathlib import Path

import pytest

from ferrule_apply_patch import foresight
from ferrule_apply_patch.tool import ApplyPatch
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.tools import ToolCall

PATCH = """\
*** Begin Patch
*** Delete File: gone.txt
*** Add File: new.txt
+line one
*** Update File: old.txt
@@
-alpha
+ALPHA
*** End Patch
"""


@pytest.fixture
def shown(tmp_path):
    """Show a patch to files of the workspace; returns the diffs by name."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "gone.txt").write_text("bye\n")
    (tmp_path / "work" / "old.txt").write_text("alpha\nbeta\n")

    def run(patch=PATCH):
        tool = ApplyPatch(PluginContext(Path("/nowhere"), {}))
        item = tool.item(
            ToolCall("c", "apply_patch", {}, patch, "freeform"), str(tmp_path / "work")
        )
        return {Path(change["path"]).name: change["diff"] for change in item["changes"]}

    run.folder = tmp_path / "work"
    return run


def test_updates_have_their_lines_and_deletions_their_text(shown):
    assert shown() == {
        "gone.txt": "bye\n",
        "new.txt": "line one\n",
        "old.txt": "@@ -1,2 +1,2 @@\n-alpha\n+ALPHA\n beta\n",
    }


@pytest.mark.parametrize("obstacle", ["missing", "large", "pipe", "link", "other text"])
def test_what_cannot_be_told_is_shown_as_the_patch_says_it(shown, monkeypatch, obstacle):
    file = shown.folder / "old.txt"
    match obstacle:
        case "missing":
            file.unlink()
        case "large":
            monkeypatch.setattr(foresight, "_MOST_BYTES", 5)
        case "pipe":
            file.unlink()
            os.mkfifo(file)
        case "link":
            outside = shown.folder.parent / "secret.txt"
            outside.write_text("alpha\nsecret\n")
            file.unlink()
            file.symlink_to(outside)
        case _:
            file.write_text("nothing that fits\n")

    diffs = shown()

    assert diffs["old.txt"] == "@@\n-alpha\n+ALPHA\n"
    assert "secret" not in "".join(diffs.values())


def test_files_outside_of_the_workspace_are_not_looked_at(shown):
    (shown.folder.parent / "outside.txt").write_text("secret\n")

    diffs = shown("*** Begin Patch\n*** Delete File: ../outside.txt\n*** End Patch\n")

    assert diffs == {"outside.txt": ""}
