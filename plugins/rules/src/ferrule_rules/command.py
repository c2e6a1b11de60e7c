"""`ferrule rules`: asks the rules, tests them, adds to them, lists them.

Loaded only when the command runs. Exit codes of `check`: 0 allowed, 10 asks, 11 forbidden, 12 no
rule, 1 error.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host
    from ferrule_rules.sources import Policy

EXIT_CODES: Final = {"allow": 0, "prompt": 10, "forbidden": 11, "none": 12}
_FAILED: Final = 1


class RulesCommand:
    """The command line around the rules."""

    help = "Ask, test, list and add rules for commands."
    options: Sequence[str] = ("check", "test", "add", "list")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run a sub-command."""
        arguments = _parser().parse_args(list(argv))
        chosen = {"check": _check, "test": _test, "add": _add, "list": _list}.get(arguments.action)
        if chosen is None:
            _parser().print_help()
            return _FAILED
        return chosen(arguments, host)


command = RulesCommand()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ferrule rules", description=RulesCommand.help)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    check = actions.add_parser("check", help="tell what is decided about a command")
    check.add_argument("-r", "--rules", action="append", metavar="FILE", help="only these files")
    check.add_argument("--explain", action="store_true", help="say what was found in it")
    check.add_argument("--json", action="store_true", help="print JSON")
    check.add_argument("--pretty", action="store_true", help="print JSON on several lines")
    check.add_argument(
        "--resolve-host-executables",
        action="store_true",
        help="let rules about a name speak for absolute paths",
    )
    check.add_argument("cmd", nargs="+", metavar="CMD", help="words, or one script")
    test = actions.add_parser("test", help="try rules on their examples and on test files")
    test.add_argument("files", nargs="*", metavar="FILE", help="*.rules or *.test")
    add = actions.add_parser("add", help="add rules to $FERRULE_HOME/rules/default.rules")
    add.add_argument("lines", nargs=argparse.REMAINDER, metavar="LINE")
    listing = actions.add_parser("list", help="list the rules that count here")
    listing.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _policy(host: Host, files: Sequence[str] | None = None) -> Policy:
    from ferrule_rules.sources import Source, places_of, read_file, together

    if files:
        missing = [file for file in files if not os.path.exists(file)]
        if missing:
            raise FerruleError(f"there is no rules file {missing[0]!r}")
        return together([read_file(file) for file in files])
    from ferrule_hookspecs.host import ConfigRequest
    from ferrule_hookspecs.plugins import PluginContext

    cwd = os.getcwd()
    config = host.config(ConfigRequest(cwd))
    context = PluginContext(
        host.home,
        config.values,
        cwd,
        environ=host.environ,
        project_root=config.project_root,
        is_trusted=config.is_trusted,
    )
    return Source(places_of(context)).policy()


def _check(arguments: argparse.Namespace, host: Host) -> int:
    from ferrule_rules.answer import Answer

    policy = _policy(host, arguments.rules)
    if arguments.rules and policy.flaws:
        raise FerruleError("\n".join(map(str, policy.flaws)))
    answer = Answer.of(arguments.cmd, policy, resolve=arguments.resolve_host_executables)
    for text in (*map(str, policy.flaws), *policy.notes):
        sys.stderr.write(f"warning: {text}\n")
    if arguments.json or arguments.pretty:
        text = answer.json(is_pretty=arguments.pretty)
    else:
        text = answer.text(explain=arguments.explain)
    sys.stdout.write(f"{text}\n")
    return EXIT_CODES[answer.effective]


def _test(arguments: argparse.Namespace, host: Host) -> int:
    from ferrule_rules.rule_tests import run_tests, test_files

    rules = [file for file in arguments.files if not file.endswith(".test")]
    tests = [file for file in arguments.files if file.endswith(".test")]
    policy = _policy(host, rules)
    if not arguments.files:
        tests = test_files(policy)
    report = run_tests(policy, tests)
    sys.stdout.write("".join(f"{line}\n" for line in report.lines))
    return _FAILED if report.failures else 0


def _add(arguments: argparse.Namespace, host: Host) -> int:
    from ferrule_rules.amendments import append
    from ferrule_rules.line_front import parse_line
    from ferrule_rules.rule import Place, RuleError
    from ferrule_rules.sources import AMENDED
    from ferrule_rules.writing import starlark_rule

    file = host.home / "rules" / AMENDED
    lines = [line for line in arguments.lines if line != "--"]
    if not lines:
        raise FerruleError("name a rule, such as `ferrule rules add allow prefix git status`")
    if not all(" " in line for line in lines):
        lines = [" ".join(lines)]
    for line in lines:
        try:
            rule = parse_line(line, Place("the command line"))
            starlark = starlark_rule(rule)
        except RuleError as error:
            raise FerruleError(f"{line!r} is no rule: {error}") from None
        is_new = append(file, starlark, line.strip())
        sys.stdout.write(f"{'added to' if is_new else 'stands already in'} {file}: {rule}\n")
    return 0


def _list(arguments: argparse.Namespace, host: Host) -> int:
    from ferrule_rules.answer import listing, listing_json

    policy = _policy(host)
    show = listing_json if arguments.json else listing
    sys.stdout.write(f"{show(policy)}\n")
    return _FAILED if policy.flaws else 0
