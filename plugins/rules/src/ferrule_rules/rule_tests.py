"""Test files of users: what should be decided about which command, one line each.

allow: git status
forbidden: git -C /x push --force
prompt: npm install left-pad
none: make
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import FerruleError
from ferrule_rules.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_rules.sources import Policy

_WANTED: Final = ("allow", "prompt", "forbidden", "none")


class Report(NamedTuple):
    """What the tests gave."""

    lines: tuple[str, ...]
    failures: int


def test_files(policy: Policy) -> list[str]:
    """The test files that lie beside the rules."""
    folders = dict.fromkeys(os.path.dirname(file.path) for file in policy.files)
    return [
        os.path.join(folder, name)
        for folder in folders
        for name in sorted(os.listdir(folder))
        if name.endswith(".test")
    ]


def run_tests(policy: Policy, tests: Sequence[str]) -> Report:
    """Check the rule files, and what they decide about the commands of test files."""
    lines = [str(flaw) for flaw in policy.flaws]
    failures = len(policy.flaws)
    count = 0
    for path in tests:
        for number, wanted, command in _cases(path):
            count += 1
            answer = Answer.of([command], policy, resolve=True)
            if answer.effective != wanted:
                failures += 1
                reason = f": {answer.verdict.reason}" if answer.verdict else ""
                lines.append(
                    f"{path}:{number}: wanted {wanted}, got {answer.effective}{reason}\n  {command}"
                )
    rules = len(policy.rules.rules) + len(policy.rules.network)
    lines.append(f"{rules} rules in {len(policy.files)} files, {count} commands, {failures} wrong")
    return Report(tuple(lines), failures)


def _cases(path: str) -> list[tuple[int, str, str]]:
    try:
        with open(path, encoding="utf-8") as opened:
            text = opened.read()
    except OSError as error:
        raise FerruleError(f"the test file {path!r} cannot be read: {error}") from None
    cases: list[tuple[int, str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        wanted, sign, command = line.partition(":")
        if not sign or wanted.strip() not in _WANTED or not command.strip():
            raise FerruleError(
                f"{path}:{number}: write `allow: COMMAND`; or prompt, forbidden, none"
            )
        cases.append((number, wanted.strip(), command.strip()))
    return cases
