"""What one file of rules gave: its rules, and what is wrong with it if something is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ferrule_rules.rule_set import RuleSet

_LINE_RULE: Final = (
    r"[ \t]*(?:(?:allow|prompt|forbidden|deny)[ \t]+(?:prefix|exact|network)\b|executable[ \t]+\w)"
)
_MAY_RESTRICT: Final = r"prompt|forbid|deny|\bask\b|load\s*\(|\bchr\b|join"
LARGEST: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a file cannot be used as a whole.

    Attributes:
        file: The file.
        line: The line, from 1; 0 where it is not known.
        column: The column, from 1.
        message: What is wrong.
        excerpt: The line and a caret below it.
        may_restrict: Whether the file may hold rules that ask or forbid.
    """

    file: str
    line: int
    column: int
    message: str
    excerpt: str = ""
    may_restrict: bool = True

    @property
    def summary(self) -> str:
        """One line: where, and what."""
        return f"{self.file}:{self.line}:{self.column}: {self.message}"

    def __str__(self) -> str:
        effect = "its allowing rules do not count"
        if self.may_restrict:
            effect += ", and commands need approval until it is mended"
        text = f"the rules file {self.summary} ({effect})"
        return f"{text}\n{self.excerpt}" if self.excerpt else text


@dataclass(slots=True)
class RuleFile:
    """The rules of one file.

    Attributes:
        path: The file.
        rules: What could be read.
        flaws: What is wrong; with any, the allowing rules are gone.
    """

    path: str
    rules: RuleSet = field(default_factory=RuleSet)
    flaws: list[Flaw] = field(default_factory=list[Flaw])

    def usable(self) -> RuleSet:
        """The rules that count."""
        if not self.flaws:
            return self.rules
        kept = RuleSet()
        for rule in self.rules.restricting():
            kept.add(rule)
        kept.network += [rule for rule in self.rules.network if rule.decision != "allow"]
        return kept


def excerpt(text: str, line: int, column: int) -> str:
    """Show a line with a caret below a column."""
    lines = text.splitlines()
    if not 0 < line <= len(lines):
        return ""
    number = str(line)
    margin = " " * len(number)
    return f"{number} | {lines[line - 1]}\n{margin} | {' ' * (column - 1)}^"


def may_restrict(text: str) -> bool:
    """Whether a file that cannot be read may ask or forbid."""
    return re.search(_MAY_RESTRICT, text) is not None


def read_rules(path: str, text: str) -> RuleFile:
    """Read a file of rules in whichever language it is written."""
    if is_line_syntax(text):
        from ferrule_rules.line_front import read_lines

        return read_lines(path, text)
    from ferrule_rules.starlark_front import read_starlark

    return read_starlark(path, text)


def is_line_syntax(text: str) -> bool:
    """Tell plain lines from Starlark by the first line that says something."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return re.match(_LINE_RULE, line) is not None
    return False
