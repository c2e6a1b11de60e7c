"""The modules of a plugin's distribution as they were loaded, so that a newer text can follow them.

An edition is what one distribution was when it was imported. When its files change, the edition is
taken out of `sys.modules` and the next one is imported in its place; code of the old one goes on
until nobody needs it, and then it is garbage like anything else. What such code imports inside of
its functions it still gets from its own edition: every module of a third-party distribution is
given an `__import__` that looks there first. Ferrule's own distributions have no editions.
Called by whatever loads plugins, and by `ferrule.generations`.
"""

from __future__ import annotations

import builtins
import importlib
import os
import sys
import threading
from contextlib import contextmanager, nullcontext
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from importlib.util import resolve_name
from typing import TYPE_CHECKING, Final, cast

from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
from ferrule.loading import load_target
from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

    from ferrule.entry import Entry

PATIENCE_S: Final = 30.0
"""How long one of two threads that import the same waits for the other, which may hang."""


class Edition:
    """One distribution as it was imported.

    Attributes:
        packages: The names of its modules and packages; all within them are its own.
        modules: What was imported of it, by name.
        roots: Where its code may come from.
        is_first: Whether nothing of the distribution was imported in this process before.
        is_current: Whether nothing has followed it.
    """

    def __init__(self, entry: Entry, *, is_first: bool) -> None:
        from ferrule.package_names import package_names  # only plugins of others have editions

        self.modules: dict[str, ModuleType] = {}
        self.is_first = is_first
        self.is_current = True
        self.roots = tuple(entry.roots)
        self.packages = package_names(entry)
        self._lock = _lock_of(entry.distribution)
        self._builtins = {**vars(builtins), "__import__": self._import}
        self._foreign = frozenset(_loaded(self.packages)) if is_first else frozenset[str]()

    def holds(self, name: str) -> bool:
        """Whether a module of this name belongs to the distribution."""
        return _is_within(name, self.packages)

    def prepare(self, module: ModuleType) -> None:
        """Take in a module that is about to run."""
        self.modules[module.__name__] = module
        vars(module)["__builtins__"] = self._builtins

    def came_from(self, place: str) -> bool:
        """Whether a file is one of the distribution's folders'."""
        place = os.path.realpath(place)
        return any(place.startswith(os.path.realpath(root) + os.sep) for root in self.roots)

    @property
    def fixed(self) -> str:
        """Why it cannot be followed by another one in this process; empty when it can."""
        if self._foreign:
            return f"the program itself has imported {min(self._foreign)!r}"
        for name in sorted(_loaded(self.packages)):
            file = str(getattr(sys.modules[name], "__file__", None) or "")
            if file.endswith(tuple(EXTENSION_SUFFIXES)):
                return f"{name!r} is an extension module"
        for name, module in sorted(self.modules.items()):
            wish = getattr(module, "FERRULE_RELOADABLE", True)
            if wish is not True:
                return wish if isinstance(wish, str) and wish else f"{name!r} does not want it"
        return ""

    def withdraw(self) -> dict[str, ModuleType]:
        """Take its modules out of `sys.modules`; returns them."""
        found = {name: sys.modules.pop(name) for name in _loaded(self.packages)}
        for name, _, holder in _outermost(found):
            vars(holder).pop(name, None)
        self.modules.update(found)
        return found

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Import for code of this edition: what belongs to it comes from it."""
        full = _absolute(name, globals, level)
        edition = self if self.holds(full) else edition_of(full)
        if edition is None:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        module = edition.modules.get(full)
        is_ready = module is not None and not getattr(module.__spec__, "_initializing", False)
        has_all = is_ready and all(hasattr(module, each) for each in fromlist or ())
        if has_all and edition is not self:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        if has_all and fromlist:
            return cast("ModuleType", module)
        # The lock comes before Python's own for a module, here as everywhere: else two threads that
        # each have one of them would wait for each other.
        place = self._in_place() if edition is self else nullcontext()
        with _alone(edition._lock), place:
            return builtins.__import__(name, globals, locals, fromlist or (), level)

    @contextmanager
    def _in_place(self) -> Generator[None]:
        """Have its modules stand in `sys.modules`, where another edition may have followed it."""
        if self.is_current:
            yield
            return
        current = {name: _editions[name] for name in self.packages if name in _editions}
        others = {name: sys.modules.pop(name) for name in _loaded(self.packages)}
        _editions.update(dict.fromkeys(self.packages, self))
        _reinstate(self.modules)
        try:
            yield
        finally:
            self.withdraw()
            for name in self.packages:
                _editions.pop(name, None)
            _editions.update(current)
            _reinstate(others)


class _Loader(SourceFileLoader):
    """Loads one module into an edition."""

    def __init__(self, name: str, path: str, edition: Edition) -> None:
        super().__init__(name, path)
        self._edition = edition

    def get_code(self, fullname: str) -> CodeType | None:
        if self._edition.is_first:
            return super().get_code(fullname)
        # Bytecode is known by whole seconds and the size of its source: too coarse for edits.
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        self._edition.prepare(module)
        try:
            super().exec_module(module)
        except BaseException:
            self._edition.modules.pop(module.__name__, None)
            raise


class _Finder:
    """Finds modules of distributions with editions, by asking the other finders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        edition = edition_of(name)
        if edition is None:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                loader = spec.loader
                if type(loader) is SourceFileLoader and edition.came_from(loader.path):
                    spec.loader = _Loader(name, loader.path, edition)
                return spec
        return None


_editions: Final[dict[str, Edition]] = {}
_by_distribution: Final[dict[str, Edition]] = {}
_known: Final[dict[str, frozenset[str]]] = {}
"""The packages of every distribution of which anything was ever imported."""
_locks: Final[dict[str, threading.RLock]] = {}
_finder: Final = _Finder()


def edition_of(module: str) -> Edition | None:
    """Return the current edition that a module's name belongs to."""
    if not _editions:
        return None
    while module:
        if module in _editions:
            return _editions[module]
        module = module.rpartition(".")[0]
    return None


def current_edition(distribution: str) -> Edition | None:
    """Return the edition of a distribution; None when nothing of it was loaded."""
    return _by_distribution.get(distribution)


def is_of(entry: Entry, thing: object) -> bool:
    """Whether the class of an object is defined by an entry's distribution, in any edition."""
    packages = _known.get(entry.distribution) or {entry.target.partition(":")[0].partition(".")[0]}
    # A class that is made by a call of `type` may be of another module, never all of its bases.
    return any(_is_within(each.__module__, packages) for each in type(thing).__mro__)


@contextmanager
def importing(entry: Entry) -> Generator[None]:
    """Do whatever imports a plugin in here: its distribution then has an edition."""
    if entry.distribution in BUILT_IN_DISTRIBUTIONS:
        yield
        return
    with _alone(_lock_of(entry.distribution)):
        known = _by_distribution.get(entry.distribution)
        if known is None or known.roots != entry.roots:
            _forget(entry.distribution)
            _register(entry, Edition(entry, is_first=entry.distribution not in _known))
        yield


def load_entry(entry: Entry) -> object:
    """Import what an entry names.

    Raises:
        PluginError: The module would come from elsewhere than where it was vetted.
        Exception: Whatever the import raises.
    """
    with importing(entry):
        return load_target(entry.target, entry.roots, entry.import_path)


def follow(distribution: str, entries: Sequence[Entry]) -> None:
    """Put a new edition in the place of the current one, or nothing where there are no entries.

    What was imported of the old one by an entry is imported of the new one; where that fails, the
    old one stays.

    Raises:
        PluginError: Something of it is being imported, and that does not end.
        Exception: Whatever an import raises.
    """
    with _alone(_lock_of(distribution)) as is_alone:
        if not is_alone:
            raise PluginError("an import of what was there before does not end")
        old = _by_distribution.get(distribution)
        if old is None:
            return
        modules = old.withdraw()
        _forget(distribution)
        if not entries:
            old.is_current = False
            return
        importlib.invalidate_caches()
        new = Edition(entries[0], is_first=False)
        _register(entries[0], new)
        try:
            for entry in entries:
                if entry.target.partition(":")[0] in modules:
                    load_target(entry.target, entry.roots, entry.import_path)
        except BaseException:
            new.withdraw()
            new.is_current = False
            _forget(distribution)
            _reinstate(modules)
            _register(entries[0], old)
            raise
        old.is_current = False


def forget(distribution: str) -> None:
    """Take a distribution out of this process, as if it had never been imported."""
    with _lock_of(distribution):
        edition = _by_distribution.get(distribution)
        if edition is not None:
            edition.withdraw()
            edition.is_current = False
        _forget(distribution)
        _known.pop(distribution, None)


def _register(entry: Entry, edition: Edition) -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _by_distribution[entry.distribution] = edition
    _known[entry.distribution] = edition.packages
    _editions.update(dict.fromkeys(edition.packages, edition))


def _forget(distribution: str) -> None:
    gone = _by_distribution.pop(distribution, None)
    for name in [name for name, edition in _editions.items() if edition is gone]:
        del _editions[name]


def _reinstate(modules: Mapping[str, ModuleType]) -> None:
    """Put modules where they are found."""
    sys.modules.update(modules)
    for name, module, holder in _outermost(modules):
        setattr(holder, name, module)


def _outermost(
    modules: Mapping[str, ModuleType],
) -> Iterator[tuple[str, ModuleType, ModuleType]]:
    """List those that a namespace holds, by the name in it, with the namespace."""
    for full, module in modules.items():
        parent, _, name = full.rpartition(".")
        if parent and parent not in modules and parent in sys.modules:
            yield name, module, sys.modules[parent]


@contextmanager
def _alone(lock: threading.RLock) -> Generator[bool]:
    """Wait until nobody else imports the same, though not for ever; yields whether that is so."""
    is_alone = lock.acquire(timeout=PATIENCE_S)
    try:
        yield is_alone
    finally:
        if is_alone:
            lock.release()


def _lock_of(distribution: str) -> threading.RLock:
    """One of two threads that import the same distribution waits; nobody else is kept waiting."""
    return _locks.setdefault(distribution, threading.RLock())


def _absolute(name: str, globals_: Mapping[str, object] | None, level: int) -> str:
    if not level or globals_ is None:
        return name
    package = globals_.get("__package__") or str(globals_["__name__"]).rpartition(".")[0]
    return resolve_name("." * level + name, str(package))


def _is_within(name: str, packages: Collection[str]) -> bool:
    while name and name not in packages:
        name = name.rpartition(".")[0]
    return bool(name)


def _loaded(packages: Collection[str]) -> list[str]:
    return [name for name in list(sys.modules) if _is_within(name, packages)]
