"""Where the prompt comes from: the command line, stdin, or both, without ever hanging."""

from __future__ import annotations

import os
import pty
from contextlib import contextmanager

import pytest

from ferrule_exec import prompt as prompt_module
from ferrule_exec.prompt import PromptError, Stdin, compose
from ferrule_exec.stream import Stream


@contextmanager
def pipe_with(data: bytes, *, is_open: bool = False):
    reader, writer = os.pipe()
    os.write(writer, data)
    if not is_open:
        os.close(writer)
    try:
        yield Stdin(reader)
    finally:
        os.close(reader)
        if is_open:
            os.close(writer)


@pytest.fixture
def progress(tmp_path):
    fd = os.open(tmp_path / "stderr", os.O_RDWR | os.O_CREAT)
    stream = Stream(fd)
    stream.text = lambda: (tmp_path / "stderr").read_text()
    yield stream
    os.close(fd)


def test_without_a_prompt_stdin_is_the_prompt(progress):
    with pipe_with(b"from stdin\nline 2\n") as stdin:
        assert compose(None, stdin, progress) == "from stdin\nline 2\n"
    assert progress.text() == "Reading prompt from stdin...\n"


def test_a_dash_reads_stdin_without_a_word(progress):
    with pipe_with(b"from stdin") as stdin:
        assert compose("-", stdin, progress) == "from stdin"
    assert progress.text() == ""


def test_an_empty_stdin_is_no_prompt(progress):
    with pipe_with(b" \n") as stdin, pytest.raises(PromptError, match="No prompt provided"):
        compose(None, stdin, progress)


def test_additional_input_is_appended_in_a_frame(progress):
    with pipe_with(b"some log") as stdin:
        assert compose("explain", stdin, progress) == "explain\n\n<stdin>\nsome log\n</stdin>"
    assert progress.text() == "Reading additional input from stdin...\n"


@pytest.mark.parametrize("data", [b"", b"\n"])
def test_no_additional_input_leaves_the_prompt_alone(progress, data):
    with pipe_with(data) as stdin:
        assert compose("explain", stdin, progress) == "explain"


def test_an_open_pipe_in_which_nothing_arrives_does_not_hang(progress, monkeypatch):
    monkeypatch.setattr(prompt_module, "FIRST_DATA_S", 0.01)
    with pipe_with(b"", is_open=True) as stdin:
        assert compose("explain", stdin, progress) == "explain"


def test_a_terminal_is_not_read(progress):
    master, terminal = pty.openpty()
    try:
        assert compose("explain", Stdin(terminal), progress) == "explain"
        with pytest.raises(PromptError, match="give one"):
            compose(None, Stdin(terminal), progress)
    finally:
        os.close(master)
        os.close(terminal)


def test_a_closed_stdin_counts_as_empty(progress):
    fd = os.dup(0)
    os.close(fd)
    assert compose("explain", Stdin(fd), progress) == "explain"


def test_bytes_that_are_no_text_are_refused(progress):
    with pipe_with(b"ok \xff") as stdin, pytest.raises(PromptError, match="byte 3"):
        compose(None, stdin, progress)
