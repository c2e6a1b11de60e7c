"""Makes the one driver of a slot, through stevedore.

stevedore would look for entry points itself, on every folder of the import path, and lets the last
of several namesakes win; so it is given exactly the one entry that was vetted. Called by the
manager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ferrule.editions import importing
from ferrule.loading import check_origin
from ferrule_hookspecs.errors import FerruleError, PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from stevedore import ExtensionManager

    from ferrule.entry import Entry
    from ferrule_hookspecs.plugins import PluginContext


def make_driver(entry: Entry, context: PluginContext) -> object:
    """Import an entry and call what it names with the context.

    Raises:
        PluginError: It cannot be imported, or would come from elsewhere than where it was vetted.
        FerruleError: What the driver itself raises, such as an unavailable sandbox.
    """
    from importlib.metadata import EntryPoint

    from stevedore import DriverManager, ExtensionManager

    if entry.import_path:
        _add_path(entry.import_path)
    cache = ExtensionManager.ENTRY_POINT_CACHE
    try:
        with importing(entry):
            check_origin(entry.target.partition(":")[0].partition(".")[0], entry.roots)
            cache[entry.group] = [EntryPoint(entry.name, entry.target, entry.group)]
            manager: DriverManager[object] = DriverManager(
                entry.group,
                entry.name,
                invoke_on_load=True,
                invoke_args=(context,),
                on_load_failure_callback=_raise,
            )
    except PluginError as error:
        raise PluginError(f"{entry.label}: {error}; {entry.mend}") from error
    except FerruleError:
        raise
    except Exception as error:
        cause = str(error).strip().partition("\n")[0]
        raise PluginError(
            f"{entry.label} cannot be started: {type(error).__name__}: {cause}; {entry.mend}"
        ) from error
    finally:
        cache.pop(entry.group, None)
    return manager.driver


def _add_path(path: str) -> None:
    import sys

    if path not in sys.path:
        sys.path.append(path)


def _raise(
    manager: ExtensionManager[object], entry_point: EntryPoint, error: BaseException
) -> NoReturn:
    raise error
