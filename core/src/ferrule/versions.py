"""Versions and version specifiers, as far as plugins need them.

A subset of the packaging standard: release numbers with an optional pre-release or post-release,
and the operators that appear in `Requires-Dist`. What is not understood, as epochs, raises, so that
a caller fails closed.
"""

from __future__ import annotations

import re
from typing import Final

_VERSION: Final = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>a|b|c|rc|alpha|beta|pre|preview|dev)[-_.]?(?P<number>\d*))?"
    r"(?:[-_.]?(?:post|rev|r)[-_.]?(?P<post>\d*))?(?:[-_.]?dev\d*)?(?:\+[a-z0-9.]+)?",
    re.IGNORECASE,
)
_STEPS: Final = ("dev", "a", "b", "rc")
_SPELLINGS: Final = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_FINAL: Final = (len(_STEPS), 0)
_CLAUSE: Final = re.compile(r"(~=|===|==|!=|>=|<=|>|<)\s*([^\s,]+)")
_REQUIREMENT: Final = re.compile(r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?P<rest>.*)")

Version = tuple[tuple[int, ...], tuple[int, int]]
"""The numbers, and how far the version is from a pre-release to the final one and beyond."""


def normal_name(name: str) -> str:
    """Spell a distribution's name the one way in which names can be compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse(text: str) -> Version:
    """Read a version into something that can be compared.

    Raises:
        ValueError: It is not a version.
    """
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a version")
    numbers = [int(part) for part in match["release"].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    if match["pre"] is None:
        post = match["post"]
        return tuple(numbers), _FINAL if post is None else (_FINAL[0], 1 + int(post or 0))
    word = match["pre"].lower()
    return tuple(numbers), (_STEPS.index(_SPELLINGS.get(word, word)), int(match["number"] or 0))


def satisfies(version: str, specifier: str) -> bool:
    """Tell whether a version fits a specifier such as `>=1.2,<2`; an empty one fits all.

    Raises:
        ValueError: One of them cannot be read.
    """
    clauses = [clause.strip() for clause in specifier.strip().strip("()").split(",")]
    return all(_fits(version, clause) for clause in clauses if clause)


def split_requirement(text: str) -> tuple[str, str]:
    """Split `dist>=1.2` into the name and the specifier.

    Raises:
        ValueError: It does not begin with a name.
    """
    match = _REQUIREMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} does not name a plugin or a distribution")
    return match["name"], match["rest"].strip()


def _fits(version: str, clause: str) -> bool:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        raise ValueError(f"{clause!r} is not a version specifier")
    operator, wanted = match.groups()
    if operator in {"==", "!="} and wanted.endswith(".*"):
        return _has_prefix(version, wanted[:-2]) is (operator == "==")
    if operator == "===":
        return version == wanted
    if operator == "~=":
        prefix = wanted.rpartition(".")[0]
        if not prefix:
            raise ValueError(f"{clause!r} needs at least two numbers")
        return parse(version) >= parse(wanted) and _has_prefix(version, prefix)
    left, right = parse(version), parse(wanted)
    return {
        "==": left == right,
        "!=": left != right,
        ">=": left >= right,
        "<=": left <= right,
        ">": left > right and not _follows(left, right),
        "<": left < right and not _leads_to(left, right),
    }[operator]


def _leads_to(version: Version, final: Version) -> bool:
    """Tell whether a version is a pre-release of a final one: `<2` leaves 2.0rc1 out."""
    return version[0] == final[0] and version[1] != _FINAL and final[1] == _FINAL


def _follows(version: Version, final: Version) -> bool:
    """Tell whether a version is a post-release of a final one: `>1` leaves 1.post1 out."""
    return version[0] == final[0] and final[1] == _FINAL


def _has_prefix(version: str, prefix: str) -> bool:
    wanted = [int(part) for part in prefix.split(".")]
    numbers = list(parse(version)[0])
    numbers += [0] * (len(wanted) - len(numbers))
    return numbers[: len(wanted)] == wanted
