"""The schema of the last message: what is checked, and how problems are worded."""

from __future__ import annotations

import json

import pytest

from ferrule_exec.schema import OutputSchema, OutputSchemaError

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


@pytest.fixture
def read(tmp_path):
    def read(content) -> OutputSchema:
        path = tmp_path / "schema.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return OutputSchema.read(str(path))

    return read


def test_an_answer_that_follows_the_schema_has_no_problem(read):
    assert read(SCHEMA).problem('{"answer": "42"}') is None


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (None, "no message"),
        ("42!", "not JSON"),
        ('{"answer": 42}', r"\$\.answer: 42 is not of type 'string'"),
        ("{}", "'answer' is a required property"),
    ],
    ids=["none", "prose", "type", "missing"],
)
def test_a_problem_names_its_place(read, answer, named):
    import re

    assert re.search(named, read(SCHEMA).problem(answer))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("{nope", "not valid JSON"),
        ("[]", "must hold a JSON object"),
        ({"type": "nope"}, "not a valid JSON Schema"),
    ],
    ids=["json", "object", "schema"],
)
def test_an_unusable_schema_is_refused_before_anything_is_asked(read, content, named):
    with pytest.raises(OutputSchemaError, match=named):
        read(content)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OutputSchemaError, match=r"nope\.json: No such file"):
        OutputSchema.read(str(tmp_path / "nope.json"))


def test_a_reference_to_elsewhere_fetches_nothing(read):
    schema = read({"$ref": "https://example.invalid/schema.json"})
    assert "outside" in schema.problem("{}")
