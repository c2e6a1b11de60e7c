"""`ferrule sandbox recipes`: what `sandbox_recipes` may name, and what each of them opens."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ferrule.commands.sandbox import warn
from ferrule.recipes import Offer, RecipeBook, find_recipe, offered_recipes
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.plugins import PluginContext

if TYPE_CHECKING:
    from argparse import Namespace

    from ferrule.host import LocalHost
    from ferrule_hookspecs.host import Host


class SandboxRecipesCommand:
    """The word; satisfies `RawCommand`."""

    help = "List what programs need of the sandbox, by name."
    options: Sequence[str] = ("--json", "-c", "--config", "-p", "--profile", "-h", "--help")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """List the recipes, or show one."""
        try:
            arguments = _parse(argv)
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 2
        import anyio

        from ferrule.manager import PluginManager

        cwd = os.getcwd()
        config = host.config(
            ConfigRequest(cwd, profile=arguments.profile, overrides=arguments.config)
        )
        context = PluginContext(
            host.home, config.values, cwd, environ=host.environ, project_root=config.project_root
        )
        manager = PluginManager(cast("LocalHost", host).index, config.values, report=warn)
        offers = anyio.run(offered_recipes, manager.hooks, context)
        if arguments.name:
            chosen = find_recipe(offers, arguments.name)
            offers = [offer for offer in offers if offer.recipe is chosen]
        facts = [_facts(offer, RecipeBook((offer.recipe,), context)) for offer in offers]
        facts.sort(key=lambda each: str(each["name"]))
        _show(facts, arguments)
        return 0


command = SandboxRecipesCommand()


def _parse(argv: Sequence[str]) -> Namespace:
    from ferrule.argument_parser import GuessingParser

    parser = GuessingParser(
        prog="ferrule sandbox recipes",
        description="List what programs need of the sandbox; sandbox_recipes names what holds.",
        allow_abbrev=False,
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="say all about one of them")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.add_argument("-c", "--config", metavar="KEY=VALUE", action="append", default=[])
    parser.add_argument("-p", "--profile", metavar="NAME")
    return parser.parse_args(argv)


def _facts(offer: Offer, book: RecipeBook) -> dict[str, object]:
    """What a recipe says, with the paths it means here."""
    recipe = offer.recipe
    opened = book.paths_of(recipe)
    return {
        "name": recipe.name,
        "plugin": offer.plugin,
        "summary": recipe.summary,
        "programs": list(recipe.programs),
        "risk": recipe.risk,
        "writable": opened.writable,
        "readable": opened.readable,
        "unix_sockets": opened.unix_sockets,
        "environment": book.variables_of(recipe),
        "presets": list(recipe.presets),
        "hosts": list(recipe.hosts),
    }


def _show(facts: Sequence[dict[str, object]], arguments: Namespace) -> None:
    if arguments.json:
        import json

        sys.stdout.write(json.dumps(facts[0] if arguments.name else facts, indent=2) + "\n")
    elif arguments.name:
        for key, value in facts[0].items():
            for line in _lines(value):
                sys.stdout.write(f"{key.replace('_', ' ')}: {line}\n")
    else:
        width = max((len(str(each["name"])) for each in facts), default=0)
        for each in facts:
            sys.stdout.write(f"{each['name']:<{width}}  {each['summary']}\n")


def _lines(value: object) -> list[str]:
    if isinstance(value, dict):
        pairs = cast("dict[str, str]", value)
        return [f"{name}={text}" for name, text in pairs.items()]
    return cast("list[str]", value) if isinstance(value, list) else [str(value)] if value else []
