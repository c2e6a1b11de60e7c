"""Our reading of `.gitignore` is git's."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from ferrule_files.glob import Glob
from ferrule_files.ignore import is_ignored, parse

PATTERNS = [
    "*.log", "/top", "a/b", "a/", "**/deep", "deep/**", "a/**/z", "!keep.log", "# comment",
    "\\#file", "\\!file", "trail   ", "trail\\ ", "[ab].txt", "[!ab].txt", "[a-c]x", "?.md",
    "a*b", "*", "/*", "!/a", "a/*", "**", "foo/**/", "[", "[]x]y", "x\\*y", "doc/*.txt", "/", "//",
    "a\\", "[[:alpha:]]1", "[^[:digit:]a]x", "[\\]]y", "[[]*", "[a", "[]", "[a^]x",
    "**foo", "a/**b", "é", "*o*o*", "**/b/**/z", "**/**/z", "a*/b*",
]  # fmt: skip
PATHS = [
    "x.log", "keep.log", "a/x.log", "top", "a/top", "a/b", "c/a/b", "deep", "a/deep", "deep/x/y",
    "a/z", "a/q/z", "a/q/r/z", "#file", "!file", "trail", "trail ", "a.txt", "c.txt", "bx", "dx",
    "q.md", "qq.md", "a1b", "a/1b", "foo/bar", "foo/x/bar", "[", "]y", "xy", "x*y", "doc/n.txt",
    "doc/s/n.txt", "d1", "xfoo", "a/xb", "é", "sub/é",
]  # fmt: skip


def ignored_by_us(root, text, path):
    rules = (parse(str(root), text),)
    parts = path.split("/")
    return any(
        is_ignored(rules, f"{root}/{'/'.join(parts[:count])}", is_folder=count < len(parts))
        for count in range(1, len(parts) + 1)
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("before", ["", "*\n", "*.log\n"], ids=["alone", "after *", "after *.log"])
def test_every_pattern_means_what_it_means_to_git(tmp_path, before):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    differences = []
    for pattern in PATTERNS:
        text = f"{before}{pattern}\n"
        (tmp_path / ".gitignore").write_text(text)
        checked = subprocess.run(
            ["git", "check-ignore", "-z", "--no-index", "--stdin"],
            cwd=tmp_path,
            input="\0".join(PATHS).encode(),
            capture_output=True,
        )
        git = set(checked.stdout.decode().split("\0")[:-1])
        ours = {path for path in PATHS if ignored_by_us(tmp_path, text, path)}
        if git != ours:
            differences.append((pattern, git ^ ours))
    assert differences == []


@pytest.mark.parametrize(
    ("glob", "path"),
    [("*a" * 60 + "b", "a" * 250), ("**/a/" * 60 + "b", "/".join("a" * 1_000))],
    ids=["stars in a name", "stars between folders"],
)
def test_a_hostile_glob_does_not_hold_up_the_process(glob, path):
    assert not Glob.parse(glob).fits(path)
