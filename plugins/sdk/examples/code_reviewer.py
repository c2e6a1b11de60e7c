"""Reviews what changed since a commit, for CI: `python code_reviewer.py main`.

Exit code 0: nothing found, 1: findings, 2: no review came about.
"""

import sys
from typing import Literal

import anyio
from pydantic import BaseModel

from ferrule_sdk import Ferrule, SdkError

PROMPT = """\
Review the changes that `git diff {base}` shows. Read the code around them where you need to. Report
what is wrong and would matter to its users: bugs, lost data, open doors. Leave style alone. No
finding at all is a good answer.
"""


class Finding(BaseModel):
    """One thing that is wrong."""

    file: str
    line: int | None
    severity: Literal["error", "warning"]
    problem: str


class Review(BaseModel):
    """What the model answers."""

    summary: str
    findings: list[Finding]


async def review(base: str) -> Review:
    """Ask for a review; nothing can be changed by it."""
    async with Ferrule() as f:
        thread = await f.thread(sandbox="read-only", approval_policy="never", ephemeral=True)
        result = await thread.run(PROMPT.format(base=base), schema=Review)
    return result.parsed


def main() -> int:
    """Print the review."""
    try:
        found = anyio.run(review, sys.argv[1] if len(sys.argv) > 1 else "HEAD")
    except SdkError as error:
        print(f"no review: {error}", file=sys.stderr)
        return 2
    print(found.summary)
    for finding in found.findings:
        print(f"{finding.file}:{finding.line or 1}: {finding.severity}: {finding.problem}")
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
