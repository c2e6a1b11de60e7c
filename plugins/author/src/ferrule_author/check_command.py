"""`ferrule plugins check`: holds a plugin to rules that a machine can judge.

Exit codes: 0 where no rule is broken that matters, 1 where one is, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_author.finding import Finding
    from ferrule_author.subject import Subject
    from ferrule_hookspecs.host import Host


class CheckCommand:
    """The command line of `ferrule plugins check`."""

    help = "Check a plugin: its metadata, names, code, import, wheel and tests."
    options: Sequence[str] = ("--json", "-h", "--help")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Check a checkout or an installed distribution; returns the exit code."""
        from ferrule_author.subject import read_subject

        arguments = _parser().parse_args(argv)
        subject = read_subject(arguments.subject)
        findings = sorted(_findings(subject, host), key=lambda each: (each.level, each.rule))
        has_passed = not any(each.level == "error" for each in findings)
        write = _document if arguments.json else _report
        sys.stdout.write(write(subject, findings, has_passed=has_passed))
        return 0 if has_passed else 1


command = CheckCommand()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ferrule plugins check",
        description=CheckCommand.help,
        epilog="The plugin is imported, and its wheel is built, in processes of their own.",
        allow_abbrev=False,
    )
    shown = "PATH|DISTRIBUTION"
    help_ = "a checkout, or an installed distribution; the working directory without"
    parser.add_argument("subject", nargs="?", default=".", metavar=shown, help=help_)
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    return parser


def _findings(subject: Subject, host: Host) -> Iterator[Finding]:
    from importlib.metadata import version

    from ferrule_author.rules.code import look_at_code
    from ferrule_author.rules.imports import look_at_imports
    from ferrule_author.rules.metadata import look_at_contract, look_at_metadata
    from ferrule_author.rules.names import look_at_names
    from ferrule_author.rules.texts import look_at_texts
    from ferrule_author.rules.wheel import look_at_wheel

    yield from look_at_metadata(subject)
    yield from look_at_contract(subject, version("ferrule-hookspecs"))
    yield from look_at_names(subject, host)
    yield from look_at_texts(subject)
    yield from look_at_code(subject)
    yield from look_at_imports(subject)
    yield from look_at_wheel(subject)


def _document(subject: Subject, findings: Sequence[Finding], *, has_passed: bool) -> str:
    from ferrule_author.finding import RULES

    facts = {
        "name": subject.name,
        "version": subject.version,
        "place": str(subject.place),
        "passed": has_passed,
        "findings": [each._asdict() for each in findings],
        "rules": RULES,
    }
    return json.dumps(facts, indent=2) + "\n"


def _report(subject: Subject, findings: Sequence[Finding], *, has_passed: bool) -> str:
    from ferrule_author.finding import RULES

    lines = [f"{subject.name} {subject.version} ({subject.place})"]
    for each in findings:
        lines += [
            f"  {each.level}: {each.message}  [{each.rule}]",
            f"    {each.place}: {each.mend}",
        ]
    errors = sum(each.level == "error" for each in findings)
    word = "passed" if has_passed else "FAILED"
    counts = f"errors: {errors}, warnings: {len(findings) - errors}"
    return "\n".join([*lines, f"{word}: {len(RULES)} rules, {counts}"]) + "\n"
