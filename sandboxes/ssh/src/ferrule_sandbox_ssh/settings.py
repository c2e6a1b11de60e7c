"""What `[sandboxes.ssh]` says."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast, get_args

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.sandbox import Feature

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLE: Final = "[sandboxes.ssh]"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where commands run, and what confines them there.

    Attributes:
        host: Name of the machine, as ssh knows it.
        user: Who logs in; empty for what ssh chooses.
        port: The port; 0 for what ssh chooses.
        identity: File with the private key; empty for what ssh chooses.
        known_hosts: File with the keys of machines; empty for ssh's own.
        workspace: Where the session's working directory lies there; empty for the same path.
        prefix: What commands are run by there, such as a sandbox; `{mode}`, `{network}` and `{cwd}`
            stand for what the policy says.
        enforces: What that prefix enforces, by the word of whoever set it up.
    """

    host: str = ""
    user: str = ""
    port: int = 0
    identity: str = ""
    known_hosts: str = ""
    workspace: str = ""
    prefix: tuple[str, ...] = ()
    enforces: frozenset[Feature] = frozenset()


def read_settings(table: Mapping[str, object]) -> Settings:
    """Read the table.

    Raises:
        ConfigError: A key is unknown or missing, or its value cannot be.
    """
    unknown = sorted(table.keys() - set(Settings.__slots__))
    if unknown:
        known = ", ".join(Settings.__slots__)
        raise ConfigError(f"{_TABLE} knows no {unknown[0]!r}; it knows {known}")
    host, user = _word(table, "host"), _word(table, "user")
    if not host:
        raise ConfigError(f'no machine is named; write host = "NAME" below {_TABLE}')
    prefix, enforces = _words(table, "prefix"), _words(table, "enforces")
    wrong = [name for name in enforces if name not in get_args(Feature)]
    if wrong:
        known = ", ".join(get_args(Feature))
        raise ConfigError(f"enforces of {_TABLE} cannot be {wrong[0]!r}; it may name {known}")
    if enforces and not prefix:
        raise ConfigError(f"enforces of {_TABLE} needs a prefix: without one nothing is enforced")
    port = table.get("port", 0)
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port < 65536:
        raise ConfigError(f"port of {_TABLE} must be a number below 65536")
    workspace = _word(table, "workspace", spaces=True)
    if workspace and not os.path.isabs(workspace):
        raise ConfigError(f"workspace of {_TABLE} must be an absolute path")
    return Settings(
        host=host,
        user=user,
        port=port,
        identity=os.path.expanduser(_word(table, "identity", spaces=True)),
        known_hosts=os.path.expanduser(_word(table, "known_hosts", spaces=True)),
        workspace=os.path.normpath(workspace) if workspace else "",
        prefix=tuple(prefix),
        enforces=frozenset(cast("list[Feature]", enforces)),
    )


def _word(table: Mapping[str, object], name: str, *, spaces: bool = False) -> str:
    value = table.get(name, "")
    if not isinstance(value, str) or value.startswith("-"):
        raise ConfigError(f"{name} of {_TABLE} must be a text that does not begin with a dash")
    if not spaces and any(letter.isspace() for letter in value):
        raise ConfigError(f"{name} of {_TABLE} must be one word")
    return value


def _words(table: Mapping[str, object], name: str) -> list[str]:
    values = table.get(name, [])
    words = cast("list[object]", values) if isinstance(values, list) else [None]
    if not all(isinstance(word, str) for word in words):
        raise ConfigError(f"{name} of {_TABLE} must be a list of texts")
    return cast("list[str]", words)
