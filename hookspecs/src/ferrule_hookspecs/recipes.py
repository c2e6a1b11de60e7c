"""Recipes: what a program needs of the sandbox beyond the workspace, under one name.

Plugins offer recipes by the hook `ferrule_recipes`; a user names those that hold in
`sandbox_recipes`. The kernel expands what they say on the machine at hand, and only where
`workspace-write` confines.
"""

from __future__ import annotations

from typing import Final, NamedTuple

RECIPE_CACHE: Final = "$RECIPE_CACHE"
"""A folder of this recipe for the project at hand, which Ferrule makes and only commands in the
sandbox use. What a command leaves there runs nowhere else."""


class Recipe(NamedTuple):
    """What some programs need of the sandbox.

    Paths begin with `/`, `~`, `$RECIPE_CACHE`, `$XDG_CACHE_HOME` (by default `~/.cache`) or another
    variable of the environment; a path whose variable is not set is left out.

    Attributes:
        name: Lower case, unique: what `sandbox_recipes` names.
        summary: What it opens, one sentence.
        programs: Names of the programs it is for.
        risk: What a command could still do with it, in words; empty for nothing more than before.
        writable: Folders that may be written; those under `$RECIPE_CACHE` are made.
        readable: Unreadable places that may be read all the same, each named as a whole.
        unix_sockets: Sockets of services outside that may be connected to.
        environment: Names and values of variables; a value may hold `$NAME` for the value a
            variable has in the command's environment without the recipe.
        presets: Presets of hosts that the managed proxy lets through.
        hosts: Further hosts that it lets through by https.
    """

    name: str
    summary: str
    programs: tuple[str, ...]
    risk: str = ""
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    unix_sockets: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    presets: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
