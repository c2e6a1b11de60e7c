"""Recipes: what `sandbox_recipes` names, in terms of this machine and of the project at hand.

A session gathers them once; `attempt.py` and `ferrule sandbox` open a policy with them for every
command. A recipe counts in `workspace-write` alone and takes no protection away.
"""

from __future__ import annotations

import os
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule.config.tables import table_at, texts
from ferrule.protected_places import find_places, find_scratch_places
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.evaluator import is_inside, protected_place, unreadable_place
from ferrule_hookspecs.recipes import RECIPE_CACHE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ferrule.dispatcher import Dispatcher
    from ferrule.places import Places
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.recipes import Recipe
    from ferrule_hookspecs.sandbox import ResolvedPolicy

_VARIABLE: Final = re.compile(r"\$(\w+)")
_LINK_LIMIT: Final = 40
_OF_THE_SYSTEM: Final = ("/dev", "/proc", "/run", "/sys")


class Offer(NamedTuple):
    """A recipe and the plugin that offers it."""

    plugin: str
    recipe: Recipe


class RecipePaths(NamedTuple):
    """The paths a recipe means here, absolute; they need not exist."""

    writable: Sequence[str]
    readable: Sequence[str]
    unix_sockets: Sequence[str]


class RecipeBook:
    """The recipes of one session, or of one run of `ferrule sandbox`."""

    def __init__(self, recipes: Sequence[Recipe], context: PluginContext) -> None:
        """Take the recipes that hold.

        Args:
            recipes: The recipes.
            context: Says whose caches these are: those of its project, or else of its folder.
        """
        self.recipes = tuple(recipes)
        self._home = os.path.realpath(context.home)
        self._environ = context.environ
        policy = table_at(context.config, "shell_environment_policy")
        self._of_the_user = frozenset(table_at(policy, "set"))
        self._project = os.path.realpath(context.project_root or context.cwd)

    def opened(self, policy: ResolvedPolicy) -> ResolvedPolicy:
        """Return a policy with what the recipes need; what is protected stays protected.

        Raises:
            ConfigError: A folder that a recipe names cannot be opened without opening more.
        """
        if not self.recipes or policy.mode != "workspace-write":
            return policy
        for recipe in self.recipes:
            policy = self._with_recipe(policy, recipe)
        return policy

    def environment(
        self, policy: ResolvedPolicy, environment: Mapping[str, str], kept: Iterable[str] = ()
    ) -> dict[str, str]:
        """Return a command's environment with what the recipes set.

        Args:
            policy: What confines the command; elsewhere than in `workspace-write` nothing is set.
            environment: What the command gets without them.
            kept: Variables to leave alone, beside those the user sets for commands.
        """
        if not self.recipes or policy.mode != "workspace-write":
            return dict(environment)
        alone = {*kept, *self._of_the_user}
        added = {
            name: value
            for recipe in self.recipes
            if self._is_open(policy, recipe)
            for name, value in self.variables_of(recipe, environment).items()
            if name not in alone
        }
        return {**environment, **added}

    def variables_of(
        self, recipe: Recipe, environment: Mapping[str, str] = MappingProxyType({})
    ) -> dict[str, str]:
        """Return the variables that a recipe sets in an environment."""
        return {
            name: self._expanded(text, recipe, environment).strip()
            for name, text in recipe.environment
        }

    def paths_of(self, recipe: Recipe) -> RecipePaths:
        """Return the paths that a recipe means on this machine."""
        named = (recipe.writable, recipe.readable, recipe.unix_sockets)
        return RecipePaths(*(self._paths(each, recipe) for each in named))

    @property
    def presets(self) -> tuple[str, ...]:
        """Presets of hosts that the managed network lets through for these recipes."""
        return tuple(dict.fromkeys(name for recipe in self.recipes for name in recipe.presets))

    @property
    def rules(self) -> tuple[str, ...]:
        """Rules of the managed network for hosts that no preset holds."""
        hosts = dict.fromkeys(host for recipe in self.recipes for host in recipe.hosts)
        return tuple(f"allow network protocol:https host:{host}" for host in hosts)

    def cache(self, recipe: Recipe) -> str:
        """Return the folder that a recipe has for this project; it need not exist.

        Every project has its own: what a command leaves in a cache that others share, programs of
        other projects would be built from.
        """
        from hashlib import sha256

        key = sha256(os.fsencode(self._project)).hexdigest()[:12]
        name = f"{os.path.basename(self._project) or 'root'}-{key}"
        return os.path.join(self._cache_home(), "ferrule", "recipes", recipe.name, name)

    def _cache_home(self) -> str:
        named = self._environ.get("XDG_CACHE_HOME", "")
        return named if os.path.isabs(named) else os.path.join(self._user_home(), ".cache")

    def _user_home(self) -> str:
        return self._environ.get("HOME") or os.path.expanduser("~")

    def _expanded(self, text: str, recipe: Recipe, variables: Mapping[str, str]) -> str:
        """Put values in the places of their names; what is not set is empty."""
        own = {RECIPE_CACHE[1:]: self.cache(recipe), "XDG_CACHE_HOME": self._cache_home()}
        if text == "~" or text.startswith("~/"):
            text = self._user_home() + text[1:]
        return _VARIABLE.sub(lambda found: {**variables, **own}.get(found[1], ""), text)

    def _paths(self, named: Iterable[str], recipe: Recipe) -> list[str]:
        """Expand paths; a variable that is not set would make another path of one."""
        known = {RECIPE_CACHE[1:], "XDG_CACHE_HOME", *(n for n, v in self._environ.items() if v)}
        expanded = (
            self._expanded(text, recipe, self._environ)
            for text in named
            if known.issuperset(_VARIABLE.findall(text))
        )
        return [os.path.normpath(path) for path in expanded if os.path.isabs(path)]

    def _with_recipe(self, policy: ResolvedPolicy, recipe: Recipe) -> ResolvedPolicy:
        paths = self.paths_of(recipe)
        readable = {os.path.realpath(path) for path in paths.readable}
        sockets = [os.path.realpath(path) for path in paths.unix_sockets]
        policy = policy._replace(
            deny_read=tuple(place for place in policy.deny_read if place not in readable),
            unix_sockets=tuple(dict.fromkeys((*policy.unix_sockets, *sockets))),
        )
        for folder in paths.writable:
            policy = self._with_folder(policy, folder, recipe)
        return policy

    def _with_folder(self, policy: ResolvedPolicy, folder: str, recipe: Recipe) -> ResolvedPolicy:
        is_own = is_inside(folder, self.cache(recipe))
        if link := _planted_link(folder, policy):
            raise ConfigError(
                f"the recipe {recipe.name!r} cannot open {folder}: {link} is a link in a folder "
                "that commands may write, so they choose where it leads; remove the link"
            )
        if is_own:
            self._make(folder, recipe)
        path = os.path.realpath(folder)
        if not os.path.isdir(path):
            return policy
        if reason := self._objection(policy, path):
            raise ConfigError(f"the recipe {recipe.name!r} cannot open {path}: {reason}")
        if any(is_inside(path, root.path) for root in policy.writable_roots):
            return policy
        places = find_scratch_places(path) if is_own else find_places(path)
        roots = (*policy.writable_roots, self._kept(places).frozen())
        return policy._replace(writable_roots=tuple(sorted(roots)))

    def _is_open(self, policy: ResolvedPolicy, recipe: Recipe) -> bool:
        """Whether a policy has what a recipe writes: grants, too, make this mode of `read-only`."""
        paths = map(os.path.realpath, self._paths(recipe.writable, recipe))
        return all(
            any(is_inside(path, root.path) for root in policy.writable_roots)
            for path in paths
            if os.path.isdir(path)
        )

    def _make(self, folder: str, recipe: Recipe) -> None:
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"the recipe {recipe.name!r} needs {folder}, which cannot be made: "
                f"{error.strerror}; set XDG_CACHE_HOME to a folder of yours"
            ) from error

    def _objection(self, policy: ResolvedPolicy, path: str) -> str:
        if path == "/":
            return "that is the whole machine"
        if any(is_inside(path, place) for place in _OF_THE_SYSTEM):
            return "it belongs to the system"
        if is_inside(path, self._home):
            return "the settings of Ferrule lie there"
        if place := protected_place(policy, path) or unreadable_place(policy, path):
            return f"{place} is protected"
        return ""

    def _kept(self, places: Places) -> Places:
        if is_inside(self._home, places.root):
            places.keep(self._home)
        return places


def _planted_link(path: str, policy: ResolvedPolicy) -> str | None:
    """The link on the way to a path that lies where commands may write, if there is one."""
    rest = path.split("/")[:0:-1]
    where = "/"
    for _ in range(_LINK_LIMIT):
        while rest:
            step = os.path.normpath(os.path.join(where, rest.pop()))
            if os.path.islink(step):
                break
            where = step
        else:
            return None
        if any(is_inside(step, root.path) for root in policy.writable_roots):
            return step
        target = os.path.join(where, os.readlink(step))
        rest += target.split("/")[:0:-1]
        where = "/"
    return path


async def offered_recipes(hooks: Dispatcher, context: PluginContext) -> list[Offer]:
    """Ask every plugin for its recipes."""
    answers = await hooks.gather("ferrule_recipes", context=context)
    return [
        Offer(plugin, recipe)
        for plugin, answer in answers
        for recipe in cast("Sequence[Recipe]", answer)
    ]


async def configured_recipes(hooks: Dispatcher, context: PluginContext) -> RecipeBook:
    """Return the recipes that the configuration names; nobody is asked where it names none.

    Raises:
        ConfigError: One is not there, or two plugins offer it.
    """
    names = texts(context.config.get("sandbox_recipes"))
    if not names:
        return RecipeBook((), context)
    offers = await offered_recipes(hooks, context)
    return RecipeBook([find_recipe(offers, name) for name in dict.fromkeys(names)], context)


def find_recipe(offers: Sequence[Offer], name: str) -> Recipe:
    """Return the recipe of a name.

    Raises:
        ConfigError: It is not there, or two plugins offer it.
    """
    found = [offer for offer in offers if offer.recipe.name == name]
    if len(found) > 1:
        plugins = " and ".join(repr(offer.plugin) for offer in found)
        raise ConfigError(
            f"the plugins {plugins} both offer the recipe {name!r}; disable one of them in "
            "`plugins.disabled`"
        )
    if not found:
        known = ", ".join(sorted({offer.recipe.name for offer in offers}))
        there = f"there are: {known}" if known else "install some with: pip install ferrule-recipes"
        raise ConfigError(f"sandbox_recipes names {name!r}, which no plugin offers; {there}")
    return found[0].recipe
