"""Every recorded patch gives the recorded outcome, tree and text, or a listed improvement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve()
_CASES = next(
    (
        path
        for root in _HERE.parents
        if (path := root.parent / "shared/conformance/apply_patch/cases.jsonl").is_file()
    ),
    None,
)
_DIFFERENCES = json.loads((_HERE.parent / "differences.json").read_text())


def _cases():
    if _CASES is None:
        return []
    return [json.loads(line) for line in _CASES.read_text().splitlines()]


def _spoken_to_the_model(stderr):
    """What the command says on stderr, in the words the tool uses for it."""
    message = stderr.removesuffix("\n")
    if message.startswith("Invalid patch hunk on line "):
        number, text = message.removeprefix("Invalid patch hunk on line ").split(": ", 1)
        message = f"invalid hunk at line {number}, {text}"
    if message.startswith("Invalid patch: "):
        message = "i" + message[1:]
    return f"apply_patch verification failed: {message}"


def _check(bench, case):
    bench.write(case["input"])
    outside = str(bench.folder.parent / "outside")
    patch = case["patch"].replace("/scratch", outside)
    result = bench.apply(patch)
    difference = _DIFFERENCES.get(case["id"], {})
    expected = {**case, **difference}
    assert result.success == (expected["rc"] == 0)
    assert bench.tree() == expected["expected"]
    if result.success:
        stdout = expected["stdout"].replace("/scratch", outside)
        assert result.output.split("Output:\n", 1)[1] == stdout
    else:
        said = difference.get("said") or _spoken_to_the_model(expected["stderr"])
        assert result.output == said.replace("<CWD>", str(bench.folder))


@pytest.mark.skipif(_CASES is None, reason="the folder shared/conformance is not here")
@pytest.mark.parametrize("case", _cases(), ids=lambda case: case["id"])
def test_recorded_case(bench, case):
    _check(bench, case)


@pytest.mark.skipif(_CASES is None, reason="the folder shared/conformance is not here")
def test_every_listed_difference_names_a_case_and_a_reason():
    known = {case["id"] for case in _cases()}
    for name, difference in _DIFFERENCES.items():
        assert name in known
        assert difference["reason"]
