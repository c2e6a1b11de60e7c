"""`ferrule plugins`: what is installed, how it stands and why.

Imports no plugin: what was never probed is probed in a child process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Annotated, cast

import typer

from ferrule.entry import Entry
from ferrule.index import Index, load_index
from ferrule.manager import survey
from ferrule.overview import suggestion
from ferrule.trust import Governance, Standing, governance_of, judge, required_faults
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest, Host
from ferrule_hookspecs.slots import HOOK_GROUP

app = typer.Typer(help="List plugins, where they come from and how they fare", no_args_is_help=True)


@app.command("list")
def list_plugins(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON")] = False,
) -> None:
    """List every plugin: origin, hooks, slots, load time, faults."""
    host = cast("Host", context.obj)
    index = load_index(host.environ)
    standings, required = _survey(host, index)
    if as_json:
        document = {
            "plugins": [_row(standing) for standing in standings],
            "problems": list(index.problems),
            "requiredMissing": required,
        }
        typer.echo(json.dumps(document, indent=2))
        return
    for line in _lines(standings):
        typer.echo(line)
    for problem in [*index.problems, *required]:
        typer.echo(f"warning: {problem}")


@app.command("show")
def show_plugin(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A plugin or a distribution")],
) -> None:
    """Say in words what a plugin is and what it takes part in."""
    from ferrule.index import is_named
    from ferrule.words import in_words

    host = cast("Host", context.obj)
    standings, _ = _survey(host, load_index(host.environ))
    wanted = {s.entry.distribution for s in standings if is_named(s.entry, [name])}
    if not wanted:
        known = {word for s in standings for word in (s.entry.name, s.entry.distribution)}
        guess = suggestion(name, sorted(known))
        raise FerruleError(f"no plugin {name!r} is installed;{guess} see: ferrule plugins list")
    for distribution in sorted(wanted):
        theirs = [s for s in standings if s.entry.distribution == distribution]
        typer.echo(in_words([s.entry for s in theirs]))
        for line in filter(None, map(_state_line, theirs)):
            typer.echo(line)


@app.command("order")
def show_order(
    context: typer.Context, hook: Annotated[str, typer.Argument(help="Name of a hook")]
) -> None:
    """Show in which order plugins are called for a hook."""
    from ferrule.order import declared_order
    from ferrule_hookspecs import hooks, markers

    if hook not in markers.HOOK_CONTRACTS:
        guess = suggestion(hook, sorted(markers.HOOK_CONTRACTS))
        known = ", ".join(sorted(markers.HOOK_CONTRACTS))
        raise FerruleError(f"{hook!r} is not a hook of {hooks.__name__};{guess} There are: {known}")
    host = cast("Host", context.obj)
    standings, _ = _survey(host, load_index(host.environ))
    active = [s.entry for s in standings if s.state == "active" and s.entry.group == HOOK_GROUP]
    serving = [entry for entry in active if hook in entry.hooks]
    for entry in declared_order(serving, lambda text: typer.echo(f"warning: {text}")):
        typer.echo(f"{entry.name}  ({entry.distribution} {entry.version})")
    if not serving:
        typer.echo(f"no plugin serves {hook}")


@app.command("refresh")
def refresh(context: typer.Context) -> None:
    """Forget what was found out about plugins, so that it is found out anew."""
    host = cast("Host", context.obj)
    load_index(host.environ).path.unlink(missing_ok=True)
    index = load_index(host.environ)
    typer.echo(f"{len(index.all_entries())} plugins indexed in {index.path}")


def _survey(host: Host, index: Index) -> tuple[Sequence[Standing], Sequence[str]]:
    """Tell how every plugin stands, and which required ones are missing.

    With a configuration that cannot be read, plugins are still listed, but not even probed.
    """
    try:
        values = host.config(ConfigRequest(cwd=os.getcwd())).values
        standings = survey(index, values)
    except FerruleError as error:
        typer.echo(f"warning: shown as without a configuration: {error}", err=True)
        version = index.contract_version
        return judge(index.all_entries(), Governance(), contract_version=version), ()
    return standings, required_faults(standings, governance_of(values))


def _row(standing: Standing) -> dict[str, object]:
    entry = standing.entry
    return {
        "group": entry.group,
        "name": entry.name,
        "distribution": entry.distribution,
        "version": entry.version,
        "origin": {
            "kind": _kind(entry),
            "location": entry.location,
            "file": entry.file,
            "recordHash": entry.record_hash,
            "firstSeen": entry.first_seen,
            "changedSinceFirstSeen": _changes(entry),
        },
        "requiresHookspecs": entry.requires_hookspecs,
        "state": _state(standing),
        "reason": standing.reason,
        "hooks": list(entry.hooks),
        "importMs": entry.import_ms if entry.probe else None,
        "fault": entry.fault or None,
    }


def _lines(standings: Sequence[Standing]) -> list[str]:
    lines: list[str] = []
    for distribution in sorted({s.entry.distribution for s in standings}):
        theirs = [s for s in standings if s.entry.distribution == distribution]
        first = theirs[0].entry
        place = first.roots[0] if first.is_editable else first.location
        lines.append(f"{distribution} {first.version}  [{_kind(first)}] {place}")
        if changes := _changes(first):
            lines.append(f"  ! changed since first seen ({first.first_seen[:10]}): {changes}")
        for standing in theirs:
            entry = standing.entry
            time = f"{entry.import_ms:.1f} ms" if entry.probe else "not loaded yet"
            hooks = f"  hooks: {', '.join(entry.hooks)}" if entry.hooks else ""
            lines.append(f"  {entry.group}:{entry.name}  {_state(standing)}  {time}{hooks}")
            lines += filter(None, [_state_line(standing)])
    return lines


def _state(standing: Standing) -> str:
    is_unknown = standing.state == "active" and standing.entry.probe is None
    return "not probed" if is_unknown else standing.state


def _state_line(standing: Standing) -> str:
    if standing.state == "active":
        return ""
    return f"    {standing.entry.name} is {standing.state}: {standing.reason}"


def _kind(entry: Entry) -> str:
    if entry.is_dev:
        return "dev"
    return "editable" if entry.is_editable else "installed"


def _changes(entry: Entry) -> str:
    """Say how a distribution differs from what was first seen or from what was installed."""
    from ferrule.scan import changed_files

    files = changed_files(entry)
    edited = f"edited after installation: {', '.join(files)}" if files else ""
    return "; ".join(filter(None, [entry.changed, edited]))
