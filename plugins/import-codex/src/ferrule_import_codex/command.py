"""`ferrule import codex`: the command line around the parts of the import.

Loaded only when the command runs, so Typer is imported here. Errors are raised; the `ferrule`
command shows them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import anyio
import typer
from anyio.lowlevel import checkpoint

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_import_codex.credentials import NAME, credentials
from ferrule_import_codex.files import FileCopier, write_whole
from ferrule_import_codex.leftovers import leftovers
from ferrule_import_codex.library import seconds
from ferrule_import_codex.report import AREAS, Report
from ferrule_import_codex.sessions import SessionImport, StoppedError
from ferrule_import_codex.settings import SettingsImport
from ferrule_import_codex.source import CodexHome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_hookspecs.host import Host, Kernel
    from ferrule_import_codex.report import Finding

_PAUSE_S: Final = 0.1
_FAILED: Final = 1

app = typer.Typer(help="Bring another program's home over.")


@app.callback(invoke_without_command=True)
def list_sources(context: typer.Context) -> None:
    """Bring another program's home over."""
    if context.invoked_subcommand is None:
        typer.echo("What can be imported:")
        typer.echo(f"  codex   {_codex_home(cast('Host', context.obj))}")
        typer.echo(f"          of which any or all: {', '.join(AREAS)}")
        typer.echo("Look first with `ferrule import codex --dry-run`.")


@dataclass(frozen=True, slots=True)
class _Wish:
    """What the command line asks for."""

    areas: frozenset[str]
    dry_run: bool
    overwrite: bool
    allow_dangerous: bool
    limit: int | None
    since: float | None


@app.command("codex")
def import_codex(
    context: typer.Context,
    path: Annotated[
        Path | None, typer.Argument(help="The Codex home; default: $CODEX_HOME or ~/.codex.")
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell; write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    only: Annotated[
        str, typer.Option(metavar="AREA,…", help=f"Only these of: {', '.join(AREAS)}.")
    ] = "",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is there and differs (not threads).")
    ] = False,
    allow_dangerous: Annotated[
        bool, typer.Option("--allow-dangerous", help="Take danger-full-access over, too.")
    ] = False,
    with_credentials: Annotated[
        bool, typer.Option("--with-credentials", help="Take a stored API key over, too.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Only so many threads, the last begun first.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only threads begun then or later.")
    ] = None,
) -> None:
    """Bring configuration, rules, skills, prompts, MCP servers and threads of Codex over.

    Nothing of the source is changed, and what is here already wins. Exit code 1: something could
    not be brought over.
    """
    host = cast("Host", context.obj)
    wish = _Wish(_areas(only), dry_run, overwrite, allow_dangerous, limit, _since(since))
    home = CodexHome(_source(path or _codex_home(host), host))
    report = Report(str(home.root), str(host.home), dry_run)
    settings = _settings(home, host, wish)
    provider = settings.lasting_provider()
    report.extend(_files(settings, wish))
    if "sessions" in wish.areas:
        work = SessionImport(home, provider, wish.limit, wish.since, wish.dry_run)
        _sessions(work, host, report)
    if with_credentials:
        config = host.config(ConfigRequest(str(Path.cwd()))).values
        report.extend(credentials(home, host.home, config, dry_run=dry_run))
    report.extend(leftovers(home, without=(NAME,) if with_credentials else ()))
    place = None if dry_run else _write(report, host)
    typer.echo(json.dumps(report.as_json(), indent=1) if as_json else report.as_text())
    if place is not None and not as_json:
        typer.echo(f"\nThe whole report: {place}")
    if report.has_failures:
        raise typer.Exit(_FAILED)


def _areas(only: str) -> frozenset[str]:
    chosen = frozenset(part.strip() for part in only.split(",") if part.strip())
    if unknown := sorted(chosen - set(AREAS)):
        raise FerruleError(f"--only: there is no {unknown[0]!r}; there are {', '.join(AREAS)}")
    return chosen or frozenset(AREAS)


def _since(words: str | None) -> float | None:
    if words is None:
        return None
    moment = seconds(words)
    if moment is None:
        raise FerruleError(f"--since: {words!r} is no date; write it as 2026-01-31")
    return moment


def _codex_home(host: Host) -> Path:
    named = host.environ.get("CODEX_HOME")
    user = host.environ.get("HOME") or str(Path.home())
    return Path(named) if named else Path(user, ".codex")


def _source(path: Path, host: Host) -> Path:
    """Return the folder to read.

    Raises:
        FerruleError: It is none, or what is written would land in it.
    """
    root = path.expanduser().resolve()
    if not root.is_dir():
        raise FerruleError(f"{path} is no folder; name the Codex home to bring over")
    target = host.home.resolve()
    if target == root or root in target.parents:
        raise FerruleError(
            f"{host.home} lies in {root}, which must not be changed; set FERRULE_HOME elsewhere"
        )
    return root


def _settings(home: CodexHome, host: Host, wish: _Wish) -> SettingsImport:
    return SettingsImport(
        home,
        host,
        wish.areas,
        _installed_parts(),
        overwrite=wish.overwrite,
        allow_dangerous=wish.allow_dangerous,
        dry_run=wish.dry_run,
    )


def _files(settings: SettingsImport, wish: _Wish) -> Iterator[Finding]:
    """Bring everything over but the threads."""
    home, target = settings.source, settings.host.home
    copier = FileCopier(home, target, wish.overwrite, wish.dry_run, settings.parts)
    if wish.areas & {"config", "mcp"}:
        yield from settings.run()
    if "config" in wish.areas:
        yield from copier.hooks()
    if "rules" in wish.areas:
        yield from copier.rules()
    if "skills" in wish.areas:
        yield from copier.skills()
    if "prompts" in wish.areas:
        yield from copier.prompts()


def _installed_parts() -> frozenset[str]:
    """Name what is there: plugins, and distributions that only bring tools or compactors."""
    from importlib.metadata import entry_points

    groups = ("ferrule.plugins", "ferrule.tools", "ferrule.compactors")
    entries = [entry for group in groups for entry in entry_points(group=group)]
    owners = (entry.dist.name for entry in entries if entry.dist is not None)
    return frozenset(entry.name.replace("_", "-") for entry in entries) | {
        name.removeprefix("ferrule-") for name in owners
    }


def _sessions(work: SessionImport, host: Host, report: Report) -> None:
    async def main(kernel: Kernel) -> None:
        progress = _Progress()

        def bring() -> None:
            with suppress(StoppedError):
                report.extend(work.run(kernel.threads.store, progress))

        async with anyio.create_task_group() as group:
            group.start_soon(progress.stop_when_cancelled)
            # in a thread of its own, so that a signal need not wait for a large rollout
            await anyio.to_thread.run_sync(bring)
            group.cancel_scope.cancel()
        await checkpoint()  # where a signal came, what was done is no result

    host.run(main)


class _Progress:
    """Shows on a terminal how many threads are done."""

    def __init__(self) -> None:
        self.is_stopped = False
        self._shown_at = 0.0

    async def stop_when_cancelled(self) -> None:
        """Await a signal and have the import end."""
        try:
            await anyio.sleep_forever()
        finally:
            self.is_stopped = True

    def __call__(self, done: int, total: int) -> None:
        """Take the counts."""
        now = time.monotonic()
        is_last = done == total
        if not sys.stderr.isatty() or (now - self._shown_at < _PAUSE_S and not is_last):
            return
        self._shown_at = now
        sys.stderr.write("\r\x1b[K" if is_last else f"\r{done} of {total} threads")
        sys.stderr.flush()


def _write(report: Report, host: Host) -> Path:
    stamp = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime())
    place = host.home / f"import-report-{stamp}.json"
    number = 1
    while os.path.lexists(place):
        number += 1
        place = host.home / f"import-report-{stamp}-{number}.json"
    write_whole(place, json.dumps(report.as_json(), indent=1).encode())
    return place
