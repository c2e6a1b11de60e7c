"""What a call may be granted beyond its sandbox, and how models and clients write that."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from ferrule_hookspecs.errors import ToolArgumentError

_PATHS: Final[Mapping[str, object]] = {"type": "array", "items": {"type": "string"}}
PERMISSIONS_SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        "network": {
            "type": "object",
            "properties": {"enabled": {"type": "boolean"}},
            "additionalProperties": False,
        },
        "file_system": {
            "type": "object",
            "properties": {"read": _PATHS, "write": _PATHS},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}


class AdditionalPermissions(NamedTuple):
    """What is granted beyond what the sandbox allows; everything else stays confined.

    Attributes:
        network: The network may be used.
        read: Absolute paths that may be read although the sandbox hides them.
        write: Absolute folders that may be written.
    """

    network: bool = False
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What is granted, in words; empty for nothing."""
        parts = [
            *(["use of the network"] if self.network else []),
            *(f"writing in {path}" for path in self.write),
            *(f"reading {path}" for path in self.read),
        ]
        return ", ".join(parts)

    @property
    def wire(self) -> dict[str, object]:
        """The form in which clients are told."""
        told: dict[str, object] = {}
        if self.network:
            told["network"] = {"enabled": True}
        if self.read or self.write:
            told["fileSystem"] = {"read": list(self.read), "write": list(self.write)}
        return told

    def granted_by(self, wire: Mapping[str, object]) -> AdditionalPermissions:
        """Return what of this a client's answer grants; what was not asked for does not count."""
        network, files = (_loose_table(wire.get(key)) for key in ("network", "fileSystem"))
        read, write = set(_loose_texts(files.get("read"))), set(_loose_texts(files.get("write")))
        for entry in _loose_list(files.get("entries")):
            table = _loose_table(entry)
            path = _loose_table(table.get("path")).get("path")
            if isinstance(path, str):
                (write if table.get("access") == "write" else read).add(path)
        return AdditionalPermissions(
            self.network and network.get("enabled") is True,
            tuple(path for path in self.read if path in read or path in write),
            tuple(path for path in self.write if path in write),
        )


def _loose_table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _loose_list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _loose_texts(value: object) -> list[str]:
    return [text for text in _loose_list(value) if isinstance(text, str)]


def parse_permissions(name: str, value: object, folder: str) -> AdditionalPermissions:
    """Read what a model asks for; paths are relative to `folder`.

    Raises:
        ToolArgumentError: It is no such thing, or asks for nothing.
    """
    asked = _table(name, value, ("network", "file_system"))
    network = _table(f"{name}.network", asked.get("network"), ("enabled",))
    enabled = network.get("enabled")
    if enabled is not None and not isinstance(enabled, bool):
        raise _wrong(f"{name}.network.enabled", "true or false")
    files = _table(f"{name}.file_system", asked.get("file_system"), ("read", "write"))
    read, write = (_paths(f"{name}.file_system", files, key, folder) for key in ("read", "write"))
    permissions = AdditionalPermissions(bool(enabled), read, write)
    if not any(permissions):
        raise _wrong(name, "an object that names the network or files; it asks for nothing")
    return permissions


def _table(place: str, value: object, keys: tuple[str, ...]) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _wrong(place, "an object")
    table = cast("Mapping[str, object]", value)
    for key in table:
        if key not in keys:
            raise _wrong(place, f"an object of {' and '.join(keys)}, without {key!r}")
    return table


def _paths(place: str, table: Mapping[str, object], key: str, folder: str) -> tuple[str, ...]:
    value = table.get(key)
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise _wrong(f"{place}.{key}", "a list of paths")
    paths: list[str] = []
    for path in cast("list[object]", value):
        if not isinstance(path, str) or not path or "\0" in path:
            raise _wrong(f"{place}.{key}", "a list of paths")
        paths.append(os.path.normpath(os.path.join(folder, os.path.expanduser(path))))
    return tuple(dict.fromkeys(paths))


def _wrong(place: str, wanted: str) -> ToolArgumentError:
    return ToolArgumentError(f"failed to parse function arguments: `{place}` must be {wanted}")
