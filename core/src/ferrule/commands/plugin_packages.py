"""`ferrule plugins add`, `remove` and `sync`: plugins that come and go."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ferrule.commands.plugin_decisions import agree
from ferrule.commands.plugin_survey import not_installed, only_distribution, survey_of
from ferrule.index import Index, load_index
from ferrule.installation import changes
from ferrule.installation.environment import is_ours
from ferrule.installation.requirement import wanted_checkout, wanted_of
from ferrule.installation.shell import Place
from ferrule.installation.wanted import Sources, read_wanted, wanted_file
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import Host
from ferrule_hookspecs.slots import HOOK_GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.entry import Entry
    from ferrule.installation.wanted import Wanted

IndexUrl = Annotated[str, typer.Option("--index-url", metavar="URL", help="Package index")]
Links = Annotated[
    list[str] | None, typer.Option("--find-links", metavar="DIR", help="Folder with wheels")
]
NoIndex = Annotated[bool, typer.Option("--no-index", help="Ask no package index")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")]


def add_plugins(
    context: typer.Context,
    requirements: Annotated[
        list[str] | None, typer.Argument(metavar="REQ…", help="Name, NAME>=1,<2, wheel or folder")
    ] = None,
    *,
    editable: Annotated[
        list[str] | None,
        typer.Option("--editable", "-e", metavar="DIR", help="Checkout to run from"),
    ] = None,
    index_url: IndexUrl = "",
    find_links: Links = None,
    no_index: NoIndex = False,
    dry_run: DryRun = False,
) -> None:
    """Install plugins, and remember them."""
    links = tuple(link if "://" in link else os.path.abspath(link) for link in find_links or ())
    sources = Sources(index_url, links, no_index)
    wanted = [wanted_of(text, sources) for text in requirements or ()]
    wanted += [wanted_checkout(folder, sources) for folder in editable or ()]
    if not wanted:
        raise FerruleError("name what to add, such as: ferrule plugins add acme-ticket")
    host = cast("Host", context.obj)
    changes.add(_place(host), wanted, is_trial=dry_run)
    if not dry_run:
        typer.echo(f"{', '.join(item.name for item in wanted)}: added to {wanted_file(host.home)}")
        _show(host, [item.name for item in wanted])


def remove_plugins(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Plugins or distributions")],
    *,
    yes: Yes = False,
) -> None:
    """Uninstall plugins, and forget them."""
    from ferrule.approval_record import forget_approvals

    host = cast("Host", context.obj)
    index = load_index(host.environ)
    wanted = read_wanted(host.home)
    distributions = list(dict.fromkeys(_distribution(name, index, wanted) for name in names))
    for name in distributions:
        _consider(name, index, is_agreed=yes)
    changes.remove(_place(host), distributions)
    for name in distributions:
        forget_approvals(name, host.environ)
        typer.echo(f"{name} is removed; what it needed of others stays installed")
        if any(e.group == HOOK_GROUP and e.distribution == name for e in index.all_entries()):
            typer.echo("open sessions keep its hooks until they end")


def sync_plugins(context: typer.Context, *, dry_run: DryRun = False) -> None:
    """Install what was added and is missing."""
    host = cast("Host", context.obj)
    restored = changes.sync(_place(host), is_trial=dry_run)
    names = ", ".join(item.name for item in restored)
    if not names:
        typer.echo(f"everything that {wanted_file(host.home)} names is installed")
    elif not dry_run:
        typer.echo(f"restored: {names}")
        _show(host, [item.name for item in restored])
    known = {item.name for item in read_wanted(host.home)}
    for name in _strangers(load_index(host.environ)):
        if name not in known:
            typer.echo(
                f"{name} is installed and not wanted; to keep it: ferrule plugins add {name}"
            )


def _strangers(index: Index) -> list[str]:
    """Name the distributions of others that are installed."""
    entries = index.all_entries()
    return sorted({e.distribution for e in entries if not (e.is_dev or is_ours(e.distribution))})


def _place(host: Host) -> Place:
    def tell(line: str) -> None:
        typer.echo(line, err=True)

    return Place(host.home, host.environ, tell)


def _distribution(name: str, index: Index, wanted: Sequence[Wanted]) -> str:
    from ferrule.index import is_named
    from ferrule.versions import normal_name

    found = {entry.distribution for entry in index.all_entries() if is_named(entry, [name])}
    found |= {item.name for item in wanted if item.name == normal_name(name)}
    if not found:
        raise not_installed(name, index.all_entries())
    return only_distribution(name, found)


def _consider(name: str, index: Index, *, is_agreed: bool) -> None:
    """Say what stops working without a part of Ferrule, and ask; what must stay is refused."""
    from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
    from ferrule.installation.environment import find_environment
    from ferrule.installation.receipt import told_names

    if name not in BUILT_IN_DISTRIBUTIONS:
        return
    if name == "ferrule-core":
        raise FerruleError("ferrule-core is Ferrule itself; uninstall it by its installer")
    environment = find_environment()
    if environment.kind in ("uv tool", "pipx") and name not in told_names(environment):
        raise FerruleError(
            f"{name} came with Ferrule, and {environment.kind} installs it again;"
            f" switch it off: ferrule plugins disable {name}"
        )
    entries = [entry for entry in index.all_entries() if entry.distribution == name]
    for phrase in _losses(entries):
        typer.echo(f"without {name} there is no {phrase}")
    typer.echo(
        f"an upgrade of what needs {name} installs it again; to keep it and not use it:"
        f" ferrule plugins disable {name}"
    )
    agree(f"Remove {name}?", is_agreed=is_agreed)


def _losses(entries: Sequence[Entry]) -> list[str]:
    return [
        f"{entry.group.removeprefix('ferrule.').rstrip('s')} {entry.name!r}" for entry in entries
    ]


def _show(host: Host, names: Sequence[str]) -> None:
    """Describe what came, and how it stands."""
    from ferrule.commands.plugin_doctor import advice
    from ferrule.words import approval_in_words, in_words

    index = load_index(host.environ)
    survey = survey_of(host, index)
    for name in names:
        theirs = [s for s in survey.standings if s.entry.distribution == name]
        if not theirs:
            typer.echo(f"{name} offers Ferrule nothing: it declares no entry point of its groups")
            continue
        typer.echo(in_words([s.entry for s in theirs], survey.values))
        if not is_ours(name):
            typer.echo(approval_in_words(theirs[0].entry))
        for line in advice(theirs, host):
            typer.echo(line)
