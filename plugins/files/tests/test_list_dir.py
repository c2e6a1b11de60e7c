"""A folder as a tree, without what git ignores."""

from __future__ import annotations

import subprocess

import pytest

from ferrule_hookspecs import ToolError


@pytest.fixture
def tree(bench):
    bench.write({"a.txt": "", "src/one.py": "", "src/deep/two.py": "", "src-gen/x": ""})
    (bench.folder / "link").symlink_to("src")
    return bench


def test_folders_links_and_files_are_told_apart(tree):
    assert tree("list_dir") == (
        f"{tree.folder}\n  a.txt\n  link@\n  src/\n    deep/\n    one.py\n  src-gen/\n    x\n"
    )


def test_depth_bounds_the_levels(tree):
    assert tree("list_dir", depth=1) == f"{tree.folder}\n  a.txt\n  link@\n  src/\n  src-gen/\n"
    assert "      two.py\n" in tree("list_dir", depth=3)


def test_a_limit_cuts_what_is_deepest(tree):
    output = tree("list_dir", limit=4, depth=9)
    assert output.startswith(f"{tree.folder}\n  a.txt\n  link@\n  src/\n  src-gen/\n")
    assert output.endswith("… more than 4 entries; list a folder below or raise the limit\n")


def test_what_git_ignores_is_left_out(tree):
    tree.write(
        {
            ".gitignore": "*.log\nbuild/\n/only-top\n",
            "x.log": "",
            "build/y": "",
            "only-top": "",
            "src/only-top": "",
            "src/.gitignore": "!keep.log\n",
            "src/keep.log": "",
            ".git/config": "",
        }
    )
    output = tree("list_dir", path=".", depth=2)
    assert "x.log" not in output
    assert "build" not in output
    assert ".git/" not in output
    assert "    keep.log\n" in output
    assert output.count("only-top") == 1


def test_rules_of_the_repository_count_in_a_folder_below(tree):
    subprocess.run(["git", "init", "-q", str(tree.folder)], check=True)
    tree.write({".gitignore": "/src/one.py\n", ".git/info/exclude": "two.py\n"})
    assert tree("list_dir", path="src", depth=3) == f"{tree.folder}/src\n  deep/\n"


def test_a_folder_that_is_not_there_is_named(bench):
    with pytest.raises(ToolError, match="nope cannot be listed: No such file"):
        bench("list_dir", path="nope")


def test_an_empty_folder_says_so(bench):
    assert bench("list_dir") == f"{bench.folder} is empty\n"


def test_folders_the_policy_hides_look_empty(tree):
    tree.deny_read = (str(tree.folder / "src"),)
    assert "one.py" not in tree("list_dir")
