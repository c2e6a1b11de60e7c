"""How a command line is shown: quoted, and described where it is plain."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule_shell.actions import actions
from ferrule_shell.quoting import join, quote


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        pytest.param("", "''", id="empty"),
        pytest.param("pwd", "pwd", id="plain"),
        pytest.param("echo hi", "'echo hi'", id="blank"),
        pytest.param("echo it's", '"echo it\'s"', id="single quote"),
        pytest.param(
            "head -c 3 /dev/zero | tr '\\0' x", "\"head -c 3 /dev/zero | tr '\\\\0' x\"", id="both"
        ),
        pytest.param(
            "echo $0; grep -E '^(A|B)' | sort",
            "'echo $0; grep -E '\"'\"'^(A|B)'\"' | sort\"",
            id="dollar and caret",
        ),
        pytest.param(
            "env | grep -E '^(FOO|PATH=)' | sort",
            "\"env | grep -E '\"'^(FOO|PATH=)'\"' | sort\"",
            id="caret after a quote",
        ),
    ],
)
def test_words_are_quoted_as_clients_know_it(word, quoted):
    assert quote(word) == quoted


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",))))
def test_a_shell_reads_back_every_word(word):
    assert shlex.split(join(("x", word))) == ["x", word]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.txt", {"type": "read", "name": "a.txt", "path": "/ws/a.txt"}),
        ("head -n 5 src/a.py", {"type": "read", "name": "a.py", "path": "/ws/src/a.py"}),
        ("sed -n 1,20p /etc/x", {"type": "read", "name": "x", "path": "/etc/x"}),
        ("ls", {"type": "listFiles", "path": None}),
        ("ls -la src", {"type": "listFiles", "path": "src"}),
        ("rg --files", {"type": "listFiles", "path": None}),
        ("rg -n needle src", {"type": "search", "query": "needle", "path": "src"}),
        ("grep 'two words' a.txt", {"type": "search", "query": "two words", "path": "a.txt"}),
        ("cat a.txt > b.txt", {"type": "unknown"}),
        ("cat a.txt && rm a.txt", {"type": "unknown"}),
        ("cat $FILE", {"type": "unknown"}),
        ("cat 'unclosed", {"type": "unknown"}),
        ("", {"type": "unknown"}),
        ("make test", {"type": "unknown"}),
    ],
)
def test_plain_commands_are_described(command, expected):
    assert actions(command, "/ws") == [{"command": command, **expected}]
