"""`ferrule policy`: the command line around replays and suggestions.

Loaded only when the command runs, so Typer is imported here. Errors are raised; the `ferrule`
command shows them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ferrule_hookspecs.errors import FerruleError
from ferrule_policy.comparison import Comparison
from ferrule_policy.coverage import coverage
from ferrule_policy.past import Wanted, gathered, moment
from ferrule_policy.replay import policy_at, replayed
from ferrule_policy.report import Report
from ferrule_policy.suggestion import suggested

if TYPE_CHECKING:
    from ferrule_hookspecs.host import Host

app = typer.Typer(help="Try a policy on what was decided before.", no_args_is_help=True)

Sessions = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SESSION]…", help="Threads by id or name, or *.jsonl files."),
]
Last = Annotated[int | None, typer.Option("--last", min=1, help="Only so many threads.")]
Since = Annotated[
    str | None, typer.Option("--since", metavar="DATE", help="Only threads changed since then.")
]
Folder = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="A folder with config.toml, rules/ or both; default: home."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def group() -> None:
    """Try a policy on what was decided before."""


@app.command("replay")
def replay(
    context: typer.Context,
    sessions: Sessions = None,
    *,
    policy: Folder = None,
    against: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Compare with this policy, not the record.")
    ] = None,
    last: Last = None,
    since: Since = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what differs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Decide about every tool call of past sessions again; nothing runs, no model is asked."""
    host = cast("Host", context.obj)
    chosen = policy_at(host, policy, "--policy")
    other = policy_at(host, against, "--against") if against is not None else None
    past = gathered(host, wanted(sessions, last, since))
    now = replayed(chosen, past.actions)
    then = replayed(other, past.actions) if other is not None else None
    report = Report(
        past,
        Comparison.of(past.actions, now, then),
        now,
        chosen.name,
        other.name if other is not None else "",
        coverage(chosen.host, now),
    )
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=1, ensure_ascii=False))
    else:
        typer.echo(report.text(only_changed=changed))


@app.command("suggest")
def suggest(
    context: typer.Context,
    sessions: Sessions = None,
    *,
    policy: Folder = None,
    last: Last = None,
    since: Since = None,
    most: Annotated[int, typer.Option("--most", min=1, help="At most so many rules.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Name the fewest rules that would have spared the most questions of past sessions.

    Nothing is proposed that would have allowed what was declined or is held for dangerous.
    """
    host = cast("Host", context.obj)
    chosen = policy_at(host, policy, "--policy")
    found = suggested(chosen, gathered(host, wanted(sessions, last, since)).actions, most)
    if as_json:
        rules = [
            {"line": line, "spares": rule[1]}
            for line, rule in zip(found.lines, found.rules, strict=True)
        ]
        typer.echo(
            json.dumps({"asked": found.asked, "spared": found.spared, "rules": rules}, indent=1)
        )
        return
    for line in found.lines:
        typer.echo(line)
    count = f"{found.spared} of {found.asked} questions would have been spared"
    typer.echo(f"{count}; add a line with `ferrule rules add`", err=True)


def wanted(sessions: list[str] | None, last: int | None, since: str | None) -> Wanted:
    """Check which sessions are asked for.

    Raises:
        FerruleError: The options contradict each other.
    """
    if sessions and (last is not None or since is not None):
        raise FerruleError("name sessions, or choose them by --last and --since; not both")
    return Wanted(sessions or (), last, moment(since) if since is not None else None)
