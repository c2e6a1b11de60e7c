"""What a permission profile means on this machine at one moment. Called by `policy.py`.

Of the entries that hold a path the most exact counts; for the same path none beats write beats
read. A pattern is only ever denied, and no entry opens again what it denies. What cannot be
enforced that way is an error, never something less.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule.path_patterns import matching_paths
from ferrule.permission_profiles import WORKSPACE, is_pattern
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.evaluator import is_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ferrule_hookspecs.policies import FileAccess, PermissionProfile

_MINIMAL: Final = (
    "/bin",
    "/sbin",
    "/usr",
    "/etc",
    "/lib",
    "/lib64",
    "/nix/store",
    "/run/current-system/sw",
)
_STRICTNESS: Final[Sequence[FileAccess]] = ("read", "write", "none")
_AROUND_LIMIT: Final = 4096


class ProfileFiles(NamedTuple):
    """The files of a profile.

    Attributes:
        workspaces: Folders that may be written, with everything protected in them.
        scratch: Temporary folders that may be written.
        read_only: What lies in these and may only be read, missing names included.
        deny_read: Existing places that must not be read.
        denied_names: Denied places as they are named, missing ones included.
        readable_roots: As in `ResolvedPolicy`.
        closed: Places with an entry of their own that does not let them be written.
        secrets: Credentials that could be read by what this says, but for `deny_read`.
    """

    workspaces: tuple[str, ...]
    scratch: tuple[str, ...]
    read_only: tuple[str, ...]
    deny_read: tuple[str, ...]
    denied_names: tuple[str, ...]
    readable_roots: tuple[str, ...] | None
    closed: tuple[str, ...]
    secrets: tuple[str, ...] = ()


class _Ground(NamedTuple):
    """Where places of a profile begin."""

    workspaces: tuple[str, ...]
    tmpdir: str


def resolve_files(
    profile: PermissionProfile,
    cwd: str,
    *,
    environ: Mapping[str, str],
    extra_roots: Sequence[str],
    secrets: Sequence[str],
) -> ProfileFiles:
    """Work out what a profile's entries are at this moment.

    Args:
        profile: The profile.
        cwd: The working directory, canonical.
        environ: The environment of the kernel, for the temporary folder.
        extra_roots: Folders that count as the workspace, too.
        secrets: Credentials, which are denied unless an entry names them exactly.

    Raises:
        ConfigError: The entries contradict each other, or a pattern matches too much.
    """
    named = (cwd, *profile.get("workspaceRoots", ()), *extra_roots)
    workspaces = dict.fromkeys(os.path.realpath(os.path.join(cwd, root)) for root in named)
    ground = _Ground(tuple(filter(os.path.isdir, workspaces)), environ.get("TMPDIR", ""))
    rules = _rules(profile, ground)
    for place in secrets:
        rules.setdefault(place, "none")
    patterns = [
        place
        for entry in profile.get("entries", ())
        if is_pattern(entry["path"])
        for place in _places(entry["path"], ground)
    ]
    matches = matching_paths(patterns, cwd, max_depth=profile.get("globScanMaxDepth"))
    files = _sorted_out(rules, matches, ground)
    roots = ("/",) if files.readable_roots is None else files.readable_roots
    return files._replace(
        secrets=tuple(path for path in secrets if any(is_inside(path, root) for root in roots))
    )


def _rules(profile: PermissionProfile, ground: _Ground) -> dict[str, FileAccess]:
    """The entries by canonical path, the stricter of two for the same."""
    rules: dict[str, FileAccess] = {}
    for entry in profile.get("entries", ()):
        if is_pattern(entry["path"]):
            continue
        for place in _places(entry["path"], ground):
            path = os.path.realpath(place)
            rules[path] = _stricter(rules.get(path, "read"), entry["access"])
            if entry["access"] == "none" and os.path.islink(place):
                rules[_without_link(place)] = "none"  # whatever the name comes to lead to
    return rules


def _stricter(first: FileAccess, second: FileAccess) -> FileAccess:
    return first if _STRICTNESS.index(first) >= _STRICTNESS.index(second) else second


def _without_link(place: str) -> str:
    parent, name = os.path.split(place)
    return os.path.join(os.path.realpath(parent), name)


def _places(named: str, ground: _Ground) -> Iterator[str]:
    """The paths a place of an entry stands for."""
    base, slash, below = named.partition("/")
    match base:
        case "":
            yield named
            return
        case ":root":
            bases: Sequence[str] = ("/",)
        case ":minimal":
            bases = tuple(filter(os.path.isdir, _MINIMAL))
        case ":slash_tmp":
            bases = ("/tmp",)  # noqa: S108  # what the profile names, not where we write
        case ":tmpdir":
            bases = (ground.tmpdir,) if os.path.isabs(ground.tmpdir) else ()
        case _:
            bases = ground.workspaces if base == WORKSPACE else ()
    for each in bases:
        yield os.path.join(each, below) if slash else each


def _sorted_out(
    rules: Mapping[str, FileAccess], matches: Sequence[str], ground: _Ground
) -> ProfileFiles:
    found = _Sorted()
    for path in sorted(rules):
        found.take(path, rules[path], _access_around(rules, path))
    _refuse_opened_matches(found.opened, matches)
    readable = _readable(rules, found.opened)
    denied = [*found.denied, *matches]
    if readable is not None:
        denied = [path for path in denied if any(is_inside(path, root) for root in readable)]
    temporary = {os.path.realpath(path) for path in ("/tmp", ground.tmpdir) if path}  # noqa: S108
    scratch = [path for path in found.writable if path in temporary - set(ground.workspaces)]
    workspaces = [path for path in found.writable if path not in scratch]
    # Where a folder around it may be written, a workspace keeps the protection of one.
    workspaces += [
        path
        for path in ground.workspaces
        if path not in workspaces and (rules.get(path) or _access_around(rules, path)) == "write"
    ]
    return ProfileFiles(
        tuple(workspaces),
        tuple(scratch),
        tuple(found.read_only),
        tuple(dict.fromkeys(path for path in denied if os.path.lexists(path))),
        tuple(denied),
        readable,
        tuple(path for path, access in rules.items() if path != "/" and access != "write"),
    )


class _Sorted:
    """The entries of a profile by what they come to; taken from the outside to the inside."""

    def __init__(self) -> None:
        self.writable: list[str] = []
        self.read_only: list[str] = []
        self.denied: list[str] = []
        self.opened: list[str] = []

    def take(self, path: str, access: FileAccess, around: FileAccess | None) -> None:
        """Take one entry; `around` is what holds where it does not."""
        if access == around and access != "write":
            return
        is_in_writable = any(is_inside(path, root) for root in self.writable)
        if access == "none":
            self.denied.append(path)
        elif is_in_writable and around != "write":
            raise ConfigError(
                f"the permission profile cannot open {path}: it lies in a closed place of a folder "
                "that may be written; leave one of the two entries out"
            )
        elif access == "write":
            if _may_be_written(path):
                self.writable.append(path)
                self.opened.append(path)
        elif is_in_writable:
            self.read_only.append(path)
        elif os.path.exists(path):
            self.opened.append(path)


def _access_around(rules: Mapping[str, FileAccess], path: str) -> FileAccess | None:
    """What the most exact other entry that holds a path says."""
    while path != "/":
        path = os.path.dirname(path)
        if path in rules:
            return rules[path]
    return None


def _refuse_opened_matches(opened: Sequence[str], matches: Sequence[str]) -> None:
    for path in opened:
        if any(is_inside(path, place) for place in matches):
            raise ConfigError(
                f"the permission profile cannot open {path}: one of its patterns denies it; "
                "leave one of the two entries out"
            )


def _may_be_written(path: str) -> bool:
    if os.path.isdir(path):
        return True
    if os.path.lexists(path):
        raise ConfigError(
            f"the permission profile lets {path} be written, which is no folder; "
            "name the folder that holds it"
        )
    return False


def _readable(rules: Mapping[str, FileAccess], opened: Sequence[str]) -> tuple[str, ...] | None:
    """What may be read, where that is not everything less what is denied."""
    closed = [place for place, access in rules.items() if access == "none"]
    reopened = {place for place in closed if any(_is_below(path, place) for path in opened)}
    if rules.get("/", "none") != "none" and not reopened:
        return None
    roots: dict[str, None] = {}
    for path in opened:
        inner = [place for place in reopened if _is_below(place, path)]
        for root in _around(path, inner):
            roots[root] = None
    return tuple(roots)


def _is_below(path: str, folder: str) -> bool:
    return path != folder and is_inside(path, folder)


def _around(folder: str, closed: Sequence[str]) -> Iterator[str]:
    """A folder without some places in it, entry by entry where that is needed.

    What appears later in a folder that is named entry by entry cannot be read, which is the safe
    side to be wrong on.
    """
    if not closed:
        yield folder
        return
    open_folders, count = [folder], 0
    while open_folders:
        current = open_folders.pop()
        try:
            names = sorted(os.listdir(current))
        except OSError:
            continue
        for name in names:
            path = os.path.join(current, name)
            count += 1
            if count > _AROUND_LIMIT:
                raise ConfigError(
                    f"the permission profile opens something within a denied folder of {current}, "
                    f"which holds too much; name what may be read there"
                )
            if path in closed:
                continue
            if any(_is_below(place, path) for place in closed):
                open_folders.append(path)
            elif not os.path.islink(path):
                yield path
