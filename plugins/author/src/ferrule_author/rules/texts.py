"""What is written for people, and the tests."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ferrule_author.finding import Finding, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_author.subject import Subject


def look_at_texts(subject: Subject) -> Iterator[Finding]:
    """Check the README, the docstrings, the typing marker and that there are tests."""
    for point in subject.points:
        if subject.readme is not None and point.name not in subject.readme:
            text = f"the README never names {point.name!r}"
            yield error("docs.readme", "README", text, "say how to turn it on and try it")
    for module in sorted({point.module for point in subject.points}):
        yield from _docstrings(subject, module)
    for package in subject.packages:
        if (subject.source / package).is_dir() and not (
            subject.source / package / "py.typed"
        ).is_file():
            text = "type checkers ignore the annotations of a package without py.typed"
            yield warning("typing.marker", package, text, f"add an empty {package}/py.typed")
    if subject.checkout is not None:
        yield from _tests(subject)


def _docstrings(subject: Subject, module: str) -> Iterator[Finding]:
    path = subject.file_of(module)
    tree = _parsed(path.read_text("utf-8", errors="replace")) if path else None
    if path is None or tree is None:
        return
    for node in tree.body:
        is_named = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_named and not node.name.startswith("_") and not ast.get_docstring(node):
            where = f"{subject.shown(path)}:{node.lineno}"
            yield warning("docs.docstrings", where, f"{node.name} has no docstring", "write one")


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:  # told by the rules about the code
        return None


def _tests(subject: Subject) -> Iterator[Finding]:
    folder = subject.checkout / "tests" if subject.checkout else subject.source
    files = [*folder.rglob("test_*.py"), *folder.rglob("*_test.py")]
    if not files:
        mend = "write one; `ferrule plugins new` shows how"
        yield error("tests.present", "tests", "there is no tests/test_*.py", mend)
    elif not any("Conformance" in file.read_text("utf-8", errors="replace") for file in files):
        mend = "subclass the suite of its slot, such as ferrule_testkit.ToolConformance"
        yield warning("tests.conformance", "tests", "no conformance suite is among the tests", mend)
