"""What the project says about itself, and which contract it is written for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ferrule_author.finding import Finding, error, warning
from ferrule_author.subject import normal_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_author.subject import Subject

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_REQUIREMENT: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^]]*\])?\s*\(?([^;)]*)")
_CLAUSE: Final = re.compile(r"(~=|===|==|!=|>=|<=|>|<)\s*v?(\d+(?:\.\d+)*)(.*)")
_LOWER: Final = {">=", ">", "~=", "==", "==="}
_UPPER: Final = {"<=", "<", "~=", "==", "==="}
_CONTRACT: Final = "ferrule-hookspecs"


def look_at_metadata(subject: Subject) -> Iterator[Finding]:
    """Check the fields that users, installers and indexes read."""
    place = subject.shown(subject.place)
    if not _NAME.fullmatch(subject.name):
        yield error("metadata.name", place, f"{subject.name!r} is no name", "set project.name")
    if not subject.version and not subject.is_dynamic:
        yield error("metadata.version", place, "there is no version", "set project.version")
    if not subject.description.strip():
        text = "nothing says what it is"
        yield error("metadata.description", place, text, "set project.description")
    if not subject.python:
        text = "it does not say which Python it needs"
        yield error("metadata.python", place, text, 'set requires-python = ">=3.11"')
    if subject.readme is None:
        yield error("metadata.readme", place, "there is no README", "write README.md and name it")
    if not subject.license:
        mend = "set project.license to an SPDX expression, and add the file LICENSE"
        yield warning("metadata.license", place, "no licence is chosen", mend)
    if not subject.author:
        mend = "set project.authors"
        yield warning("metadata.author", place, "nobody is named as its author", mend)


def look_at_contract(subject: Subject, installed: str) -> Iterator[Finding]:
    """Check the range of the contract that the project asks for."""
    place = subject.shown(subject.place)
    found = [match for text in subject.requirements if (match := _REQUIREMENT.match(text))]
    wanted = [match[2] for match in found if normal_name(match[1]) == _CONTRACT]
    if not wanted:
        text = f"it does not depend on {_CONTRACT}"
        yield error("contract.range", place, text, f'add "{_CONTRACT}>=0.1,<1" to dependencies')
        return
    clauses = [_CLAUSE.match(clause.strip()) for clause in wanted[0].split(",")]
    operators = {clause[1] for clause in clauses if clause}
    for bound, kinds in (("lower", _LOWER), ("upper", _UPPER)):
        if not operators & kinds:
            text = f"{_CONTRACT}{wanted[0]} has no {bound} bound"
            yield error("contract.range", place, text, f'write "{_CONTRACT}>=0.1,<1"')
    if not all(_fits(installed, clause) for clause in clauses if clause):
        text = f"it asks for {_CONTRACT}{wanted[0]}, and {installed} is installed"
        yield error(
            "contract.fits", place, text, f"widen the range, or install another {_CONTRACT}"
        )


def _fits(version: str, clause: re.Match[str]) -> bool:
    operator, wanted, rest = clause.groups()
    left = _numbers(re.match(r"[\d.]*", version)[0])  # pyright: ignore[reportOptionalSubscript] -- it matches always
    right = _numbers(wanted)
    prefix = left[: wanted.count(".") + (1 if operator != "~=" else 0)]
    if operator == "~=":
        return left >= right and prefix == right[: len(prefix)]
    if operator in ("==", "!=") and rest.strip() == ".*":
        return (prefix == right[: len(prefix)]) is (operator == "==")
    return {
        ">=": left >= right,
        "<=": left <= right,
        ">": left > right,
        "<": left < right,
        "!=": left != right,
    }.get(operator, left == right)


def _numbers(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in text.strip(".").split(".") if part]
    return tuple([*numbers, 0, 0, 0][: max(3, len(numbers))])
