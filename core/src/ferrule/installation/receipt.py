"""The command that gives a `uv tool` environment another set of distributions.

uv remembers in `uv-receipt.toml` what it was told, and an upgrade keeps to it; so plugins are told
to uv together with all that was told before.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ferrule.installation.sources import source_options
from ferrule.versions import normal_name
from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ferrule.installation.environment import Environment
    from ferrule.installation.wanted import Sources, Wanted

_FLAGS: Final = frozenset({"no-index"})
_TEXTS: Final = frozenset(
    {"prerelease", "resolution", "index-strategy", "keyring-provider", "exclude-newer"}
)


def tool_command(
    environment: Environment,
    wanted: Sequence[Wanted],
    sources: Sources,
    *,
    without: Collection[str] = (),
) -> list[str]:
    """Return the command that installs the tool with what it had, what is wanted, and no more.

    Raises:
        PluginError: The receipt holds what cannot be told again.
    """
    told = cast("Sequence[Mapping[str, object]]", environment.receipt.get("requirements", ()))
    main = next((row for row in told if _name(row) == environment.name), None)
    if main is None:
        raise PluginError(
            f"the receipt of {environment.name} does not name it; install Ferrule again"
        )
    left_out = {item.name for item in wanted} | set(without) | {environment.name}
    words = ["tool", "install", *_recorded_options(environment.receipt), *source_options(sources)]
    words += _requirement(main, ("--editable",), ())
    for row in told:
        if _name(row) not in left_out:
            words += _requirement(row, ("--with-editable",), ("--with",))
    for item in wanted:
        words += ["--with-editable" if item.editable else "--with", item.requirement]
    return [*environment.program, *words]


def told_names(environment: Environment) -> set[str]:
    """Name what uv was told to install, the tool itself left out."""
    told = cast("Sequence[Mapping[str, object]]", environment.receipt.get("requirements", ()))
    return {_name(row) for row in told} - {environment.name}


def _name(row: Mapping[str, object]) -> str:
    return normal_name(str(row["name"]))


def _requirement(
    row: Mapping[str, object], editable: tuple[str, ...], plain: tuple[str, ...]
) -> list[str]:
    if "editable" in row:
        return [*editable, str(row["editable"])]
    extras = ",".join(map(str, cast("Sequence[object]", row.get("extras", ()))))
    name = f"{row['name']}[{extras}]" if extras else str(row["name"])
    known = {"name", "extras", "specifier", "path", "directory", "url", "git"}
    if unknown := sorted(set(row) - known):
        raise PluginError(f"{name} was installed with {unknown[0]!r}, which cannot be told again")
    local = row.get("path", row.get("directory"))
    if local is not None:
        return [*plain, f"{name} @ {Path(str(local)).as_uri()}"]
    if "git" in row:
        return [*plain, f"{name} @ git+{row['git']}"]
    if "url" in row:
        return [*plain, f"{name} @ {row['url']}"]
    return [*plain, f"{name}{row.get('specifier', '')}"]


def _recorded_options(receipt: Mapping[str, object]) -> list[str]:
    words: list[str] = []
    if python := receipt.get("python"):
        words += ["--python", str(python)]
    options = cast("Mapping[str, object]", receipt.get("options", {}))
    for key, value in sorted(options.items()):
        if key == "find-links":
            for link in cast("Sequence[object]", value):
                words += ["--find-links", str(link)]
        elif key == "index":
            for row in cast("Sequence[Mapping[str, object]]", value):
                words += ["--default-index" if row.get("default") else "--index", str(row["url"])]
        elif key in _FLAGS:
            words += [f"--{key}"] if value else []
        elif key in _TEXTS and isinstance(value, str):
            words += [f"--{key}", value]
        else:
            raise PluginError(
                f"{key!r} of the receipt cannot be told uv again; install the plugin by hand, with:"
                " uv tool install … --with PLUGIN"
            )
    return words
