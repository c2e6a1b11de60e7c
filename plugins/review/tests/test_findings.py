"""Answers of a model: findings where they can be read, and its words where they cannot."""

import json

import pytest

from ferrule_review.findings import read_answer

FINDING = {
    "title": "[P1] Bug here",
    "body": "it breaks",
    "confidence_score": 0.9,
    "priority": 1,
    "code_location": {"absolute_file_path": "/w/a.py", "line_range": {"start": 1, "end": 2}},
}
ANSWER = {
    "findings": [FINDING],
    "overall_correctness": "patch is incorrect",
    "overall_explanation": "one bug",
    "overall_confidence_score": 0.8,
}
SHOWN = "one bug\n\nReview comment:\n\n- [P1] Bug here — /w/a.py:1-2\n  it breaks"


@pytest.mark.parametrize(
    "around",
    ["{}", "\n{}\n", "```json\n{}\n```", "Here is what I found:\n\n{}\n\nThat is all."],
    ids=["bare", "blanks", "fence", "words"],
)
def test_findings_are_read_whatever_stands_around_them(around):
    result = read_answer(around.replace("{}", json.dumps(ANSWER)))

    assert result.findings == ANSWER
    assert result.text == SHOWN


def test_several_findings():
    second = {**FINDING, "title": "[P2] Slow", "body": "first line\n\nsecond line"}

    result = read_answer(json.dumps({**ANSWER, "findings": [FINDING, second]}))

    assert result.text == (
        "one bug\n\nReview comments:\n\n- [P1] Bug here — /w/a.py:1-2\n  it breaks\n\n"
        "- [P2] Slow — /w/a.py:1-2\n  first line\n\n  second line"
    )


@pytest.mark.parametrize(
    "text",
    ["plain text review", "{ not json", '["a", "list"]', '{"other": 1}', "{" * 100_000, "null"],
    ids=["words", "broken", "list", "other", "deep", "null"],
)
def test_what_is_no_answer_is_shown_as_it_is(text):
    result = read_answer(text)

    assert result.text == text
    assert result.findings["overall_explanation"] == text
    assert result.findings["findings"] == []


def test_no_findings():
    answer = {**ANSWER, "findings": [], "overall_correctness": "patch is correct"}

    assert read_answer(json.dumps(answer)).text == "one bug"
    assert read_answer(json.dumps({**answer, "overall_explanation": ""})).text == "patch is correct"
    assert read_answer('{"findings": []}').text == "The review found nothing to report."


def test_what_can_be_read_of_a_bad_answer_is_kept():
    answer = {
        "findings": [
            {"title": "only a title"},
            {"body": "only a body", "confidence_score": "high", "priority": 9},
            "only words",
            {},
            7,
            {**FINDING, "confidence_score": 17, "code_location": {"line_range": {"start": 5}}},
        ],
        "overall_confidence_score": float("nan"),
        "overall_explanation": ["a", "list"],
    }

    result = read_answer(json.dumps(answer))

    titles = [finding["title"] for finding in result.findings["findings"]]
    assert titles == ["only a title", "only a body", "only words", "[P1] Bug here"]
    scores = [finding["confidence_score"] for finding in result.findings["findings"]]
    assert scores == [0.0, 0.0, 0.0, 1.0]
    assert result.findings["findings"][1]["priority"] == 3
    place = result.findings["findings"][3]["code_location"]
    assert place == {"absolute_file_path": "", "line_range": {"start": 5, "end": 5}}
    assert result.findings["overall_confidence_score"] == 0.0
    json.dumps(result.findings, allow_nan=False)


def test_a_score_beyond_all_bounds_costs_no_finding():
    answer = json.dumps({**ANSWER, "overall_confidence_score": 10**400})

    assert read_answer(answer).findings == {**ANSWER, "overall_confidence_score": 1.0}
