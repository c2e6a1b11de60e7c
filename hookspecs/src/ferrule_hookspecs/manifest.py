"""What a plugin's package says about itself before any of it is imported: `ferrule.toml`.

The file lies in the package that an entry point names, beside its `__init__.py`. A package without
one asks for nothing and guards nothing.

    guards = true               # without this plugin what it judges is refused
    isolation = "process"       # its tools want a process of their own

    [capabilities]              # what that process may reach, beside what the policy lets it read
    read = ["~/.config/acme"]
    write = ["~/.cache/acme"]
    hosts = ["tickets.acme.example"]
    environment = ["ACME_TOKEN"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Mapping

MANIFEST_NAME: Final = "ferrule.toml"

Isolation = Literal["none", "process"]
"""Where the tools of a plugin run: in the process of Ferrule, or in a confined one of their own."""


class Capabilities(NamedTuple):
    """What a plugin asks for beyond what its sandbox gives every program.

    Attributes:
        read: Paths it reads; absolute, or from the home with `~/`.
        write: Paths it changes; likewise.
        hosts: Names of hosts it talks to, `*.` in front for all below a name, `:` and a port
            behind for another one than 80 and 443.
        environment: Variables it is given.
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()


class Manifest(NamedTuple):
    """A package's `ferrule.toml`.

    Attributes:
        guards: Whether what its assessing hooks judge is refused where it cannot be used.
        isolation: Where its author wants its tools to run; the user's configuration decides.
        capabilities: What it asks for.
    """

    guards: bool = False
    isolation: Isolation = "none"
    capabilities: Capabilities = Capabilities()


def parse_manifest(text: str, place: str) -> Manifest:
    """Read the text of a `ferrule.toml`; `place` names it in errors.

    Raises:
        PluginError: It is no TOML, or has a key or a value that is not known.
    """
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PluginError(f"{place} is not valid TOML: {error}") from None
    _check_keys(table, Manifest._fields, place)
    guards = table.get("guards", False)
    isolation = table.get("isolation", "none")
    if not isinstance(guards, bool):
        raise PluginError(f"{place}: guards must be true or false")
    if isolation not in ("none", "process"):
        raise PluginError(f'{place}: isolation must be "none" or "process", not {isolation!r}')
    return Manifest(guards, isolation, _capabilities(table.get("capabilities", {}), place))


def _capabilities(value: object, place: str) -> Capabilities:
    if not isinstance(value, dict):
        raise PluginError(f"{place}: capabilities must be a table")
    table = cast("Mapping[str, object]", value)
    _check_keys(table, Capabilities._fields, f"{place}: [capabilities]")
    return Capabilities(**{key: _texts(key, table[key], place) for key in table})


def _texts(key: str, value: object, place: str) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else None
    texts = tuple(item for item in items or () if isinstance(item, str) and _is_legible(item))
    if items is None or len(texts) != len(items):
        raise PluginError(f"{place}: capabilities.{key} must be a list of texts")
    if key in ("read", "write") and not all(t.startswith(("/", "~/")) for t in texts):
        raise PluginError(f"{place}: capabilities.{key}: a path begins with / or with ~/")
    return texts


def _is_legible(text: str) -> bool:
    """Whether whoever is asked for trust reads what is there; no signs that steer a terminal."""
    return bool(text.strip()) and text.isprintable()


def _check_keys(table: Mapping[str, object], known: tuple[str, ...], place: str) -> None:
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise PluginError(
            f"{place}: {unknown[0]!r} is not known there; there are: {', '.join(known)}"
        )
