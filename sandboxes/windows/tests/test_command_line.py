"""Command lines and environments that come out as they went in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_sandbox_windows.command_line import (
    command_line,
    environment_block,
    environment_entries,
)

WORDS = st.text(
    st.one_of(st.sampled_from('\\" \t\nab&|^%!'), st.characters(exclude_characters="\0")),
    max_size=20,
)
PROGRAMS = WORDS.filter(lambda text: text and '"' not in text)
NAMES = st.text("abcAB_", min_size=1, max_size=5)


def split(line):
    """Split a command line as `CommandLineToArgvW` is documented to."""
    end = line.index('"', 1)
    return [line[1:end], *_arguments(line[end + 1 :])]


def _arguments(text):
    found, position = [], 0
    while True:
        while position < len(text) and text[position] in " \t":
            position += 1
        if position == len(text):
            return found
        word, quoted = "", False
        while position < len(text) and (quoted or text[position] not in " \t"):
            backslashes = 0
            while text[position : position + 1] == "\\":
                backslashes, position = backslashes + 1, position + 1
            if text[position : position + 1] != '"':
                word += "\\" * backslashes
                if backslashes == 0:
                    word, position = word + text[position], position + 1
                continue
            word += "\\" * (backslashes // 2)
            if backslashes % 2:
                word += '"'
            else:
                quoted = not quoted
            position += 1
        found.append(word)


@given(program=PROGRAMS, arguments=st.lists(WORDS, max_size=5))
def test_a_program_finds_its_arguments_again(program, arguments):
    assert split(command_line([program, *arguments])) == [program, *arguments]


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        ("plain", "plain"),
        ("", '""'),
        ("two words", '"two words"'),
        ("C:\\dir\\", "C:\\dir\\"),
        ("C:\\my dir\\", '"C:\\my dir\\\\"'),
        ('say "hi"', '"say \\"hi\\""'),
        ('\\"', '"\\\\\\""'),
    ],
)
def test_arguments_are_quoted_only_where_they_must_be(argument, written):
    assert command_line(["x", argument]) == f'"x" {written}'


@pytest.mark.parametrize("argv", [['a"b'], ["a", "b\0c"], ["a", "b" * 40_000]])
def test_what_cannot_be_written_is_refused(argv):
    with pytest.raises(SandboxUnavailableError):
        command_line(argv)


@given(st.dictionaries(NAMES, WORDS, max_size=8))
def test_an_environment_has_every_variable_once(env):
    block = environment_block(env)
    entries = block.removesuffix("\0").split("\0")[:-1]

    assert block.endswith("\0")
    assert {entry.split("=", 1)[0].upper() for entry in entries} == {name.upper() for name in env}
    assert len({entry.split("=", 1)[0].upper() for entry in entries}) == len(entries)
    for entry in entries:
        name, value = entry.split("=", 1)
        assert env[name] == value


def test_variables_are_sorted_and_the_last_of_one_name_counts():
    assert environment_entries({"b": "1", "Path": "x", "A": "2", "PATH": "y"}) == [
        "A=2",
        "b=1",
        "PATH=y",
    ]


def test_an_empty_environment_is_two_zeros_in_the_end():
    assert environment_block({}) == "\0"


@pytest.mark.parametrize("env", [{"": "x"}, {"A=B": "x"}, {"A": "x\0B=y"}])
def test_variables_that_would_be_others_are_refused(env):
    with pytest.raises(SandboxUnavailableError):
        environment_entries(env)


def test_the_drive_folders_that_cmd_keeps_go_through():
    assert environment_entries({"=C:": "C:\\w"}) == ["=C:=C:\\w"]
