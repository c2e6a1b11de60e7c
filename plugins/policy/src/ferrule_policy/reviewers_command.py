"""`ferrule reviewers`: the command line around the measuring of reviewers.

Loaded only when the command runs, so Typer is imported here. Errors are raised; the `ferrule`
command shows them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ferrule_hookspecs.host import ConfigRequest
from ferrule_policy.corpus import read_corpus
from ferrule_policy.scores import groups, table
from ferrule_policy.trial import STATIC, tried

if TYPE_CHECKING:
    from ferrule_hookspecs.host import Host, Kernel
    from ferrule_policy.scores import Group
    from ferrule_policy.trial import Trial

app = typer.Typer(help="Which reviewers there are, and how they decide.", no_args_is_help=True)


@app.command("list")
def list_reviewers(context: typer.Context) -> None:
    """List the reviewers that may be used; the configured one is marked."""
    host = cast("Host", context.obj)

    async def main(kernel: Kernel) -> list[str]:
        config = kernel.config(ConfigRequest(os.getcwd()))
        chosen = str(config.get("approvals_reviewer") or "user")
        names = [*kernel.reviewers(config), STATIC]
        return [f"{'*' if chosen.partition(':')[0] == name else ' '} {name}" for name in names]

    for line in host.run(main):
        typer.echo(line if not line.endswith(STATIC) else f"{line} (rules alone; for `bench`)")


@app.command("bench")
def bench(
    context: typer.Context,
    corpus: Annotated[
        Path,
        typer.Argument(help="JSON lines: command, label (allow, ask, deny, unlabelled), category."),
    ],
    *,
    reviewer: Annotated[str, typer.Option(help="A reviewer's name, or static.")] = STATIC,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first cases.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one answer.")] = 120.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Have a reviewer decide about a corpus of commands; none of them runs.

    A reviewer that asks a model asks the one that is configured, which may cost money.
    """
    host = cast("Host", context.obj)
    cases = read_corpus(corpus, limit)

    async def main(kernel: Kernel) -> list[Trial]:
        return await tried(kernel, reviewer, cases, os.getcwd(), timeout)

    trials = host.run(main)
    found = groups(trials)
    if as_json:
        typer.echo(json.dumps(_as_json(reviewer, trials, found), indent=1, ensure_ascii=False))
        return
    typer.echo(table(reviewer, found))
    if failed := [trial for trial in trials if trial.answer == "error"]:
        typer.echo(f"{len(failed)} not answered; the first: {failed[0].reason}", err=True)


def _as_json(reviewer: str, trials: list[Trial], found: list[Group]) -> dict[str, object]:
    return {
        "reviewer": reviewer,
        "groups": [
            {
                "kind": group.kind,
                "name": group.name,
                "reviewer": group.reviewer._asdict(),
                "static": group.static._asdict(),
            }
            for group in found
        ],
        "cases": [
            {
                **trial.case._asdict(),
                "static": trial.static,
                "answer": trial.answer,
                "reason": trial.reason,
            }
            for trial in trials
        ],
    }
