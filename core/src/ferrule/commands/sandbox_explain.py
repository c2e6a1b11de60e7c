"""`ferrule sandbox explain`: run a command, say what the sandbox refused it, and what would help.

Everything is said on standard error, so that the command's own output stays what it is; with
`--json` the command's output goes there as well, and the explanation to standard output.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule.commands.sandbox import add_options, run_confined, take_apart, warn
from ferrule.confinement import confine
from ferrule.grant_advice import advise
from ferrule.output_copy import OutputCopy
from ferrule.recipes import offered_recipes
from ferrule.refusals import Run, find_refusals

if TYPE_CHECKING:
    from argparse import Namespace

    from ferrule.confinement import Confinement
    from ferrule.grant_advice import Advice, Grant
    from ferrule.refusals import Refusal
    from ferrule_hookspecs.egress import EgressFact
    from ferrule_hookspecs.host import Host
    from ferrule_hookspecs.recipes import Recipe

_OUTPUT: Final = 1
_ERRORS: Final = 2


class Explanation(NamedTuple):
    """What is known of one run."""

    backend: str
    mode: str
    exit_code: int
    refusals: Sequence[Refusal]
    advice: Advice


class SandboxExplainCommand:
    """The word; satisfies `RawCommand`."""

    help = "Run a command, say what was refused and the smallest grant that would help."
    options: Sequence[str] = (
        *("-s", "--sandbox", "-P", "--permission-profile", "--backend", "-C", "--cd"),
        *("-c", "--config", "-p", "--profile", "--add-dir", "--deny-read"),
        *("--try", "--json", "-h", "--help"),
    )

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run a command in the sandbox and explain what happened; returns its exit code."""
        try:
            arguments = _parse(argv)
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 2
        cwd = os.path.abspath(arguments.cd or os.getcwd())
        first = _explained(arguments, cwd, host)
        second = None
        usable = [grant for grant in first.advice.grants if not grant.before]
        if arguments.attempt and usable:
            second = _explained(_with_grants(argv, usable), cwd, host)
        if arguments.json:
            _write_json(arguments.command, first, second)
        else:
            _write(arguments, first)
            if second is not None:
                _write_second(second)
        return (second or first).exit_code


command = SandboxExplainCommand()


def _parse(argv: Sequence[str]) -> Namespace:
    from ferrule.argument_parser import GuessingParser

    parser = GuessingParser(
        prog="ferrule sandbox explain",
        usage="ferrule sandbox explain [options] -- COMMAND [ARGUMENTS...]",
        description="Run a command in the sandbox and say what was refused and what would help.",
        allow_abbrev=False,
    )
    add_options(parser)
    parser.add_argument(
        "--try", dest="attempt", action="store_true", help="run it again with these grants"
    )
    parser.add_argument("--json", action="store_true", help="write the explanation as JSON")
    own, words = take_apart(argv)
    arguments = parser.parse_args(own)
    arguments.command = words
    if not words:
        parser.error("no command given; write it after --")
    return arguments


def _with_grants(argv: Sequence[str], grants: Sequence[Grant]) -> Namespace:
    own, words = take_apart(argv)
    added = [option for grant in grants for option in grant.options]
    return _parse([*own, *added, "--", *words])


def _explained(arguments: Namespace, cwd: str, host: Host) -> Explanation:
    confinement = confine(arguments, cwd, host, warn)
    try:
        run = _run(confinement, arguments, cwd)
        refusals = find_refusals(confinement.policy, confinement.backend, run)
        recipes = _recipes(confinement) if refusals else ()
        return Explanation(
            confinement.backend.name,
            confinement.policy.mode,
            run.exit_code,
            refusals,
            advise(confinement, arguments.command, refusals, recipes),
        )
    finally:
        confinement.close()


def _run(confinement: Confinement, arguments: Namespace, cwd: str) -> Run:
    connections: list[EgressFact] = []
    output = OutputCopy(_ERRORS if arguments.json else _OUTPUT, _ERRORS)
    with output:
        exit_code = run_confined(confinement, arguments.command, cwd, output, connections.append)
    return Run(exit_code, output.text, connections)


def _recipes(confinement: Confinement) -> Sequence[Recipe]:
    import anyio

    offers = anyio.run(offered_recipes, confinement.manager.hooks, confinement.context)
    return [offer.recipe for offer in offers]


def _write(arguments: Namespace, found: Explanation) -> None:
    _say(f"sandbox: {found.backend}, {found.mode}; the command ended with {found.exit_code}")
    if not found.refusals:
        _say("refused: nothing that its output names" if found.exit_code else "refused: nothing")
        return
    for refusal in found.refusals:
        _say(f"refused{' (probably)' if refusal.is_inferred else ''}: {refusal.reason}")
    for text in found.advice.ungrantable:
        _say(f"not to be granted: {text}")
    for grant in found.advice.grants:
        _say(f"grant: {grant.summary}")
        if grant.risk:
            _say(f"  risk: {grant.risk}")
        if grant.before:
            _say(f"  first: {grant.before}")
        for line in grant.config.splitlines():
            _say(f"  config.toml: {line}")
    if found.advice.grants:
        options = [option for grant in found.advice.grants for option in grant.options]
        given, words = take_apart(_shown(arguments))
        _say(f"to try: {shlex.join(['ferrule', 'sandbox', *given, *options, '--', *words])}")


def _shown(arguments: Namespace) -> list[str]:
    """The options as they were given, as far as they say how a command is confined."""
    named = {
        "-s": arguments.sandbox,
        "-P": arguments.permission_profile,
        "--backend": arguments.backend,
        "-C": arguments.cd,
        "-p": arguments.profile,
    }
    lists = {
        "-c": arguments.config,
        "--add-dir": arguments.add_dir,
        "--deny-read": arguments.deny_read,
    }
    once = [word for name, value in named.items() if value for word in (name, value)]
    often = [word for name, each in lists.items() for value in each for word in (name, value)]
    return [*once, *often, "--", *arguments.command]


def _write_second(found: Explanation) -> None:
    _say(f"tried with these grants: the command ended with {found.exit_code}")
    for refusal in found.refusals:
        _say(f"still refused: {refusal.reason}")


def _write_json(words: Sequence[str], first: Explanation, second: Explanation | None) -> None:
    import json

    told = {
        "command": list(words),
        **_facts(first),
        "tried": None if second is None else _facts(second),
    }
    sys.stdout.write(json.dumps(told, indent=2) + "\n")


def _facts(found: Explanation) -> dict[str, object]:
    return {
        "backend": found.backend,
        "mode": found.mode,
        "exit_code": found.exit_code,
        "refused": [refusal._asdict() for refusal in found.refusals],
        "grants": [
            {**grant._asdict(), "options": list(grant.options)} for grant in found.advice.grants
        ],
        "ungrantable": list(found.advice.ungrantable),
    }


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
