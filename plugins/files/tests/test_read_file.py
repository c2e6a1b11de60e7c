"""A part of a text file, numbered; anything else is refused in a sentence."""

from __future__ import annotations

import pytest

from ferrule_files.reading import MAX_BYTES, MAX_LINE
from ferrule_hookspecs import ToolArgumentError, ToolError
from ferrule_hookspecs.tools import SandboxDeniedError


def test_lines_are_numbered_from_one(bench):
    bench.write({"f": "a\r\n\nc"})
    assert bench("read_file", path="f") == "     1\ta\n     2\t\n     3\tc\n"


def test_a_part_says_where_to_go_on(bench):
    bench.write({"f": "".join(f"l{n}\n" for n in range(1, 11))})
    assert bench("read_file", path="f", offset=3, limit=2) == (
        "     3\tl3\n     4\tl4\n… 6 more lines; go on with offset 5\n"
    )
    assert bench("read_file", path="f", offset=9, limit=5) == "     9\tl9\n    10\tl10\n"


def test_long_lines_are_cut(bench):
    bench.write({"f": "x" * (MAX_LINE + 7)})
    assert bench("read_file", path="f").endswith("x… (7 more characters)\n")


def test_no_more_is_shown_than_the_model_may_read(bench):
    bench.output_token_limit = 25
    bench.write({"f": "0123456789\n" * 50})
    output = bench("read_file", path="f")
    assert output.count("0123456789") == 5
    assert output.endswith("… 45 more lines; go on with offset 6\n")


def test_an_empty_file_says_so(bench):
    bench.write({"f": ""})
    assert bench("read_file", path="f") == f"{bench.folder}/f is empty"


@pytest.mark.parametrize(
    ("tree", "arguments", "message"),
    [
        ({}, {"path": "f"}, "f does not exist"),
        ({"d/x": ""}, {"path": "d"}, "is not a file but a directory"),
        ({"f": b"\x7fELF\0"}, {"path": "f"}, "is a binary file of 5 bytes"),
        ({"f": "a\n"}, {"path": "f", "offset": 2}, "has 1 lines; offset 2 is past its end"),
        ({"f": "a"}, {"path": "f/x"}, "f/x does not exist"),
    ],
)
def test_what_cannot_be_read_is_named(bench, tree, arguments, message):
    bench.write(tree)
    with pytest.raises(ToolError, match=message):
        bench("read_file", **arguments)


def test_a_huge_file_is_not_loaded(bench):
    with (bench.folder / "f").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ToolError, match="sed -n"):
        bench("read_file", path="f")


def test_what_the_policy_hides_stays_hidden(bench):
    bench.write({"secret": "s"})
    bench.deny_read = (str(bench.folder / "secret"),)
    with pytest.raises(SandboxDeniedError):
        bench("read_file", path="secret")


@pytest.mark.parametrize(
    "arguments",
    [{}, {"path": 1}, {"path": "a\0"}, {"path": "f", "offset": 0}, {"path": "f", "limit": "1"}],
)
def test_wrong_arguments_are_refused(bench, arguments):
    with pytest.raises(ToolArgumentError, match="failed to parse function arguments"):
        bench("read_file", **arguments)


@pytest.mark.parametrize(
    ("config", "on"),
    [
        ({}, False),
        ({"features": {"file_tools": True}}, True),
        ({"tools": {"NAME": {"enabled": True}}}, True),
        ({"features": {"file_tools": True}, "tools": {"NAME": {"enabled": False}}}, False),
    ],
    ids=["default", "feature", "one by one", "all but one"],
)
@pytest.mark.parametrize("name", ["read_file", "list_dir", "grep_files"])
def test_the_tools_are_off_until_switched_on(bench, name, config, on):
    named = {
        key: {name if inner == "NAME" else inner: value for inner, value in table.items()}
        for key, table in config.items()
    }
    assert bench.tool(name, named).is_enabled() is on
    assert bench.tool(name).schema().name == name
