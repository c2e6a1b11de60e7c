"""The child side of the probe: imports each entry and writes one line about each.

Runs only in the process that `ferrule.probe` starts. What an import prints goes to a file, so that
it is noticed and cannot be taken for an answer.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
import traceback
from typing import IO, TYPE_CHECKING, Final, cast

from ferrule import loading
from ferrule.deprecations import deprecated_uses
from ferrule.entry import Probe
from ferrule.import_watch import ImportWatch
from ferrule.loading import load_target
from ferrule_hookspecs import hooks, markers
from ferrule_hookspecs.slots import (
    COMMAND_GROUP,
    HOOK_GROUP,
    PLUGIN_COMMAND_GROUP,
    SANDBOX_COMMAND_GROUP,
    SETTINGS_GROUP,
    TOOL_GROUP,
)
from ferrule_hookspecs.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule.settings_model import SettingsModel


def main(entries: Sequence[tuple[str, str, str, list[str], str]]) -> None:
    """Probe every entry in order, then leave without running exit handlers of plugins."""
    requests = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with tempfile.TemporaryFile() as printed:
        # Not before: looking for a place, `tempfile` makes a file for a moment, which would stay.
        threading.Thread(target=_leave_with_parent, args=(requests,), daemon=True).start()
        os.dup2(printed.fileno(), 1)
        watch = ImportWatch()
        for entry in entries:
            answers.write(json.dumps(_probe(entry, printed, watch)) + "\n")
            answers.flush()
            if watch.is_tainted:  # the others are probed in a new process
                break
    os._exit(0)


def _leave_with_parent(requests: int) -> None:
    """End when the host is gone, however it went, so that no hung import outlives it."""
    while os.read(requests, 1024):
        pass
    os._exit(1)


def _probe(
    entry: tuple[str, str, str, list[str], str], printed: IO[bytes], watch: ImportWatch
) -> Probe:
    group, name, target, roots, import_path = entry
    before = printed.seek(0, os.SEEK_END)
    started = time.perf_counter()
    try:
        found = load_target(target, roots, import_path)
        spent = (time.perf_counter() - started) * 1000
        facts = _INSPECTORS.get(group, _inspect_driver)(name, found)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 -- whatever an import raises is the answer
        watch.fault()
        return Probe(ok=False, fault=_fault(error), file=_file(target))
    if fault := watch.fault():
        return Probe(ok=False, fault=fault, file=_file(target))
    if printed.seek(0, os.SEEK_END) != before:
        return Probe(ok=False, fault="its import writes to standard output", file=_file(target))
    return facts._replace(import_ms=round(spent, 2), file=_file(target))


def _inspect_hooks(name: str, found: object) -> Probe:
    """List the hooks a module serves, refusing those that could never be called."""
    import pluggy

    manager = pluggy.PluginManager(markers.PROJECT)
    manager.add_hookspecs(hooks)
    for attribute in dir(found):
        is_marked = hasattr(getattr(found, attribute), f"{markers.PROJECT}_impl")
        if attribute in markers.HOOK_CONTRACTS and not is_marked:
            raise TypeError(f"{attribute} lacks the @hookimpl marker, so it would not be called")
        if is_marked and attribute not in markers.HOOK_CONTRACTS:
            raise TypeError(f"{attribute} is no hook of this version; update ferrule-core")
    try:
        manager.register(found, name)
    except pluggy.PluginValidationError as error:
        raise TypeError(" ".join(str(error).split())) from None
    served = [caller.name for caller in manager.get_hookcallers(found) or []]
    order = cast("dict[str, object]", getattr(found, "FERRULE_ORDER", {}))
    taken: dict[str, Sequence[str]] = {}
    for caller in served:
        for impl in getattr(manager.hook, caller).get_hookimpls():
            if impl.wrapper or impl.hookwrapper:
                raise TypeError(f"{caller} is a wrapper; Ferrule calls plain implementations only")
            taken[caller] = (*impl.argnames, *impl.kwargnames)
    return Probe(
        ok=True,
        hooks=tuple(sorted(served)),
        before=_names(order.get("before")),
        after=_names(order.get("after")),
        is_outermost=order.get("outermost") is True,
        deprecated=deprecated_uses(taken, markers.HOOK_CONTRACTS),
    )


def _inspect_tool(name: str, found: object) -> Probe:
    if not (isinstance(found, type) and issubclass(found, Tool)):
        raise TypeError("it is not a subclass of ferrule_hookspecs.Tool")
    if getattr(found, "name", None) != name:
        raise TypeError(f"the tool calls itself {getattr(found, 'name', None)!r}, not {name!r}")
    return Probe(ok=True)


def _inspect_command(name: str, found: object) -> Probe:
    if hasattr(found, "registered_commands"):
        return Probe(ok=True, help=_typer_help(found))
    if not callable(getattr(found, "main", None)):
        raise TypeError("it is neither a Typer app nor an object with main, help and options")
    line = str(getattr(found, "help", "")).strip().partition("\n")[0]
    return Probe(ok=True, help=line, options=_names(getattr(found, "options", ())))


def _inspect_settings(name: str, found: object) -> Probe:
    if not callable(getattr(found, "model_json_schema", None)):
        raise TypeError("it is not a pydantic model")
    from ferrule.settings_model import facts_of

    return Probe(ok=True, settings=facts_of(cast("SettingsModel", found)))


def _inspect_driver(name: str, found: object) -> Probe:
    if not callable(found):
        raise TypeError("it cannot be called with a PluginContext")
    return Probe(ok=True)


def _typer_help(app: object) -> str:
    """Find the one line a Typer app says about itself, wherever its author put it."""
    sources: list[object] = [getattr(app, "info", None), getattr(app, "registered_callback", None)]
    commands = cast("list[object]", getattr(app, "registered_commands", []))
    if len(commands) == 1:
        sources.append(commands[0])
    for source in sources:
        texts = (getattr(source, "help", None), getattr(source, "callback", None))
        for text in (texts[0], getattr(texts[1], "__doc__", None)):
            plain = getattr(text, "value", text)  # typer wraps what was left out
            if isinstance(plain, str) and plain.strip():
                return plain.strip().partition("\n")[0]
    return ""


_INSPECTORS: Final[dict[str, Callable[[str, object], Probe]]] = {
    HOOK_GROUP: _inspect_hooks,
    TOOL_GROUP: _inspect_tool,
    COMMAND_GROUP: _inspect_command,
    SANDBOX_COMMAND_GROUP: _inspect_command,
    PLUGIN_COMMAND_GROUP: _inspect_command,
    SETTINGS_GROUP: _inspect_settings,
}


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (list, tuple, set, frozenset)):
        return tuple(sorted(map(str, cast("list[object]", value))))
    return ()


def _file(target: str) -> str:
    module = sys.modules.get(target.partition(":")[0])
    return str(getattr(module, "__file__", None) or "")


def _fault(error: BaseException) -> str:
    """Describe an import's failure in one line with the place it came from."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<")
    ]
    text = str(error).strip().partition("\n")[0]
    place = frames[-1] if frames else None
    is_ours = place is None or place.filename in {__file__, loading.__file__}
    where = "" if is_ours or place is None else f" ({place.filename}:{place.lineno})"
    return f"{type(error).__name__}: {text}{where}" if text else type(error).__name__ + where
