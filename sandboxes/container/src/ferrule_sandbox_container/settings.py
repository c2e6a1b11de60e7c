"""What `[sandboxes.container]` says."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar, cast

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

_TABLE: Final = "[sandboxes.container]"
_HARMLESS: Final = frozenset(
    (
        *("--add-host", "--annotation", "--cpu-shares", "--cpus", "--cpuset-cpus", "--dns"),
        *("--hostname", "--label", "--platform", "--shm-size", "--tz", "--ulimit"),
    )
)
"""Options that open nothing; everything else would have to be judged case by case."""
_LABELS_OFF: Final = "--security-opt=label=disable"
"""Without it SELinux keeps a container from folders it was not made for."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How containers are made.

    Attributes:
        image: The image commands run in; it is never pulled.
        engine: Name or absolute path of podman, docker or nerdctl; empty for the first found.
        runtime: The engine's runtime, such as runc; empty for its own choice.
        mounts: Folders and files that are readable inside, host path to path inside.
        user: `UID:GID` inside; empty for the one whose files are the caller's.
        network: What the engine calls the network that policies with network get; empty for its
            own choice.
        memory: Bound on memory, in the engine's words.
        pids: Bound on processes; 0 for the policy's.
        extra_args: More options of the engine, of those that open nothing.
    """

    image: str = ""
    engine: str = ""
    runtime: str = ""
    mounts: tuple[tuple[str, str], ...] = ()
    user: str = ""
    network: str = ""
    memory: str = ""
    pids: int = 0
    extra_args: tuple[str, ...] = ()


def read_settings(table: Mapping[str, object]) -> Settings:
    """Read the table.

    Raises:
        ConfigError: A key is unknown, or its value cannot be.
    """
    unknown = sorted(table.keys() - set(Settings.__slots__))
    if unknown:
        known = ", ".join(Settings.__slots__)
        raise ConfigError(f"{_TABLE} knows no {unknown[0]!r}; it knows {known}")
    texts = {name: _text(table, name) for name in ("image", "engine", "runtime", "user", "memory")}
    for name, value in texts.items():
        if value.startswith("-") or any(letter.isspace() for letter in value):
            raise ConfigError(f"{name} of {_TABLE} cannot be {value!r}; write only its name")
    pids = table.get("pids", 0)
    if not isinstance(pids, int) or isinstance(pids, bool) or pids < 0:
        raise ConfigError(f"pids of {_TABLE} must be a whole number")
    return Settings(
        **texts,
        network=_checked_network(_text(table, "network")),
        pids=pids,
        mounts=tuple(_each(table, "mounts", _mount)),
        extra_args=tuple(_each(table, "extra_args", _harmless)),
    )


def _text(table: Mapping[str, object], name: str) -> str:
    value = table.get(name, "")
    if not isinstance(value, str):
        raise ConfigError(f"{name} of {_TABLE} must be a text")
    return value


def _each(table: Mapping[str, object], name: str, read: Callable[[str], T]) -> list[T]:
    values = table.get(name, [])
    if not isinstance(values, list):
        raise ConfigError(f"{name} of {_TABLE} must be a list of texts")
    found: list[T] = []
    for value in cast("list[object]", values):
        if not isinstance(value, str):
            raise ConfigError(f"{name} of {_TABLE} must be a list of texts")
        found.append(read(value))
    return found


def _checked_network(value: str) -> str:
    if value.startswith(("container:", "ns:", "-")):
        raise ConfigError(f"network of {_TABLE} cannot be {value!r}: that is another's network")
    return value


def _mount(text: str) -> tuple[str, str]:
    source, _, target = text.partition(":")
    source = os.path.expanduser(source)
    target = target or source
    if not os.path.isabs(source) or not os.path.isabs(target) or ":" in target:
        raise ConfigError(
            f"mounts of {_TABLE}: {text!r} must be /PATH or /PATH:/PATH/INSIDE; mounts are"
            " always read-only, what may be written is said by sandbox_workspace_write"
        )
    return os.path.realpath(source), os.path.normpath(target)


def _harmless(argument: str) -> str:
    name, is_given, _ = argument.partition("=")
    if argument != _LABELS_OFF and (name not in _HARMLESS or not is_given):
        allowed = ", ".join(sorted(_HARMLESS))
        raise ConfigError(
            f"extra_args of {_TABLE}: {argument!r} is not allowed; write --NAME=VALUE with one of"
            f" {allowed}, or {_LABELS_OFF}"
        )
    return argument
