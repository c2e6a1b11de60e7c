"""Reviews of changes by a model: what is reviewed, how a plugin has it done, and what comes of it.

Not to be confused with the approval of tool calls, which is `ferrule_hookspecs.review`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, NotRequired

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence


class UncommittedTarget(TypedDict):
    """Changes that are staged, not staged, or in files that are not tracked."""

    type: Literal["uncommittedChanges"]


class BaseBranchTarget(TypedDict):
    """Everything since the working tree left a branch."""

    type: Literal["baseBranch"]
    branch: str


class CommitTarget(TypedDict):
    """What one commit changed; `title` is how people call it."""

    type: Literal["commit"]
    sha: str
    title: NotRequired[str | None]


class CustomTarget(TypedDict):
    """Whatever the user's own words say."""

    type: Literal["custom"]
    instructions: str


ReviewTarget = UncommittedTarget | BaseBranchTarget | CommitTarget | CustomTarget


class LineRange(TypedDict):
    """Lines from 1, both included."""

    start: int
    end: int


class CodeLocation(TypedDict):
    """Where in the code."""

    absolute_file_path: str
    line_range: LineRange


class ReviewFinding(TypedDict):
    """One thing to mend; a priority of 0 is the most urgent, 3 the least."""

    title: str
    body: str
    confidence_score: float
    priority: int | None
    code_location: CodeLocation


class ReviewFindings(TypedDict):
    """All that a review found; scores go from 0 to 1."""

    findings: list[ReviewFinding]
    overall_correctness: str
    overall_explanation: str
    overall_confidence_score: float


class ReviewResult(NamedTuple):
    """What came of a review.

    Attributes:
        text: For people; it becomes the answer of the turn.
        findings: The same for programs.
    """

    text: str
    findings: ReviewFindings


class ReviewTask(NamedTuple):
    """How a review is done: in a turn with a conversation of its own.

    Attributes:
        label: What is reviewed, in a few words; only the user's own words may be among them.
        prompt: What the model is asked.
        instructions: Stands in place of the base prompt.
        tools: Names of the tools it may use, of those the thread has.
        read: Makes the result out of the model's last message.
        model: Another model than the thread's; empty for the same.
    """

    label: str
    prompt: str
    instructions: str
    tools: Sequence[str]
    read: Callable[[str], ReviewResult]
    model: str = ""


class ReviewRefusal(NamedTuple):
    """Why nothing can be reviewed: one sentence for the user."""

    reason: str
