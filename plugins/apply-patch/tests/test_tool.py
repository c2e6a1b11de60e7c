"""What the tool tells the model and the session, and what it leaves alone."""

from __future__ import annotations

import os
import stat

import pytest

from ferrule_hookspecs import ToolArgumentError, ToolCall
from ferrule_hookspecs.tools import SandboxDeniedError

OUTSIDE = "writing outside of the project"
MIXED = """*** Begin Patch
*** Add File: new.txt
+line one
+line two
*** Update File: a.txt
@@
-alpha
+ALPHA
 beta
*** Delete File: gone.txt
*** Update File: mv.txt
*** Move to: moved/mv2.txt
@@
-old
+new
*** End Patch
"""


@pytest.fixture
def mixed(bench):
    bench.write({"a.txt": "alpha\nbeta\n", "gone.txt": "bye\n", "mv.txt": "old\n"})
    return bench


def update(old, new, path="f"):
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch"


def test_the_model_reads_what_was_done_added_first_deleted_last(mixed):
    head, seconds, rest = mixed.apply(MIXED).output.split("\n", 2)
    assert head == "Exit code: 0"
    assert seconds.startswith("Wall time: ")
    assert rest == (
        "Output:\nSuccess. Updated the following files:\n"
        "A new.txt\nM a.txt\nM moved/mv2.txt\nD gone.txt\n"
    )


def test_the_item_shows_every_file_with_its_diff_sorted_by_path(mixed):
    item = mixed.apply(MIXED).item
    root = str(mixed.folder)
    assert item == {
        "type": "fileChange",
        "id": "call_1",
        "status": "completed",
        "changes": [
            {
                "path": f"{root}/a.txt",
                "kind": {"type": "update", "move_path": None},
                "diff": "@@ -1,2 +1,2 @@\n-alpha\n+ALPHA\n beta\n",
            },
            {"path": f"{root}/gone.txt", "kind": {"type": "delete"}, "diff": "bye\n"},
            {
                "path": f"{root}/mv.txt",
                "kind": {"type": "update", "move_path": f"{root}/moved/mv2.txt"},
                "diff": "@@ -1 +1 @@\n-old\n+new\n",
            },
            {
                "path": f"{root}/new.txt",
                "kind": {"type": "add"},
                "diff": "line one\nline two\n",
            },
        ],
    }


def test_the_announced_item_names_the_same_files(mixed):
    call = mixed.call(MIXED)
    announced = mixed.tool.item(call, str(mixed.folder))
    final = mixed.apply(call).item
    assert announced["status"] == "inProgress"
    assert [(c["path"], c["kind"]) for c in announced["changes"]] == [
        (c["path"], c["kind"]) for c in final["changes"]
    ]


def test_a_patch_that_does_not_fit_changes_nothing_and_fails_its_item(bench):
    bench.write({"a.txt": "a\n"})
    result = bench.apply(
        "*** Begin Patch\n*** Add File: ok.txt\n+x\n"
        "*** Update File: a.txt\n@@\n-nope\n+y\n*** End Patch\n"
    )
    assert not result.success
    assert result.output == (
        "apply_patch verification failed: Failed to find expected lines in "
        f"{bench.folder}/a.txt:\nnope"
    )
    assert result.item["status"] == "failed"
    assert bench.tree() == {"a.txt": "a\n"}


def test_all_edits_are_handed_over_at_once(mixed):
    mixed.apply(MIXED)
    assert mixed.sandbox.files.batches == 1


def test_a_failing_disk_is_reported_and_nothing_is_changed(mixed):
    before = mixed.tree()
    below_a_file = "*** Begin Patch\n*** Add File: gone.txt/x\n+x\n*** Update File: a.txt\n-beta\n"
    result = mixed.apply(f"{below_a_file}*** End Patch")
    assert not result.success
    assert result.output.startswith("Exit code: 1\n")
    assert result.output.endswith("nothing was changed\n")
    assert "gone.txt" in result.output
    assert result.item["status"] == "failed"
    assert mixed.tree() == before


def test_the_function_form_is_understood_under_both_names(mixed):
    for key in ("input", "patch"):
        arguments = mixed.tool.normalize({key: MIXED, "extra": 1})
        assert arguments == {"input": MIXED}
    call = ToolCall("call_1", "apply_patch", arguments, "{}", "function")
    assert mixed.apply(call).success


def test_a_function_call_without_a_patch_is_refused_with_the_field_it_lacks(bench):
    with pytest.raises(ToolArgumentError, match="missing field `input`"):
        bench.tool.normalize({"text": "x"})


def test_the_schema_is_a_lark_grammar_that_names_every_header(bench):
    schema = bench.tool.schema()
    assert schema.syntax == "lark"
    for header in ("Begin Patch", "Add File", "Delete File", "Update File", "Move to", "End of"):
        assert f"*** {header}" in schema.definition


def test_a_call_that_came_through_the_shell_is_answered_in_the_shells_format(mixed):
    output = mixed.apply(mixed.call(MIXED, requested_tool="exec_command")).output
    assert output.startswith("Wall time: 0.0000 seconds\nOutput:\nExit code: 0\nWall time: ")


def test_permissions_survive_an_update_and_a_move(bench):
    bench.write({"run.sh": "#!/bin/sh\nold\n"})
    (bench.folder / "run.sh").chmod(0o750)
    bench.apply(update("old", "new", "run.sh").replace("@@", "*** Move to: go.sh\n@@"))
    assert stat.S_IMODE(os.stat(bench.folder / "go.sh").st_mode) == 0o750


def test_bytes_that_are_not_text_survive(bench):
    bench.write({"f": b"caf\xe9\nold\n"})
    result = bench.apply(update("old", "new"))
    assert (bench.folder / "f").read_bytes() == b"caf\xe9\nnew\n"
    assert "caf\ufffd" in result.item["changes"][0]["diff"]


def test_windows_line_ends_are_kept_and_given_to_new_lines(bench):
    bench.write({"f": "one\r\ntwo\r\nthree"})
    bench.apply(update("two", "TWO\n+2b"))
    assert (bench.folder / "f").read_bytes() == b"one\r\nTWO\r\n2b\r\nthree\r\n"


def test_a_missing_final_newline_shows_in_the_diff(bench):
    bench.write({"f": "first\nlast"})
    changes = bench.apply(update("last", "LAST")).item["changes"]
    assert changes[0]["diff"] == (
        "@@ -1,2 +1,2 @@\n first\n-last\n\\ No newline at end of file\n+LAST\n"
    )


def test_an_added_file_that_exists_is_shown_as_the_update_it_is(bench):
    bench.write({"f": "one\ntwo\n"})
    result = bench.apply("*** Begin Patch\n*** Add File: f\n+one\n+2\n*** End Patch")
    assert result.output.endswith("A f\n")
    assert result.item["changes"][0]["kind"] == {"type": "update", "move_path": None}
    assert result.item["changes"][0]["diff"] == "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"


def test_sections_see_what_sections_before_them_did(bench):
    bench.write({"f": "a\nb\n"})
    second = update("A", "AA").removeprefix("*** Begin Patch\n")
    result = bench.apply(update("a", "A").removesuffix("*** End Patch") + second)
    assert bench.tree() == {"f": "AA\nb\n"}
    assert result.item["changes"][0]["diff"] == "@@ -1,2 +1,2 @@\n-a\n+AA\n b\n"


def test_a_here_document_around_the_patch_is_forgiven(bench):
    result = bench.apply("<<'EOF'\n*** Begin Patch\n*** Add File: h.txt\n+x\n*** End Patch\nEOF")
    assert result.success
    assert bench.tree() == {"h.txt": "x\n"}


def test_a_very_large_file_is_edited_in_one_place(bench):
    lines = [f"line {number} of a large file\n" for number in range(100_000)]
    bench.write({"f": "".join(lines)})
    result = bench.apply(update("line 99990 of a large file", "new"))
    lines[99_990] = "new\n"
    assert bench.tree()["f"] == "".join(lines)
    assert result.item["changes"][0]["diff"].startswith("@@ -99988,7 +99988,7 @@\n")


def test_a_name_with_a_nul_byte_is_an_error_of_the_patch(bench):
    result = bench.apply("*** Begin Patch\n*** Add File: a\0b\n+x\n*** End Patch")
    assert not result.success
    assert "names no file" in result.output


@pytest.mark.parametrize(
    ("mode", "patch", "reason"),
    [
        ("workspace-write", "*** Add File: in.txt", None),
        ("workspace-write", "*** Add File: a/../../out.txt", OUTSIDE),
        ("workspace-write", "*** Delete File: /etc/passwd", OUTSIDE),
        ("workspace-write", "*** Update File: f\n*** Move to: /o\n x", OUTSIDE),
        ("read-only", "*** Add File: in.txt", "writing is blocked by read-only sandbox"),
        ("danger-full-access", "*** Add File: /opt/out.txt", None),
        ("workspace-write", "no header", None),
    ],
    ids=["inside", "dots", "absolute", "move", "read-only", "unconfined", "malformed"],
)  # fmt: skip
def test_approval_is_asked_for_where_the_sandbox_would_refuse(make_bench, mode, patch, reason):
    requirement = make_bench(mode).requirement(f"*** Begin Patch\n{patch}\n*** End Patch")
    if reason is None:
        assert requirement.kind == "skip"
    else:
        assert requirement.kind == "approval"
        assert requirement.reason == f"patch rejected: {reason}"
        assert requirement.escalate


def test_a_link_out_of_the_workspace_is_outside(make_bench, tmp_path):
    bench = make_bench("workspace-write")
    (tmp_path / "elsewhere").mkdir()
    (bench.folder / "link").symlink_to(tmp_path / "elsewhere")
    patch = "*** Begin Patch\n*** Add File: link/x\n+x\n*** End Patch"
    assert bench.requirement(patch).kind == "approval"
    with pytest.raises(SandboxDeniedError):
        bench.apply(patch)
    assert list((tmp_path / "elsewhere").iterdir()) == []
