"""`ferrule plugins doctor`: how every plugin fares, and what to do."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ferrule.commands.plugin_survey import survey_of
from ferrule.health import Health, health_of
from ferrule.hook_times import read_times
from ferrule.index import load_index
from ferrule_hookspecs.host import Host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.hook_times import HookTime
    from ferrule.trust import Standing


def examine_plugins(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON")] = False,
) -> None:
    """Say how every plugin fares, and what to do.

    Exits with 1 when a plugin is broken or incompatible, or a required one is missing.
    """
    host = cast("Host", context.obj)
    index = load_index(host.environ)
    survey = survey_of(host, index)
    found = health_of(survey.standings, read_times(host.home))
    problems = [*index.problems, *survey.required]
    if as_json:
        document = {"plugins": [_row(health) for health in found], "problems": problems}
        typer.echo(json.dumps(document, indent=2))
    else:
        for line in [line for health in found for line in _lines(health)]:
            typer.echo(line)
        for problem in problems:
            typer.echo(f"warning: {problem}")
        counted = Counter(health.state for health in found)
        typer.echo(f"{len(found)} plugins: {', '.join(f'{n} {s}' for s, n in counted.items())}")
    is_bad = any(health.state in ("broken", "incompatible") for health in found)
    raise typer.Exit(int(is_bad or bool(survey.required)))


def advice(standings: Sequence[Standing], host: Host) -> list[str]:
    """Say of plugins how they fare, a line for each that is not simply active."""
    found = health_of(standings, read_times(host.home))
    return [line for health in found for line in _lines(health)]


def _lines(health: Health) -> list[str]:
    entry = health.entry
    head = f"{health.state:<12}  {entry.group}:{entry.name}  ({entry.distribution} {entry.version})"
    parts = [f"import {entry.import_ms:.1f} ms"] if entry.probe else []
    parts += [_time(time) for time in health.times]
    lines = [f"{head}  {'; '.join(parts)}".rstrip()]
    lines += [f"    why: {health.why}"] if health.why else []
    lines += [f"    warning: {use}" for use in entry.deprecated]
    lines += [f"    clashes with: {', '.join(health.clashes)}"] if health.clashes else []
    return [*lines, f"    mend: {health.mend}"] if health.mend else lines


def _time(time: HookTime) -> str:
    return f"{time.hook} p95 {time.p95_ms:.1f} ms of {len(time.times_ms)}"


def _row(health: Health) -> dict[str, object]:
    entry = health.entry
    return {
        "group": entry.group,
        "name": entry.name,
        "distribution": entry.distribution,
        "version": entry.version,
        "state": health.state,
        "why": health.why or None,
        "importMs": entry.import_ms if entry.probe else None,
        "hooks": [
            {
                "hook": time.hook,
                "p95Ms": time.p95_ms,
                "calls": len(time.times_ms),
                "deadlineMs": time.limit_ms,
            }
            for time in health.times
        ],
        "clashes": list(health.clashes),
        "mend": health.mend or None,
    }
