"""`ferrule plugins trust`, `enable` and `disable`: what the user decides about a plugin."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
from ferrule.commands.plugin_survey import named_standings, only_distribution, survey_of
from ferrule.index import is_named, load_index
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest, Host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.trust import Standing

Name = Annotated[str, typer.Argument(metavar="NAME", help="A plugin or a distribution")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")]


def trust_plugin(context: typer.Context, name: Name, *, yes: Yes = False) -> None:
    """Say what a plugin is, and approve it as it is now."""
    from ferrule.approval_record import approvals_file, record_approval
    from ferrule.words import approval_in_words, in_words

    host = cast("Host", context.obj)
    index = load_index(host.environ)
    found = survey_of(host, index)
    theirs = named_standings(found.standings, name)
    only_distribution(name, {s.entry.distribution for s in theirs})
    entries = [s.entry for s in theirs]
    shown = next((entry for entry in entries if entry.manifest.guards), entries[0])
    if shown.distribution in BUILT_IN_DISTRIBUTIONS:
        typer.echo(f"{shown.distribution} is a part of Ferrule and needs no approval")
        return
    _require_approvable(theirs)
    typer.echo(in_words(entries, found.values))
    typer.echo(approval_in_words(shown))
    agree(f"Approve {shown.distribution} {shown.version} as it is now?", is_agreed=yes)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    record_approval(shown, (), now, host.environ)
    fresh = survey_of(host, load_index(host.environ)).standings  # probed, now that it may be
    theirs = [s for s in fresh if s.entry.distribution == shown.distribution]
    record_approval(shown, (hook for s in theirs for hook in s.entry.hooks), now, host.environ)
    typer.echo(f"{shown.distribution} is approved, in {approvals_file(host.environ)}")
    for entry, state, reason in theirs:
        if state != "active":
            typer.echo(f"{entry.name} is {state} all the same: {reason}")


def _require_approvable(theirs: Sequence[Standing]) -> None:
    """Refuse what an approval would not bring into use."""
    from ferrule.scan import changed_files

    entry, state, reason = theirs[0]
    if entry.approval and entry.approval.fault:
        raise FerruleError(entry.approval.fault)
    if state == "blocked":
        raise FerruleError(f"{entry.distribution} is blocked: {reason}")
    if files := changed_files(entry):
        raise FerruleError(
            f"{entry.distribution} was edited after installation: {', '.join(files)}; approved is"
            " what was installed: install it again, or its checkout in editable mode"
        )


def enable_plugin(context: typer.Context, name: Name) -> None:
    """Use a plugin again that was disabled."""
    host = cast("Host", context.obj)
    theirs = named_standings(survey_of(host, load_index(host.environ)).standings, name)
    disabled = _disabled(host)
    named = [s.entry for s in theirs if is_named(s.entry, [name])]
    gone = [item for item in disabled if any(is_named(entry, [item]) for entry in named)]
    if not gone:
        typer.echo(f"{name} is not disabled; nothing was changed")
    else:
        _write(host, [item for item in disabled if item not in gone])
        typer.echo(f"{', '.join(gone)}: no longer in plugins.disabled of {_file(host)}")
        typer.echo("running sessions take it up between turns, new ones at once")
    for standing in named_standings(survey_of(host, load_index(host.environ)).standings, name):
        if standing.state != "active":
            typer.echo(f"{standing.entry.name} is {standing.state}: {standing.reason}")


def disable_plugin(context: typer.Context, name: Name) -> None:
    """Do not use a plugin any more."""
    from ferrule.trust import is_required

    host = cast("Host", context.obj)
    found = survey_of(host, load_index(host.environ))
    theirs = named_standings(found.standings, name)
    for standing in theirs:
        if is_named(standing.entry, [name]) and is_required(standing.entry, found.governance):
            raise FerruleError(
                f"{standing.entry.name} ({standing.entry.distribution}) is required"
                f"{_required_by(host)}, and no session starts without it; nothing was changed"
            )
    disabled = _disabled(host)
    if name in disabled:
        typer.echo(f"{name} is disabled already; nothing was changed")
        return
    _write(host, [*disabled, name])
    typer.echo(f"{name}: now in plugins.disabled of {_file(host)}")
    typer.echo("running sessions let go of it between turns, new ones do not load it")


def agree(question: str, *, is_agreed: bool) -> None:
    """Ask the user; where nobody can answer, the option --yes must have said it.

    Raises:
        FerruleError: They say no, or nobody can be asked.
    """
    if is_agreed:
        return
    if not sys.stdin.isatty():
        raise FerruleError("nobody can be asked here; say it with --yes")
    if not typer.confirm(question):
        raise FerruleError("nothing was changed")


def _disabled(host: Host) -> list[str]:
    from ferrule.config.tables import lookup, texts

    values = host.config(ConfigRequest(cwd=os.getcwd())).values
    return texts(lookup(values, ("plugins", "disabled")))


def _write(host: Host, disabled: Sequence[str]) -> None:
    from ferrule.config.edit import ConfigFileEditor

    ConfigFileEditor(host.home / "config.toml").set(("plugins", "disabled"), list(disabled))


def _file(host: Host) -> str:
    return str(host.home / "config.toml")


def _required_by(host: Host) -> str:
    """Say where `plugins.required` stands, as far as that is known."""
    origin = host.config(ConfigRequest(cwd=os.getcwd())).origin("plugins.required")
    by = "the administrator" if origin.layer == "requirements" else "the configuration"
    return f" by {by} ({origin.file})" if origin.file else f" by {by}"
