"""The index of installed plugins: what is there, known without importing any of it.

Everything that wants to know about plugins starts here: the command line for the names and help of
commands, the manager for the rest. Only the site folders of the running interpreter count, never
the working directory, `PYTHONPATH` or a folder everybody may write to. The result is cached and
checked by time stamps, so that a warm start costs less than a millisecond beside reading JSON.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict, cast

from ferrule.approval_record import read_approvals
from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
from ferrule.entry import Entry, Probe
from ferrule.stamps import file_stamp, tree_stamp
from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.manifest import Capabilities, Manifest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ferrule.approval_record import Approvals

__all__ = ["Entry", "Index", "Probe", "build_index", "load_index"]

_FORMAT: Final = 4


class _Cache(TypedDict):
    """The cache file: a scan, the stamps under which it holds, and the probes by entry."""

    format: int
    interpreter: list[str]
    directories: dict[str, str]
    files: dict[str, str]
    trees: dict[str, str]
    entries: list[list[object]]
    problems: list[str]
    contract: str
    probes: dict[str, list[object]]


class Index:
    """All entry points of the vetted folders, and how they fared in the probe."""

    def __init__(
        self,
        cache: _Cache,
        path: Path,
        extra: Sequence[Entry],
        approvals: Approvals,
    ) -> None:
        """Keep what was read; `extra` are the entries of development checkouts."""
        self._cache = cache
        self._path = path
        self._contract = cache["contract"]
        self._own: set[str] = set()
        replaced = {entry.distribution for entry in extra}
        installed = map(_entry_from_json, cache["entries"])
        kept = [entry for entry in installed if entry.distribution not in replaced]
        self._entries: list[Entry] = [self._with_probe(entry) for entry in (*kept, *extra)]
        if approvals.given or approvals.fault:
            self._entries = [
                entry._replace(approval=approvals.of(entry)) for entry in self._entries
            ]

    @property
    def problems(self) -> Sequence[str]:
        """What could not be read, one sentence each."""
        return self._cache["problems"]

    @property
    def contract_version(self) -> str:
        """Version of the installed `ferrule-hookspecs`; empty when it was not found."""
        return self._contract

    @property
    def path(self) -> Path:
        """The cache file."""
        return self._path

    @property
    def stamps(self) -> Mapping[str, str]:
        """The folders and files it was read from, with their stamps."""
        return {**self._cache["directories"], **self._cache["files"]}

    def hold(self, older: Index, distributions: Collection[str]) -> None:
        """Let distributions, and the contract, stay as an older index knows them."""
        found = [entry for entry in self._entries if entry.distribution not in distributions]
        found += [entry for entry in older.all_entries() if entry.distribution in distributions]
        self._entries = sorted(found, key=lambda entry: (entry.group, entry.name, entry.location))
        self._contract = older.contract_version

    def entries(self, group: str) -> list[Entry]:
        """List the entries of a group that the command line has not switched off, by name."""
        return [entry for entry in self._entries if entry.group == group and not entry.off]

    def all_entries(self) -> list[Entry]:
        """List every entry, those that are switched off included."""
        return list(self._entries)

    def switch_off(self, environ: Mapping[str, str]) -> None:
        """Heed `FERRULE_SAFE_MODE` and `FERRULE_NO_PLUGIN`."""
        is_safe = environ.get("FERRULE_SAFE_MODE") == "1"
        names = [name.strip() for name in environ.get("FERRULE_NO_PLUGIN", "").split(",")]
        if not is_safe and not any(names):
            return
        self._entries = [
            entry._replace(off=_why_off(entry, names, is_safe=is_safe)) for entry in self._entries
        ]

    def probe(self, wanted: Sequence[Entry]) -> None:
        """Import the given entries in a child process where no valid result is known yet."""
        missing = [entry for entry in wanted if entry.probe is None and not entry.off]
        if not missing:
            return
        from ferrule.probe import probe_entries

        results = probe_entries(missing)
        for entry, result in zip(missing, results, strict=True):
            self._cache["probes"][_probe_key(entry)] = [entry.stamp, *result]
            if entry.is_editable and not result.ok and entry.roots[0] not in sys.path:
                # Installed while this process runs, it may be found by the next one only.
                self._own.add(_probe_key(entry))
        self._entries = [self._with_probe(entry) for entry in self._entries]
        self.save()

    def save(self) -> None:
        """Write the cache file; a folder that cannot be written only costs time."""
        from ferrule.cache_file import replace_cache

        probes = self._cache["probes"].items()
        kept = {**self._cache, "probes": {k: row for k, row in probes if k not in self._own}}
        replace_cache(self._path, json.dumps(kept))

    def _with_probe(self, entry: Entry) -> Entry:
        row = self._cache["probes"].get(_probe_key(entry))
        if row is None or row[0] != entry.stamp:
            return entry
        values = [tuple(cast("list[str]", v)) if isinstance(v, list) else v for v in row[1:]]
        return entry._replace(probe=Probe(*cast("list[bool]", values)))  # pyright: ignore[reportArgumentType] -- written by `probe` above


def load_index(environ: Mapping[str, str], *, dev_plugins: Sequence[str] = ()) -> Index:
    """Return the index of the running interpreter's site folders.

    Args:
        environ: The process environment.
        dev_plugins: Checkouts to use for this run, beside those in `FERRULE_DEV_PLUGIN`.

    Raises:
        PluginError: A development checkout cannot be used.
    """
    return build_index(None, environ, dev_plugins=dev_plugins)


def build_index(
    directories: Sequence[str] | None,
    environ: Mapping[str, str],
    *,
    dev_plugins: Sequence[str] = (),
) -> Index:
    """Return the index of the given site folders; None means the running interpreter's.

    Nothing is probed here: only who has read the configuration knows what may be imported at all.
    """
    path = _cache_path(environ)
    cache = _read_cache(path)
    is_warm = cache is not None and _is_valid(cache, directories)
    if cache is None or not is_warm:
        cache = _rescan(directories, cache, environ)
    checkouts = [*dev_plugins, *environ.get("FERRULE_DEV_PLUGIN", "").split(os.pathsep)]
    extra = _dev_entries([path for path in checkouts if path])
    index = Index(cache, path, extra, read_approvals(environ))
    index.switch_off(environ)
    if not is_warm:
        index.save()
    return index


def site_directories() -> list[str]:
    """Return where the running interpreter's packages are installed."""
    import sysconfig

    found = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return list(dict.fromkeys(filter(None, [*found, _user_site()])))


def is_safe_directory(path: str) -> bool:
    """Tell whether a folder exists and cannot be written by everybody."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and not (os.name == "posix" and mode & stat.S_IWOTH)


def _user_site() -> str:
    site = sys.modules.get("site")
    enabled = getattr(site, "ENABLE_USER_SITE", False)
    return str(getattr(site, "USER_SITE", "") or "") if enabled else ""


def _interpreter() -> list[str]:
    return [sys.prefix, sys.version, _user_site()]


def _cache_path(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CACHE_HOME") or environ.get("LOCALAPPDATA")
    folder = Path(base) if base else Path(environ.get("HOME") or Path.home(), ".cache")
    checksum = zlib.crc32("\0".join(_interpreter()).encode("utf-8", "surrogateescape"))
    return folder / "ferrule" / f"index-{checksum:08x}.json"


def _read_cache(path: Path) -> _Cache | None:
    """Read the cache file; one that somebody else could have written is not believed."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            is_ours = os.name != "posix" or (
                status.st_uid == os.geteuid() and not status.st_mode & stat.S_IWOTH
            )
            cache = cast("_Cache", json.loads(file.read())) if is_ours else None
    except (OSError, ValueError):
        return None
    if not isinstance(cache, dict) or cache.get("format") != _FORMAT:
        return None
    return cache if cache["interpreter"] == _interpreter() else None


def _is_valid(cache: _Cache, directories: Sequence[str] | None) -> bool:
    if directories is not None and list(directories) != list(cache["directories"]):
        return False
    return (
        all(
            file_stamp(path) == stamp and (not stamp or is_safe_directory(path))
            for path, stamp in cache["directories"].items()
        )
        and all(file_stamp(path) == stamp for path, stamp in cache["files"].items())
        and all(tree_stamp(path) == stamp for path, stamp in cache["trees"].items())
    )


def _rescan(
    directories: Sequence[str] | None, old: _Cache | None, environ: Mapping[str, str]
) -> _Cache:
    from ferrule.origins import with_origins
    from ferrule.scan import scan_directories

    wanted = site_directories() if directories is None else list(directories)
    stamps = {path: file_stamp(path) for path in wanted}
    scan = scan_directories(path for path in wanted if is_safe_directory(path))
    unsafe = [path for path in wanted if os.path.isdir(path) and not is_safe_directory(path)]
    probes = old["probes"] if old else {}
    return {
        "format": _FORMAT,
        "interpreter": _interpreter(),
        "directories": stamps,
        "files": scan.files,
        "trees": scan.trees,
        "entries": [list(entry) for entry in with_origins(scan.entries, environ)],
        "problems": [
            *(f"{path} does not count: everybody may write to it" for path in unsafe),
            *scan.problems,
        ],
        "contract": scan.contract_version,
        # What failed is tried again: a missing dependency may be the very thing that was installed.
        "probes": {
            key: row
            for key, row in probes.items()
            if row[1] and os.path.exists(key.partition("|")[0])
        },
    }


def _entry_from_json(row: list[object]) -> Entry:
    values = [tuple(cast("list[str]", v)) if isinstance(v, list) else v for v in row]
    entry = Entry(*cast("list[str]", values))  # pyright: ignore[reportArgumentType] -- written by `_rescan`
    guards, isolation, asked = entry.manifest
    return entry._replace(manifest=Manifest(guards, isolation, Capabilities(*map(tuple, asked))))


def _probe_key(entry: Entry) -> str:
    return f"{entry.location}|{entry.group}|{entry.name}|{entry.target}"


def _dev_entries(checkouts: Sequence[str]) -> list[Entry]:
    if not checkouts:
        return []
    from ferrule.scan import scan_checkout

    found: list[Entry] = []
    for path in checkouts:
        try:
            entries = scan_checkout(path)
        except FileNotFoundError:
            raise PluginError(
                f"--dev-plugin {path!r} cannot be used: no pyproject.toml is there; name the"
                " folder of a plugin's project"
            ) from None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise PluginError(f"--dev-plugin {path!r} cannot be used: {error}") from None
        if not entries:
            raise PluginError(
                f"--dev-plugin {path!r} offers nothing: its pyproject.toml declares no entry "
                "point of a ferrule group"
            )
        found += entries
    return found


def _why_off(entry: Entry, names: Sequence[str], *, is_safe: bool) -> str:
    if is_safe and entry.distribution not in BUILT_IN_DISTRIBUTIONS:
        return "safe mode"
    return "--no-plugin" if is_named(entry, names) else ""


def is_named(entry: Entry, names: Sequence[str]) -> bool:
    """Tell whether a list names an entry, as plugin, as `group:plugin` or as distribution."""
    from ferrule.versions import normal_name  # it compiles patterns, and most starts name nothing

    keys = {entry.name, entry.distribution, f"{entry.group}:{entry.name}"}
    return any(name in keys or normal_name(name) == entry.distribution for name in names)
