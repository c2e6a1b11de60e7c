"""The smallest grants that let a command do what the sandbox refused it.

A grant is worded twice: as options of `ferrule sandbox` for one run, and as lines of the user's
configuration for all. A recipe goes before a folder of the user's own, because it gives a tool
another place to write instead of that one. What nobody may grant is said so.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule.config.tables import table_at, texts
from ferrule.permissions import objection
from ferrule_hookspecs.evaluator import is_inside, unreadable_place
from ferrule_hookspecs.permissions import AdditionalPermissions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.confinement import Confinement
    from ferrule.refusals import Refusal
    from ferrule_hookspecs.recipes import Recipe

_WORD: Final = re.compile(r"[\w./+-]+")
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class Grant(NamedTuple):
    """Something to allow.

    Attributes:
        summary: What it allows, in words.
        options: What to add to the options of `ferrule sandbox`.
        config: Lines for config.toml.
        risk: What it gives away, in words.
        before: A command to run first, outside of the sandbox.
    """

    summary: str
    options: tuple[str, ...]
    config: str
    risk: str = ""
    before: str = ""


class Advice(NamedTuple):
    """What to grant, and why the rest cannot be."""

    grants: Sequence[Grant]
    ungrantable: Sequence[str]


class _Case(NamedTuple):
    confinement: Confinement
    words: Sequence[str]
    recipes: Sequence[Recipe]

    @property
    def user_home(self) -> str:
        home = self.confinement.context.environ.get("HOME") or os.path.expanduser("~")
        return os.path.realpath(home)


def advise(
    confinement: Confinement,
    words: Sequence[str],
    refusals: Sequence[Refusal],
    recipes: Sequence[Recipe],
) -> Advice:
    """Find the smallest grants for what was refused.

    Args:
        confinement: What the command ran in.
        words: The command.
        refusals: What was refused.
        recipes: Those that are offered.
    """
    case = _Case(confinement, words, recipes)
    grants: list[Grant] = []
    ungrantable: list[str] = []
    rest = list(refusals)
    if mode := _mode_grant(case, rest):
        grants.append(mode)
        rest = [each for each in rest if not _is_of_workspace(case, each)]
    if recipe := _fitting_recipe(case, rest):
        covered = [each for each in rest if _is_covered(case, recipe, each)]
        grants.append(_recipe_grant(case, recipe))
        if any(each.kind == "network" for each in covered):
            _add_managed_network(case, recipe, grants)
        rest = [each for each in rest if each not in covered]
    _add_folders(case, [each for each in rest if each.kind == "write"], grants, ungrantable)
    _add_network(case, [each for each in rest if each.kind == "network"], grants)
    for refusal in rest:
        if refusal.kind == "read":
            ungrantable.append(_reason_to_hide(case, refusal))
        elif refusal.kind == "socket":
            ungrantable.append(
                f"{refusal.subject}: no recipe in reach opens this socket; a plugin may offer one, "
                "or a permission profile names it in its `unix_sockets`"
            )
        elif refusal.kind in ("syscall", "unknown"):
            ungrantable.append(f"{refusal.reason}: no grant changes that; approve the call instead")
    return Advice(grants, ungrantable)


def _mode_grant(case: _Case, refusals: Sequence[Refusal]) -> Grant | None:
    """In read-only mode, what lies in the workspace needs another mode first."""
    if case.confinement.policy.mode != "read-only":
        return None
    if not any(each.kind in ("write", "socket") for each in refusals):
        return None
    return Grant(
        "writing in the workspace and in temporary folders",
        ("-s", "workspace-write"),
        'sandbox_mode = "workspace-write"',
    )


def _is_of_workspace(case: _Case, refusal: Refusal) -> bool:
    if refusal.kind != "write":
        return False
    places = (case.confinement.policy.cwd, "/tmp")  # noqa: S108  # what the mode grants
    return not refusal.subject or any(is_inside(refusal.subject, place) for place in places)


def _fitting_recipe(case: _Case, refusals: Sequence[Refusal]) -> Recipe | None:
    """The recipe of a program of the command that helps with something that was refused."""
    names = {os.path.basename(name) for word in case.words for name in _WORD.findall(word)}
    active = {recipe.name for recipe in case.confinement.recipes.recipes}
    for recipe in case.recipes:
        is_meant = recipe.name not in active and names.intersection(recipe.programs)
        if is_meant and any(_is_covered(case, recipe, each) for each in refusals):
            return recipe
    return None


def _is_covered(case: _Case, recipe: Recipe, refusal: Refusal) -> bool:
    paths = case.confinement.recipes.paths_of(recipe)
    if refusal.kind == "socket":
        return refusal.subject in map(os.path.realpath, paths.unix_sockets)
    if refusal.kind == "read":
        return refusal.subject in map(os.path.realpath, paths.readable)
    if refusal.kind == "network":
        return bool(recipe.presets) and not _is_local(refusal.subject)
    if refusal.kind != "write" or not recipe.writable:
        return False
    policy = case.confinement.policy
    return not refusal.subject or (
        is_inside(refusal.subject, case.user_home) and not is_inside(refusal.subject, policy.cwd)
    )


def _recipe_grant(case: _Case, recipe: Recipe) -> Grant:
    active = [each.name for each in case.confinement.recipes.recipes]
    names = json.dumps([*active, recipe.name])
    return Grant(
        f"the recipe {recipe.name}: {recipe.summary}",
        ("-c", f"sandbox_recipes={names}"),
        f"sandbox_recipes = {names}",
        recipe.risk,
    )


def _add_folders(
    case: _Case, refusals: Sequence[Refusal], grants: list[Grant], ungrantable: list[str]
) -> None:
    folders: dict[str, bool] = {}
    for refusal in refusals:
        if not refusal.subject:
            ungrantable.append(f"{refusal.reason}: nothing says where; look at what it wrote last")
            continue
        folder, is_missing = _folder_of(case, refusal.subject)
        if reason := _objection(case, refusal.subject, folder, is_missing=is_missing):
            ungrantable.append(reason)
        else:
            folders[folder] = is_missing
    if not folders:
        return
    table = table_at(dict(case.confinement.context.config), "sandbox_workspace_write")
    roots = json.dumps([*texts(table.get("writable_roots")), *folders])
    missing = [folder for folder, is_missing in folders.items() if is_missing]
    grants.append(
        Grant(
            f"writing in {', '.join(folders)}",
            tuple(word for folder in folders for word in ("--add-dir", folder)),
            f"sandbox_workspace_write.writable_roots = {roots}",
            "what is written there may be run outside of the sandbox later",
            f"mkdir -p {' '.join(missing)}" if missing else "",
        )
    )


def _folder_of(case: _Case, path: str) -> tuple[str, bool]:
    """The smallest folder to grant for a path, and whether it has to be made first."""
    if os.path.isdir(path):
        return path, False
    parent = os.path.dirname(path)
    if os.path.isdir(parent):
        # The home as a whole is no small grant; what is to come into being in it may be a folder.
        is_too_much = parent in (case.user_home, "/") and not os.path.lexists(path)
        return (path, True) if is_too_much else (parent, False)
    while not os.path.isdir(os.path.dirname(parent)):
        parent = os.path.dirname(parent)
    return parent, True


def _objection(case: _Case, path: str, folder: str, *, is_missing: bool) -> str:
    """Why nobody should grant a folder; empty where it can be asked for."""
    if folder == case.user_home:
        return f"{path}: all of your home would have to be opened; have the command write elsewhere"
    asked = AdditionalPermissions(write=(os.path.dirname(folder) if is_missing else folder,))
    policy, home = case.confinement.policy, Path(case.confinement.context.home)
    reason = objection(asked, policy, home)
    if reason and not (is_missing and asked.write == ("/",)):
        return reason
    return ""


def _add_network(case: _Case, refusals: Sequence[Refusal], grants: list[Grant]) -> None:
    if not refusals:
        return
    active = next((one for one in case.confinement.recipes.recipes if one.presets), None)
    if active is not None and not case.confinement.has_managed_network:
        _add_managed_network(case, active, grants)
        refusals = [each for each in refusals if _is_local(each.subject)]
        if not refusals:
            return
    is_managed = case.confinement.has_managed_network
    if not all(each.subject for each in refusals):
        grants.append(_whole_network())
        return
    table = table_at(dict(case.confinement.context.config), "network")
    hosts = [(each.subject.rpartition(":"), each.protocol) for each in refusals]
    rules = list(dict.fromkeys(_rule(host, port, how) for (host, _, port), how in hosts))
    local = [each for each in refusals if _is_local(each.subject)]
    values: dict[str, object] = {} if is_managed else {"enabled": True}
    values["rules"] = [*texts(table.get("rules")), *rules]
    if local:
        own = texts(table.get("local_addresses"))
        values["local_addresses"] = list(dict.fromkeys([*own, "127.0.0.1"]))
    named = ", ".join(each.subject for each in refusals)
    options = [word for key, value in values.items() for word in ("-c", _key(key, value, "="))]
    lines = "\n".join(_key(key, value, " = ") for key, value in values.items())
    risk = f"what the command can read it can send to {named}"
    grants.append(Grant(f"the managed network, with {named}", tuple(options), lines, risk))


def _is_local(subject: str) -> bool:
    return subject.rpartition(":")[0].strip("[]") in _LOOPBACK


def _add_managed_network(case: _Case, recipe: Recipe, grants: list[Grant]) -> None:
    """Let the hosts of a recipe be reached."""
    if not case.confinement.has_managed_network:
        grants.append(
            Grant(
                f"the managed network, with the hosts of the recipe {recipe.name}",
                ("-c", "network.enabled=true"),
                "network.enabled = true",
                f"it lets through what the presets {', '.join(recipe.presets)} hold",
            )
        )


def _key(key: str, value: object, sign: str) -> str:
    return f"network.{key}{sign}{json.dumps(value)}"


def _rule(host: str, port: str, protocol: str) -> str:
    how = protocol or ("http" if port == "80" or _is_local(f"{host}:{port}") else "https")
    usual = {"http": "80", "https": "443"}.get(how)
    rule = f"allow network protocol:{how} host:{host.strip('[]')}"
    return rule if port == usual else f"{rule} port:{port}"


def _whole_network() -> Grant:
    return Grant(
        "the network, all of it, because nothing names the host",
        ("-c", "sandbox_workspace_write.network_access=true"),
        "sandbox_workspace_write.network_access = true",
        "what the command can read it can send anywhere, and local services are in reach",
    )


def _reason_to_hide(case: _Case, refusal: Refusal) -> str:
    if unreadable_place(case.confinement.policy, refusal.subject) is None:
        return f"{refusal.reason}: the permission profile in use says so; change it there"
    return (
        f"{refusal.reason}: credentials are kept from commands on purpose; a permission profile "
        f'opens it, by "{refusal.subject}" = "read" in its table `filesystem`'
    )
