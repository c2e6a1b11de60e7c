"""Turns an entry into the object it names, from the folder it was vetted in and no other.

Called by the probe's child process and by the manager. A package of the same name that lies
earlier on the import path (the working directory, `PYTHONPATH`) is refused before any of it runs.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING

from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Sequence


def load_target(target: str, roots: Sequence[str], import_path: str = "") -> object:
    """Import what an entry point names.

    Args:
        target: `module` or `module:attribute`.
        roots: The only folders the module may come from.
        import_path: Folder to add to the import path, if any.

    Raises:
        PluginError: The module would come from elsewhere.
        Exception: Whatever the import raises.
    """
    if import_path and import_path not in sys.path:
        sys.path.append(import_path)
    module_name, _, attributes = target.partition(":")
    package = module_name.partition(".")[0]
    try:
        check_origin(package, roots)
    except PluginError:
        if package in sys.modules or not _unshadow(package, import_path):
            raise
    found: object = import_module(module_name)
    for attribute in filter(None, attributes.split(".")):
        found = getattr(found, attribute)
    return found


def check_origin(package: str, roots: Sequence[str]) -> None:
    """Refuse a top-level package that would be imported from outside of `roots`.

    Raises:
        PluginError: It would, or it cannot be found.
    """
    spec = find_spec(package)
    if spec is None:
        raise PluginError(f"the module {package!r} cannot be found in {', '.join(roots)}")
    places = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or ())
    allowed = [os.path.realpath(root) + os.sep for root in roots]
    for place in places or [None]:
        if place is None or not os.path.realpath(place).startswith(tuple(allowed)):
            raise PluginError(
                f"the module {package!r} would be imported from {place or 'the interpreter'}, "
                f"not from where it is installed ({', '.join(roots)})"
            )


def _unshadow(package: str, import_path: str) -> bool:
    """Import a checkout's package where an installed one of the same name would be found first.

    What else is earlier on the import path is nobody's to stand for, and stays refused.
    """
    installed, own = find_spec(package), PathFinder.find_spec(package, [import_path])
    if own is None or own.loader is None or installed is None:
        return False
    from ferrule.index import site_directories

    if not str(installed.origin).startswith(tuple(path + os.sep for path in site_directories())):
        return False
    module = sys.modules[package] = module_from_spec(own)
    try:
        own.loader.exec_module(module)
    except BaseException:
        del sys.modules[package]
        raise
    return True
