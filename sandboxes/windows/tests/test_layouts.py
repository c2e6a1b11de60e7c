"""Structures, numbers and calls are those of the Windows headers.

`layouts.json` is what a C compiler for Windows said; where there is one, it is asked again.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule_sandbox_windows.command_line import command_line

RECORDED = json.loads(Path(__file__).with_name("layouts.json").read_bytes())
RERECORD = "record again: python sandboxes/windows/tests/measure.py FOLDER"


def test_structures_are_laid_out_as_the_compiler_says(measure):
    assert measure.our_layouts() == RECORDED["layouts"], RERECORD


def test_numbers_are_those_of_the_headers(measure):
    assert measure.our_constants() == RECORDED["constants"], RERECORD


def test_every_function_was_found_in_its_library(measure):
    assert dict.fromkeys(measure.our_calls(), 1) == RECORDED["exports"], RERECORD


@pytest.mark.slow
def test_the_compiler_still_says_so_and_takes_our_calls(measure, wine):
    assert json.loads(measure.run(measure.build(wine))) == RECORDED, RERECORD


@pytest.mark.slow
def test_wine_splits_our_command_lines_into_what_they_were_made_of(measure, wine):
    draw = random.Random(7)
    commands = [
        ["x", *("".join(draw.choices('\\" \tab', k=draw.randint(0, 12))) for _ in range(5))]
        for _ in range(300)
    ]
    lines = [command_line(words).encode("utf-16-be").hex() for words in commands]
    printed = measure.run(measure.build(wine), "split", text="\n".join(lines) + "\n")

    found = [
        [bytes.fromhex(word.strip()).decode("utf-16-be") for word in line.split(";")[:-1]]
        for line in printed.splitlines()
    ]
    assert found == commands


def test_a_call_on_another_system_says_what_is_missing():
    if sys.platform == "win32":
        pytest.skip("it can be made there")
    from ferrule_sandbox_windows.calls import call

    with pytest.raises(OSError, match=r"kernel32\.dll is part of Windows"):
        call("GetLogicalDrives")


def test_the_launcher_says_in_words_why_it_cannot_start_anything():
    ended = subprocess.run(
        [sys.executable, "-I", "-m", "ferrule_sandbox_windows.launcher", "/not/there"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 127
    assert "could not be started in the sandbox" in ended.stderr
    assert "Traceback" not in ended.stderr
