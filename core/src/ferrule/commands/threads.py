"""`ferrule threads`: list, show and keep stored threads.

Loaded only when the command runs, so Typer is imported here as everywhere in this folder. Errors
are raised; the `ferrule` command shows them.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ferrule.store import JsonlStore
from ferrule.thread_summary import user_text
from ferrule.transcript import read_turns
from ferrule_hookspecs.errors import ThreadNotFoundError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.store import ThreadFilter, ThreadSummary

if TYPE_CHECKING:
    from ferrule_hookspecs.host import Host
    from ferrule_hookspecs.items import ThreadItem

_PREVIEW_WIDTH = 60

app = typer.Typer(help="List, show and keep stored threads.", no_args_is_help=True)

Which = Annotated[str, typer.Argument(metavar="THREAD", help="Id or exact name of the thread.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_threads(
    context: typer.Context,
    *,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Threads of every folder, not only of this one.")
    ] = False,
    as_json: AsJson = False,
    archived: Annotated[bool, typer.Option("--archived", help="Archived threads.")] = False,
    search: Annotated[
        str | None, typer.Option(help="Only threads with this in their name or first message.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many.")] = 50,
) -> None:
    """List threads, the last changed first."""
    cwd = None if everywhere else os.getcwd()
    found = _store(context).list(
        ThreadFilter(cwd=cwd, archived=archived, search=search, limit=limit)
    )
    if as_json:
        typer.echo(json.dumps([asdict(summary) for summary in found], indent=2))
        return
    for summary in found:
        typer.echo(_line(summary))
    if not found:
        typer.echo("No threads." if everywhere else f"No threads in {cwd}; --all shows others.")


@app.command()
def show(context: typer.Context, thread: Which, *, as_json: AsJson = False) -> None:
    """Show what was said and done in a thread."""
    store = _store(context)
    summary = _find(store, thread)
    rollout = store.inspect(summary.thread_id)
    turns = read_turns(rollout.records)
    if as_json:
        facts = {"thread": asdict(summary), "turns": turns, "damagedLines": rollout.damaged}
        typer.echo(json.dumps(facts, indent=2))
        return
    typer.echo(_line(summary))
    typer.echo(summary.path)
    if rollout.damaged:
        numbers = ", ".join(map(str, rollout.damaged))
        typer.echo(f"Damaged lines, left out: {numbers}", err=True)
    for turn in turns:
        typer.echo(f"\n── {turn['status']} turn {turn['id']}")
        for item in turn["items"]:
            typer.echo(_item_line(item))


@app.command()
def archive(context: typer.Context, thread: Which) -> None:
    """Put a thread away."""
    store = _store(context)
    store.archive(_find(store, thread).thread_id)


@app.command()
def unarchive(context: typer.Context, thread: Which) -> None:
    """Take an archived thread back."""
    store = _store(context)
    store.unarchive(_find(store, thread).thread_id)


@app.command()
def delete(
    context: typer.Context,
    thread: Which,
    *,
    force: Annotated[bool, typer.Option("--force", help="Do not ask.")] = False,
) -> None:
    """Remove a thread for good; forks of it stay whole."""
    store = _store(context)
    summary = _find(store, thread)
    if not force:
        typer.echo(_line(summary))
        typer.confirm("Delete this thread for good?", abort=True)
    store.delete(summary.thread_id)


@app.command()
def rename(
    context: typer.Context,
    thread: Which,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")],
) -> None:
    """Give a thread a name."""
    store = _store(context)
    store.set_name(_find(store, thread).thread_id, name)


@app.command()
def rebuild(context: typer.Context) -> None:
    """Read every rollout again and build the index anew."""
    typer.echo(f"Threads found: {_store(context).rebuild()}")


def _store(context: typer.Context) -> JsonlStore:
    host = cast("Host", context.obj)
    return JsonlStore(PluginContext(home=host.home, config={}, environ=host.environ))


def _find(store: JsonlStore, thread: str) -> ThreadSummary:
    summary = store.find(thread)
    if summary is None:
        raise ThreadNotFoundError(
            f"no thread has the id or name {thread!r}; "
            "`ferrule threads list --all` shows those that are stored"
        )
    return summary


def _line(summary: ThreadSummary) -> str:
    changed = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.updated_at))
    name = f"[{summary.name}] " if summary.name else ""
    preview = _one_line(summary.preview)
    return f"{summary.thread_id}  {changed}  {name}{preview}".rstrip()


def _item_line(item: ThreadItem) -> str:
    """Return an item in a line or two: its words, or what it did."""
    if item["type"] == "userMessage":
        return f"> {user_text(item)}"
    if item["type"] == "agentMessage":
        return item["text"]
    if item["type"] == "commandExecution":
        return f"$ {_one_line(item['command'])} ({item['status']})"
    if item["type"] == "fileChange":
        paths = ", ".join(change["path"] for change in item["changes"])
        return f"± {paths} ({item['status']})"
    return f"· {item['type']}"


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _PREVIEW_WIDTH else words[: _PREVIEW_WIDTH - 1] + "…"
