"""The child in which `ferrule plugins check` imports a plugin and looks at what it is.

Started by `rules/imports.py` with one JSON request on standard input; writes one JSON answer for
each entry point. What an import tries to do to the world is refused and noted. The modules that
contracts are made of are imported beforehand, so that their time is nobody's.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, cast

from ferrule_hookspecs.slots import (
    COMMAND_GROUP,
    HOOK_GROUP,
    PLUGIN_COMMAND_GROUP,
    SANDBOX_COMMAND_GROUP,
    SETTINGS_GROUP,
    TOOL_GROUP,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_CONTRACT: Final = (
    *("errors", "hooks", "host", "markers", "plugins", "provider", "review", "sandbox", "serving"),
    *("slots", "store", "tools"),
)
_NETWORK: Final = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo")
_PROCESS: Final = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
_FILES: Final = (
    *("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "os.truncate"),
    *("os.chmod", "os.chown", "shutil.rmtree", "shutil.copyfile", "shutil.move"),
)
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_TYPER: Final = ("registered_commands", "registered_groups")


class Problem(NamedTuple):
    """Something wrong with an entry point: the rule, what, and how much it matters."""

    rule: str
    message: str
    is_error: bool = True


class Answer(NamedTuple):
    """What became of one entry point: its import's processor time, and what is wrong."""

    milliseconds: float
    problems: Sequence[Problem]


class Watch:
    """Notes and refuses what an import does to the world, while it is switched on."""

    def __init__(self) -> None:
        """Begin switched off."""
        self.is_on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.is_on:
            return
        what = _effect(event, arguments)
        if what:
            self.seen.append(what)
            raise PermissionError(f"an import must not do this: {what}")


def main() -> None:
    """Answer the request on standard input, and leave without running exit handlers."""
    request = json.loads(sys.stdin.readline())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for name in _CONTRACT:
        importlib.import_module(f"ferrule_hookspecs.{name}")
    if any(group in (TOOL_GROUP, SETTINGS_GROUP) for group, _, _ in request["points"]):
        _warm_pydantic()
    sys.path.insert(0, request["source"])
    watch = Watch()
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
        for group, name, target in request["points"]:
            answer = _try(watch, printed, group, name, target)
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
    os._exit(0)


def _warm_pydantic() -> None:
    """Import what a model of arguments or settings needs, which sessions have imported anyway."""
    try:
        from pydantic import BaseModel, Field
    except ModuleNotFoundError:
        return

    class _Warm(BaseModel):
        field: str = Field(description="warm")

    _Warm.model_validate({"field": "warm"})


def _effect(event: str, arguments: tuple[object, ...]) -> str:
    """Say what an audit event does to the world; empty where it does nothing."""
    if event == "open":
        path, _, flags = arguments
        is_writing = isinstance(flags, int) and flags & _WRITING
        return f"writes to {path}" if is_writing and path != os.devnull else ""
    if event.startswith(_NETWORK):
        return f"uses the network ({event})"
    if event.startswith(_PROCESS):
        return f"starts a process ({event})"
    if event in _FILES:
        return f"changes files ({event} {arguments[0]})"
    return ""


def _try(watch: Watch, printed: IO[bytes], group: str, name: str, target: str) -> Answer:
    module, _, path = target.partition(":")
    before = printed.seek(0, os.SEEK_END)
    problems: list[Problem] = []
    watch.seen.clear()
    _mark("begin")
    started = time.process_time()
    watch.is_on = True
    found: object = None
    try:
        found = importlib.import_module(module)
        for part in filter(None, path.split(".")):
            found = getattr(found, part)
    except BaseException as fault:  # noqa: BLE001 -- whatever an import raises is the answer
        problems.append(Problem("import.works", _told(fault)))
    watch.is_on = False
    spent = (time.process_time() - started) * 1000
    _mark("end")
    sys.stdout.flush()
    if printed.seek(0, os.SEEK_END) != before:
        problems.append(Problem("import.quiet", "its import writes to standard output"))
    problems += [Problem("import.effects", f"its import {what}") for what in _once(watch.seen)]
    if not problems:
        problems += _inspected(group, name, found)
    return Answer(round(spent, 1), problems)


def _inspected(group: str, name: str, found: object) -> list[Problem]:
    try:
        return list(_INSPECTORS.get(group, _driver)(name, found))
    except Exception as fault:  # noqa: BLE001 -- code of the plugin runs when it is looked at
        return [Problem("import.object", f"it cannot be looked at: {_told(fault)}")]


def look_at_hooks(name: str, found: Any) -> Iterator[Problem]:  # noqa: ANN401 -- it may be anything
    """Check a module of hooks against the contract."""
    import pluggy

    from ferrule_hookspecs import hooks, markers

    marker = f"{markers.PROJECT}_impl"
    served = 0
    for attribute in dir(found):
        is_marked = hasattr(getattr(found, attribute), marker)
        served += is_marked
        if attribute in markers.HOOK_CONTRACTS and not is_marked:
            text = f"{attribute} lacks @hookimpl, so it would not be called"
            yield Problem("hooks.valid", text)
        elif is_marked and attribute not in markers.HOOK_CONTRACTS:
            yield Problem("hooks.valid", f"{attribute} is no hook of this version of the contract")
    if not served:
        yield Problem("hooks.valid", "no function of the module is marked with @hookimpl")
    manager = pluggy.PluginManager(markers.PROJECT)
    manager.add_hookspecs(hooks)
    try:
        manager.register(found, name)
    except pluggy.PluginValidationError as fault:
        yield Problem("hooks.valid", " ".join(str(fault).split()))
        return
    for caller in manager.get_hookcallers(found) or []:
        contract = markers.HOOK_CONTRACTS.get(caller.name)
        for implementation in caller.get_hookimpls() if contract else ():
            taken = (*implementation.argnames, *implementation.kwargnames)
            for use in _deprecated(caller.name, taken, contract and contract.deprecated):
                yield Problem("hooks.deprecated", use, is_error=False)


def _deprecated(hook: str, taken: Sequence[str], deprecated: object) -> Iterator[str]:
    """Say what is deprecated of a hook and of the arguments that an implementation takes."""
    if isinstance(deprecated, Mapping):
        told = cast("Mapping[str, str]", deprecated)
        for argument in taken:
            if argument in told:
                yield f"the argument {argument!r} of {hook} is deprecated {told[argument]}"
    elif deprecated:
        yield f"{hook} is deprecated {deprecated}"


def _tool(name: str, found: Any) -> Iterator[Problem]:  # noqa: ANN401 -- it may be anything
    from ferrule_hookspecs.tools import Tool

    if not (isinstance(found, type) and issubclass(found, Tool)):
        yield Problem("import.object", "it is no subclass of ferrule_hookspecs.Tool")
        return
    said = getattr(found, "name", None)
    if said != name:
        yield Problem("import.object", f"the tool calls itself {said!r}, its entry point {name!r}")
    if not found.description.strip() and found.schema is Tool.schema:
        yield Problem("import.object", "the tool has no description, so no model knows its use")
    if found.arguments_model is not None:
        found.arguments_model.model_json_schema()


def _command(name: str, found: Any) -> Iterator[Problem]:  # noqa: ANN401 -- it may be anything
    if any(hasattr(found, attribute) for attribute in _TYPER):
        return
    if not callable(getattr(found, "main", None)):
        yield Problem("import.object", "it is neither a Typer app nor a RawCommand")
    elif not str(getattr(found, "help", "")).strip():
        yield Problem("import.object", "the command has no help line")


def _settings(name: str, found: Any) -> Iterator[Problem]:  # noqa: ANN401 -- it may be anything
    if not callable(getattr(found, "model_validate", None)):
        yield Problem("import.object", "it is no pydantic model")
        return
    found.model_json_schema()
    try:
        found.model_validate({})
    except ValueError as fault:
        said = " ".join(str(fault).partition("\n")[2].partition(" [")[0].split())
        text = f"without a table of settings it is not valid: {said}"
        yield Problem("settings.defaults", text, is_error=False)


def _driver(name: str, found: Any) -> Iterator[Problem]:  # noqa: ANN401 -- it may be anything
    if not callable(found):
        yield Problem("import.object", "it cannot be called with a PluginContext")


_INSPECTORS: Final[dict[str, Callable[[str, Any], Iterator[Problem]]]] = {
    HOOK_GROUP: look_at_hooks,
    TOOL_GROUP: _tool,
    COMMAND_GROUP: _command,
    SANDBOX_COMMAND_GROUP: _command,
    PLUGIN_COMMAND_GROUP: _command,
    SETTINGS_GROUP: _settings,
}


def _once(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _mark(word: str) -> None:
    """Write into what `-X importtime` writes where an import begins and ends."""
    sys.stderr.flush()
    os.write(2, f"==== {word}\n".encode())


def _told(fault: BaseException) -> str:
    """Say an exception in one line, with the place it came from."""
    frames = [
        frame
        for frame in traceback.extract_tb(fault.__traceback__)
        if not frame.filename.startswith("<")
        and frame.filename not in (__file__, importlib.__file__)
    ]
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(fault).split())
    return f"{type(fault).__name__}: {text}{where}" if text else f"{type(fault).__name__}{where}"


if __name__ == "__main__":
    main()
