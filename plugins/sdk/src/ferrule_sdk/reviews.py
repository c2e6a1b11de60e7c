"""Reviews of changes: what is to be reviewed, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_sdk.errors import OutputError
from ferrule_sdk.turn import TurnResult

if TYPE_CHECKING:
    from ferrule_hookspecs.change_review import ReviewFindings, ReviewTarget


def review_target(
    instructions: str | None, base: str | None, commit: str | None, title: str | None
) -> ReviewTarget:
    """Return the target in wire form.

    Raises:
        ValueError: More than one thing is named, or a title without a commit.
    """
    if sum(each is not None for each in (instructions, base, commit)) > 1:
        raise ValueError("one thing is reviewed at a time: instructions, a base or a commit")
    if title is not None and commit is None:
        raise ValueError("a title names the commit that is reviewed")
    if base is not None:
        return {"type": "baseBranch", "branch": base}
    if commit is not None:
        return {"type": "commit", "sha": commit, "title": title}
    if instructions is not None:
        return {"type": "custom", "instructions": instructions}
    return {"type": "uncommittedChanges"}


def with_findings(result: TurnResult[None]) -> TurnResult[ReviewFindings]:
    """Return the end of a review with what it found as the parsed answer.

    Raises:
        OutputError: The review was interrupted.
    """
    if result.status != "completed":
        raise OutputError(f"the review was {result.status} before it gave its answer", result.text)
    found = _findings(result)
    return TurnResult(
        result.text, found, result.items, result.usage, diff=result.diff, turn=result.turn
    )


def _findings(result: TurnResult[None]) -> ReviewFindings:
    for item in reversed(result.items):
        if item["type"] == "exitedReviewMode" and "findings" in item:
            return item["findings"]
    return {  # of a server that has only words for it
        "findings": [],
        "overall_correctness": "",
        "overall_explanation": result.text,
        "overall_confidence_score": 0.0,
    }
