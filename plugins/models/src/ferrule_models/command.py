"""`ferrule models`: what is known about models, and what they cost."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Config, Host, Kernel
    from ferrule_hookspecs.models import ModelInfo

app = typer.Typer(help="What is known about models, and what they cost.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]
ConfigOption = Annotated[
    list[str] | None, typer.Option("-c", "--config", help="set a configuration value, in TOML")
]


@app.command("list")
def list_models(
    context: typer.Context,
    provider: Annotated[
        str | None, typer.Option("--provider", help="only models of this entry of model_providers")
    ] = None,
    as_json: JsonOption = False,
    overrides: ConfigOption = None,
) -> None:
    """List the models that are known, by provider; prices are dollars per million tokens."""
    config, models = _known(context.obj, overrides or [])
    if provider is not None:
        known = sorted({info.provider for info in models} | set(_providers(config)))
        if provider not in known:
            near = _suggestion(provider, known) or f"; known are {', '.join(known)}"
            raise FerruleError(f"no model provider {provider!r}{near}")
        models = [info for info in models if info.provider in ("", provider)]
    if as_json:
        _print(json.dumps([_table(info) for info in models], indent=2))
        return
    chosen = str(config.values.get("model_provider")), str(config.values.get("model"))
    rows = [("", "provider", "model", "window", "input", "cached", "output")]
    rows += [_row(info, is_chosen=(info.provider, info.name) == chosen) for info in models]
    _print_columns(rows)


@app.command("show")
def show_model(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="the model's name")],
    as_json: JsonOption = False,
    overrides: ConfigOption = None,
) -> None:
    """Show everything that is known about one model, and from which file."""
    _, models = _known(context.obj, overrides or [])
    found = [info for info in models if info.name == name]
    if not found:
        near = _suggestion(name, [info.name for info in models])
        raise FerruleError(f"no model {name!r} is known{near or '; ferrule models list shows all'}")
    if as_json:
        _print(json.dumps([_table(info) for info in found], indent=2))
        return
    for info in found:
        for key, value in _table(info).items():
            _print(f"{key + ':':<21} {_shown(value)}")


def _known(host: Host, overrides: Sequence[str]) -> tuple[Config, Sequence[ModelInfo]]:
    async def ask(kernel: Kernel) -> tuple[Config, Sequence[ModelInfo]]:
        config = kernel.config(ConfigRequest(cwd=os.getcwd(), overrides=overrides))
        return config, await kernel.models(config)

    return host.run(ask)


def _providers(config: Config) -> Sequence[str]:
    tables = config.values.get("model_providers")
    return list(tables) if isinstance(tables, dict) else []


def _suggestion(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _table(info: ModelInfo) -> dict[str, object]:
    table = info._asdict()
    table["prices"] = info.prices._asdict() if info.prices else None
    return table


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {price:g}" for key, price in value.items() if price is not None)
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, "") else str(value)


def _row(info: ModelInfo, *, is_chosen: bool) -> tuple[str, ...]:
    prices = info.prices
    window = "-" if info.context_window is None else f"{info.context_window:,}"
    if prices is None:
        shown = ("-", "-", "-")
    else:
        cached = prices.input if prices.cached_input is None else prices.cached_input
        shown = (f"{prices.input:g}", f"{cached:g}", f"{prices.output:g}")
    return ("*" if is_chosen else "", info.provider or "any", info.name, window, *shown)


def _print_columns(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
        _print("  ".join([*left, *right]).rstrip())


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
