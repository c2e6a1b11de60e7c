"""`ferrule plugins`: what is installed, how it stands and why.

Imports no plugin: what was never probed is probed in a child process.
"""

from __future__ import annotations

import json
from typing import Annotated, Final, cast

import typer

from ferrule.commands.plugin_decisions import disable_plugin, enable_plugin, trust_plugin
from ferrule.commands.plugin_doctor import examine_plugins
from ferrule.commands.plugin_packages import add_plugins, remove_plugins, sync_plugins
from ferrule.commands.plugin_survey import Survey, named_standings, survey_of
from ferrule.entry import Entry
from ferrule.index import load_index
from ferrule.isolation.choice import is_isolated
from ferrule.overview import suggestion
from ferrule.trust import Governance, Standing, is_pinned
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import Host
from ferrule_hookspecs.slots import HOOK_GROUP

_UNCONFINED: Final = (
    "Plugins run inside of Ferrule, unconfined, with all of your rights, except for tools in a"
    " process of their own; what one is and asks for, says: ferrule plugins show NAME"
)

app = typer.Typer(
    help="Plugins: what there is, what may be used, what comes and goes", no_args_is_help=True
)


@app.command("list")
def list_plugins(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON")] = False,
) -> None:
    """List plugins: origin, approval, state, hooks."""
    host = cast("Host", context.obj)
    index = load_index(host.environ)
    survey = survey_of(host, index)
    if as_json:
        document = {
            "plugins": [_row(standing, survey) for standing in survey.standings],
            "problems": list(index.problems),
            "requiredMissing": survey.required,
        }
        typer.echo(json.dumps(document, indent=2))
        return
    for line in _lines(survey):
        typer.echo(line)
    for problem in [*index.problems, *survey.required]:
        typer.echo(f"warning: {problem}")
    if survey.standings:
        typer.echo(_UNCONFINED)


@app.command("show")
def show_plugin(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A plugin or a distribution")],
) -> None:
    """Say in words what a plugin is and asks for."""
    from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
    from ferrule.words import approval_in_words, in_words

    host = cast("Host", context.obj)
    survey = survey_of(host, load_index(host.environ))
    found = named_standings(survey.standings, name)
    for distribution in sorted({s.entry.distribution for s in found}):
        theirs = [s for s in found if s.entry.distribution == distribution]
        first = theirs[0].entry
        typer.echo(in_words([s.entry for s in theirs], survey.values))
        if distribution not in BUILT_IN_DISTRIBUTIONS:
            typer.echo(approval_in_words(first))
        if changes := _changes(first):
            typer.echo(f"changed since first seen ({first.first_seen[:10]}): {changes}")
        for line in filter(None, map(_state_line, theirs)):
            typer.echo(line)


@app.command("order")
def show_order(
    context: typer.Context, hook: Annotated[str, typer.Argument(help="Name of a hook")]
) -> None:
    """Show who is called first for a hook."""
    from ferrule.order import declared_order
    from ferrule_hookspecs import hooks, markers

    if hook not in markers.HOOK_CONTRACTS:
        guess = suggestion(hook, sorted(markers.HOOK_CONTRACTS))
        known = ", ".join(sorted(markers.HOOK_CONTRACTS))
        raise FerruleError(f"{hook!r} is not a hook of {hooks.__name__};{guess} There are: {known}")
    host = cast("Host", context.obj)
    standings = survey_of(host, load_index(host.environ)).standings
    active = [s.entry for s in standings if s.state == "active" and s.entry.group == HOOK_GROUP]
    serving = [entry for entry in active if hook in entry.hooks]
    for entry in declared_order(serving, lambda text: typer.echo(f"warning: {text}")):
        typer.echo(f"{entry.name}  ({entry.distribution} {entry.version}){_wishes(entry)}")
    if not serving:
        typer.echo(f"no plugin serves {hook}")


def _wishes(entry: Entry) -> str:
    """Say what a plugin declares about its place."""
    probe = entry.probe
    if probe is None:
        return ""
    wishes = ["outermost"] if probe.is_outermost else []
    wishes += [f"before {', '.join(probe.before)}"] if probe.before else []
    wishes += [f"after {', '.join(probe.after)}"] if probe.after else []
    return f"  {'; '.join(wishes)}" if wishes else ""


@app.command("refresh")
def refresh(context: typer.Context) -> None:
    """Find out anew what there is."""
    host = cast("Host", context.obj)
    load_index(host.environ).path.unlink(missing_ok=True)
    index = load_index(host.environ)
    typer.echo(f"{len(index.all_entries())} plugins indexed in {index.path}")


for _word, _function in {
    "add": add_plugins,
    "remove": remove_plugins,
    "sync": sync_plugins,
    "enable": enable_plugin,
    "disable": disable_plugin,
    "trust": trust_plugin,
    "doctor": examine_plugins,
}.items():
    app.command(_word)(_function)


def _row(standing: Standing, survey: Survey) -> dict[str, object]:
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
        "state": _state(standing, survey),
        "reason": standing.reason,
        "isolation": "process" if is_isolated(entry, survey.values) else "none",
        "review": _review(entry, survey.governance) or None,
        "hooks": list(entry.hooks),
        "deprecated": list(entry.deprecated),
        "importMs": entry.import_ms if entry.probe else None,
        "fault": entry.fault or None,
    }


def _lines(survey: Survey) -> list[str]:
    lines: list[str] = []
    for distribution in sorted({s.entry.distribution for s in survey.standings}):
        theirs = [s for s in survey.standings if s.entry.distribution == distribution]
        first = theirs[0].entry
        place = first.roots[0] if first.is_editable else first.location
        review = _review(first, survey.governance)
        note = f"  ({review})" if review else ""
        lines.append(f"{distribution} {first.version}  [{_kind(first)}] {place}{note}")
        if changes := _changes(first):
            lines.append(f"  ! changed since first seen ({first.first_seen[:10]}): {changes}")
        for standing in theirs:
            entry = standing.entry
            time = f"{entry.import_ms:.1f} ms" if entry.probe else "not loaded yet"
            time = "in a process of its own" if is_isolated(entry, survey.values) else time
            hooks = f"  hooks: {', '.join(entry.hooks)}" if entry.hooks else ""
            lines.append(f"  {entry.group}:{entry.name}  {_state(standing, survey)}  {time}{hooks}")
            lines += filter(None, [_state_line(standing)])
            lines += [f"    warning: {use}" for use in entry.deprecated]
    return lines


def _state(standing: Standing, survey: Survey) -> str:
    is_unknown = standing.state == "active" and standing.entry.probe is None
    is_unknown = is_unknown and not is_isolated(standing.entry, survey.values)
    return "not probed" if is_unknown else standing.state


def _state_line(standing: Standing) -> str:
    if standing.state == "active":
        return ""
    return f"    {standing.entry.name} is {standing.state}: {standing.reason}"


def _review(entry: Entry, governance: Governance) -> str:
    """Say whether somebody approved a distribution; empty for what is part of Ferrule."""
    from ferrule.approval_record import approval_fault
    from ferrule.catalog import BUILT_IN_DISTRIBUTIONS

    if entry.distribution in BUILT_IN_DISTRIBUTIONS:
        return ""
    if is_pinned(entry, governance.allow):
        return "approved by plugins.allow"
    if entry.approval is None:
        return "not reviewed"
    if approval_fault(entry, is_required=True):
        return "no longer as approved"
    return f"approved {entry.approval.when[:10]}"


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
