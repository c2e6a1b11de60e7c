"""Named permission profiles: from the tables of a configuration to one plain value each.

Called where a policy is chosen (`policy.py`, `turn_settings.py`) and where a configuration is read,
which finds what is wrong in any profile before it is used. What a profile means for a command at
one moment is worked out by `profile_resolution.py`.
"""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule.byte_sizes import parse_bytes
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ferrule_hookspecs.policies import (
        FileAccess,
        PermissionEntry,
        PermissionProfile,
        ProfileEnvironment,
        SandboxMode,
    )

BUILT_IN: Final[Mapping[str, SandboxMode]] = {
    ":read-only": "read-only",
    ":workspace": "workspace-write",
    ":danger-full-access": "danger-full-access",
}
"""Profiles that need no definition, and the modes they stand for."""

WORKSPACE: Final = ":project_roots"
_SPECIALS: Final = (":root", ":minimal", WORKSPACE, ":slash_tmp", ":tmpdir")
_OTHER_NAMES: Final = {":workspace_roots": WORKSPACE}
_DEPTH_KEY: Final = "glob_scan_max_depth"
_ACCESS: Final[Mapping[str, FileAccess]] = {
    "read": "read",
    "write": "write",
    "none": "none",
    "deny": "none",
}
_EXTENDABLE: Final[Mapping[str, Mapping[str, object]]] = {
    ":read-only": {"filesystem": {":root": "read"}},
    ":workspace": {
        "filesystem": {
            ":root": "read",
            WORKSPACE: {".": "write"},
            ":slash_tmp": "write",
            ":tmpdir": "write",
        }
    },
}
_LIMITED: Final = " protocol:http method:GET,HEAD,OPTIONS"


class ProfileError(ConfigError):
    """What is wrong in a profile; `path` is the key in it, so that a file and line can be named."""

    def __init__(self, path: Sequence[str], text: str) -> None:
        super().__init__(text)
        self.path = tuple(path)


class _Source(NamedTuple):
    """A profile on its way: its tables with what it extends, and what is said about both."""

    name: str
    tables: Mapping[str, object]

    def table(self, key: str) -> Mapping[str, object]:
        value = self.tables.get(key)
        return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}

    def path(self, *keys: str) -> tuple[str, ...]:
        return ("permissions", self.name, *keys)


def read_profile(values: Mapping[str, object], name: str) -> PermissionProfile:
    """Read a profile of the configuration, with what it extends.

    Raises:
        ProfileError: There is none of that name, or it makes no sense.
    """
    profiles = _profiles(values)
    if name not in profiles:
        known = ", ".join([*BUILT_IN, *sorted(profiles)])
        raise ProfileError(
            ("default_permissions",), f"there is no permission profile {name!r}; there are {known}"
        )
    source = _Source(name, _extended(profiles, name, ()))
    profile: PermissionProfile = {
        "type": "permissionProfile",
        "id": name,
        "entries": list(_entries(source)),
        "workspaceRoots": _workspace_roots(source),
        "networkAccess": False,
        "networkRules": [],
        "unixSockets": _sockets(source),
        "environment": cast("ProfileEnvironment", dict(source.table("environment"))),
        "debugging": source.tables.get("debugging") is True,
    }
    for key in ("description", "extends"):
        text = cast("Mapping[str, object]", profiles[name]).get(key)
        if isinstance(text, str):
            profile[key] = text
    depth = source.table("filesystem").get(_DEPTH_KEY)
    if isinstance(depth, int):
        profile["globScanMaxDepth"] = depth
    _add_network(profile, source)
    _add_limits(profile, source)
    return profile


def profile_mode(profile: PermissionProfile) -> SandboxMode:
    """The mode a profile comes closest to: whether it lets anything be written."""
    can_write = any(entry["access"] == "write" for entry in profile.get("entries", ()))
    return "workspace-write" if can_write else "read-only"


def profile_names(values: Mapping[str, object]) -> list[str]:
    """Name every profile that can be chosen, the built-in ones first."""
    return [*BUILT_IN, *sorted(_profiles(values))]


def _profiles(values: Mapping[str, object]) -> Mapping[str, object]:
    found = values.get("permissions")
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}


def _extended(
    profiles: Mapping[str, object], name: str, below: tuple[str, ...]
) -> Mapping[str, object]:
    """Lay a profile over the one it extends: of the same entry its own counts."""
    chain = (*below, name)
    own = cast("Mapping[str, object]", profiles[name])
    path = ("permissions", name, "extends")
    parent = own.get("extends")
    if parent is None:
        return own
    if parent in chain:
        circle = " -> ".join((*chain, str(parent)))
        raise ProfileError(path, f"permission profiles extend each other in a circle: {circle}")
    if parent in _EXTENDABLE:
        base = _EXTENDABLE[str(parent)]
    elif isinstance(parent, str) and parent in profiles:
        base = _extended(profiles, parent, chain)
    else:
        known = ", ".join([*_EXTENDABLE, *sorted(set(profiles) - {name})])
        text = f"the permission profile {name!r} cannot extend {parent!r}; it can extend {known}"
        raise ProfileError(path, text)
    return _laid_over(base, own)


def _laid_over(base: Mapping[str, object], top: Mapping[str, object]) -> Mapping[str, object]:
    result = dict(base)
    for key, value in top.items():
        below = _alike(result, key)
        if isinstance(value, dict) and isinstance(below, dict):
            result[key] = _laid_over(
                cast("Mapping[str, object]", below), cast("Mapping[str, object]", value)
            )
        else:
            result[key] = value
    return result


def _alike(table: dict[str, object], key: str) -> object:
    """Take what stands under a key; the two names of the workspace are one."""
    for name, other in _OTHER_NAMES.items():
        if key in (name, other):
            found = [table.pop(each) for each in (name, other) if each in table]
            return found[0] if found else None
    return table.get(key)


def _entries(source: _Source) -> Iterator[PermissionEntry]:
    for place, said in source.table("filesystem").items():
        path = source.path("filesystem", place)
        if place == _DEPTH_KEY:
            if not isinstance(said, int) or isinstance(said, bool) or said < 1:
                raise ProfileError(path, f"`{_DEPTH_KEY}` must be an integer not below 1")
            continue
        base = _base(place, path)
        if not isinstance(said, dict):
            yield _entry(base, said, path)
            continue
        if base != WORKSPACE and not base.startswith("/"):
            raise ProfileError(path, f"{place!r} has no entries below it; say `{place}` itself")
        for below, access in cast("Mapping[str, object]", said).items():
            yield _entry(_below(base, below, (*path, below)), access, (*path, below))


def _base(place: str, path: tuple[str, ...]) -> str:
    if place.startswith(":"):
        name = _OTHER_NAMES.get(place, place)
        if name not in _SPECIALS:
            known = ", ".join(_SPECIALS)
            raise ProfileError(path, f"there is no place {place!r}; there are {known}")
        return name
    named = os.path.expanduser(place)
    if not named.startswith("/") or "\0" in place:
        raise ProfileError(
            path,
            f"the path {place!r} must be absolute, begin with `~/`, or be one of the places"
            f" {', '.join(_SPECIALS)}",
        )
    return posixpath.normpath(named) if not is_pattern(named) else named


def _below(base: str, below: str, path: tuple[str, ...]) -> str:
    if below == ".":
        return base
    parts = below.split("/")
    if not all(parts) or {".", ".."} & set(parts) or "\0" in below:
        raise ProfileError(path, f"{below!r} must be a path below {base!r}, without `.` and `..`")
    return posixpath.join(base, below)


def _entry(place: str, said: object, path: tuple[str, ...]) -> PermissionEntry:
    access = _ACCESS.get(said) if isinstance(said, str) else None
    if access is None:
        raise ProfileError(
            path, f"access to {path[-1]!r} must be one of read, write, none and deny, not {said!r}"
        )
    whole = place.removesuffix("/**")
    if not is_pattern(whole) and (access != "none" or whole != place):
        place = whole or "/"
    elif access != "none":
        raise ProfileError(
            path, f"the pattern {path[-1]!r} can only be denied; name a folder to grant {access!r}"
        )
    return {"path": place, "access": access}


def is_pattern(path: str) -> bool:
    """Whether a path is a glob pattern."""
    return any(sign in path for sign in "*?[")


def _workspace_roots(source: _Source) -> list[str]:
    roots: list[str] = []
    for root, is_one in source.table("workspace_roots").items():
        path = source.path("workspace_roots", root)
        named = os.path.expanduser(root)
        if not isinstance(is_one, bool) or not named.startswith("/"):
            raise ProfileError(path, f"`{root}` must be an absolute path that is true or false")
        roots += [posixpath.normpath(named)] if is_one else []
    return roots


def _choices(source: _Source, key: str) -> Iterator[tuple[str, bool]]:
    for name, said in cast("Mapping[str, object]", source.table("network").get(key) or {}).items():
        if said not in ("allow", "deny", "none"):
            path = source.path("network", key, name)
            raise ProfileError(path, f"{name!r} must be allow or deny, not {said!r}")
        yield name, said == "allow"


def _sockets(source: _Source) -> list[str]:
    sockets: list[str] = []
    for name, is_allowed in _choices(source, "unix_sockets"):
        named = os.path.expanduser(name)
        if not named.startswith("/"):
            path = source.path("network", "unix_sockets", name)
            raise ProfileError(path, f"the socket {name!r} must be named by its absolute path")
        sockets += [named] if is_allowed else []
    return sockets


def _add_network(profile: PermissionProfile, source: _Source) -> None:
    network = source.table("network")
    rules = [
        rule
        for host, is_allowed in _choices(source, "domains")
        for rule in _rules(host, is_allowed=is_allowed, is_limited=network.get("mode") == "limited")
    ]
    if network.get("enabled") is not True:
        return
    if network.get("mode") == "limited" and not rules:
        path = source.path("network", "mode")
        raise ProfileError(path, "`mode` limited needs `domains`, which says where to")
    profile["networkRules"] = rules
    profile["networkAccess"] = not rules


def _rules(host: str, *, is_allowed: bool, is_limited: bool) -> Iterator[str]:
    """Say a pattern of hosts in the words of `[network]`."""
    hosts = [host]
    if host == "*":
        hosts = ["**"]
    elif host.startswith("**."):
        hosts = [host[3:], host[1:]]
    for each in hosts:
        verb = "allow" if is_allowed else "deny"
        yield f"{verb} network host:{each}{_LIMITED if is_allowed and is_limited else ''}"


def _add_limits(profile: PermissionProfile, source: _Source) -> None:
    limits = source.table("limits")
    processes, memory = limits.get("max_processes"), limits.get("max_memory")
    if isinstance(processes, int):
        profile["maxProcesses"] = processes
    if memory is not None:
        try:
            profile["maxMemoryBytes"] = parse_bytes(memory)
        except ValueError as error:
            raise ProfileError(source.path("limits", "max_memory"), str(error)) from None
