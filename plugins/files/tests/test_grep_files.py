"""Lines that fit a pattern, found by ripgrep or by grep, both inside the sandbox."""

from __future__ import annotations

import shutil

import pytest

from ferrule_hookspecs import ToolError

ENGINES = ["rg", "grep"]


@pytest.fixture(params=ENGINES)
def search(request, bench, tmp_path):
    """The tool in a sandbox where only one engine is installed."""
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is not installed")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / request.param).symlink_to(program)
    bench.path = str(tmp_path / "bin")
    bench.write(
        {
            "a.py": "import os\nprint('needle')\n",
            "src/b.py": "needle = 1\nother\nneedle = 22\n",
            "src/c.txt": "needle\n",
            ".gitignore": "ignored*\n",
            "ignored.py": "needle\n",
            ".github/d.py": "needle\n",
            ".git/e.py": "needle\n",
            "bin.dat": b"needle\0\n",
        }
    )
    return bench


def test_every_line_is_shown_with_its_place(search):
    assert sorted(search("grep_files", pattern="needle", include="*.py").splitlines()) == [
        ".github/d.py:1:needle",
        "a.py:2:print('needle')",
        "src/b.py:1:needle = 1",
        "src/b.py:3:needle = 22",
    ]


def test_one_file_can_be_searched(search):
    assert search("grep_files", pattern="^needle = [0-9]{2}$", path="src/b.py") == (
        "b.py:3:needle = 22\n"
    )


def test_a_folder_can_be_searched(search):
    assert search("grep_files", pattern="needle", path="src", include="*.txt") == "c.txt:1:needle\n"


def test_nothing_found_is_no_error(search):
    assert search("grep_files", pattern="haystack").startswith("No line matches.\n")


def test_a_limit_says_that_there_is_more(search):
    output = search("grep_files", pattern="needle", path="src/b.py", limit=1)
    assert output == ("b.py:1:needle = 1\n… there is more; narrow the search or raise the limit\n")


def test_a_pattern_may_look_like_an_option(search):
    search.write({"o.txt": "--needle\n"})
    assert search("grep_files", pattern="--needle") == "o.txt:1:--needle\n"


def test_a_wrong_pattern_is_an_error_in_the_engines_words(search):
    with pytest.raises(ToolError, match="the search failed: "):
        search("grep_files", pattern="(")


def test_a_missing_path_is_named(search):
    with pytest.raises(ToolError, match="nope does not exist"):
        search("grep_files", pattern="x", path="nope")


def test_without_any_engine_the_mend_is_named(bench, tmp_path):
    bench.path = str(tmp_path)
    bench.write({"a": "x"})
    with pytest.raises(ToolError, match="install ripgrep"):
        bench("grep_files", pattern="x")


def test_grep_says_what_its_patterns_do_not_know(bench, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "grep").symlink_to(shutil.which("grep"))
    bench.path = str(tmp_path / "bin")
    bench.write({"a": "1\n"})
    assert "write `[0-9]`" in bench("grep_files", pattern=r"\d")
