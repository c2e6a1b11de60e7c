"""The exact commands of each installer: to try, to install, to remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.installation.receipt import tool_command
from ferrule.installation.sources import source_options

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ferrule.installation.environment import Environment
    from ferrule.installation.wanted import Sources, Wanted


def trial_command(
    environment: Environment, wanted: Sequence[Wanted], sources: Sources, constraints: str
) -> list[str]:
    """Return the command that only finds out what would be installed; empty where none can."""
    if not environment.resolver:
        return []
    words = [*environment.resolver, "install", "--dry-run"]
    return [*words, *_rest(environment.resolver, wanted, sources, constraints)]


def install_commands(
    environment: Environment,
    wanted: Sequence[Wanted],
    sources: Sources,
    constraints: str,
    installed: Collection[str],
) -> list[list[str]]:
    """Return the commands that install what is wanted.

    Args:
        environment: Where to.
        wanted: What.
        sources: Where to look.
        constraints: File with the versions that Ferrule's own parts keep.
        installed: What is there already.
    """
    if environment.kind == "uv tool":
        # Without the constraints: uv would remember them, and hold back the next upgrade.
        return [tool_command(environment, wanted, sources)]
    if environment.kind == "pipx":
        return [_inject(environment, item, sources, installed) for item in wanted]
    words = [*environment.program, "install"]
    return [[*words, *_rest(environment.program, wanted, sources, constraints)]]


def removal_command(environment: Environment, names: Sequence[str]) -> list[str]:
    """Return the command that removes distributions."""
    from ferrule.installation.wanted import Sources

    match environment.kind:
        case "uv tool":
            return tool_command(environment, (), Sources(), without=names)
        case "pipx":
            return [*environment.program, "uninject", environment.name, *names]
        case "pip":
            return [*environment.program, "uninstall", "-y", *_quiet(environment.program), *names]
        case "uv":
            return [*environment.program, "uninstall", *_quiet(environment.program), *names]


def _rest(
    program: Sequence[str], wanted: Sequence[Wanted], sources: Sources, constraints: str
) -> list[str]:
    words = [*_quiet(program), *source_options(sources), "--constraint", constraints]
    for item in wanted:
        words += ["-e", item.requirement] if item.editable else [item.requirement]
    return words


def _quiet(program: Sequence[str]) -> list[str]:
    """Name the options that keep an installer from asking, and tell uv whose environment it is."""
    import sys

    if program[-2:] == ("-m", "pip"):
        return ["--disable-pip-version-check", "--no-input"]
    return ["--python", sys.executable]


def _inject(
    environment: Environment, item: Wanted, sources: Sources, installed: Collection[str]
) -> list[str]:
    import shlex

    words = [*environment.program, "inject"]
    words += ["--force"] if item.name in installed else []
    words += ["--editable"] if item.editable else []
    if options := source_options(sources):
        words += ["--pip-args", shlex.join(options)]
    return [*words, environment.name, item.requirement]
