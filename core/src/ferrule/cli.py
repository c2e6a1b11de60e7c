"""Takes a command line to the command it names.

Known commands run directly, most of them without Typer; the list of commands, usage errors and
suggestions come from `overview.py`, which is made of the index and imports no plugin.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule import __version__
from ferrule_hookspecs.errors import ConfigError, FerruleError, InterruptedByUserError, PluginError

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping, Sequence

    from ferrule.entry import Entry
    from ferrule.host import LocalHost
    from ferrule.index import Index
    from ferrule_hookspecs.host import RawCommand

COMMANDS: Final = "ferrule.commands"
PLUGIN_OPTIONS: Final[Mapping[str, str]] = {
    "--no-plugin": "FERRULE_NO_PLUGIN",
    "--dev-plugin": "FERRULE_DEV_PLUGIN",
}
PASSED_OPTIONS: Final = ("-c", "--config", "-p", "--profile", "-C", "--cd")
"""Options that may stand before the command as well as after it."""


class CommandLine(NamedTuple):
    """A command line taken apart.

    Attributes:
        environ: Variables that the options before the command stand for.
        passed: Options to hand to the command.
        command: The command's name; None where there is none or the options cannot be understood.
        rest: What follows the name.
    """

    environ: Mapping[str, str]
    passed: Sequence[str]
    command: str | None
    rest: Sequence[str]


def run(argv: Sequence[str], environ: MutableMapping[str, str]) -> int:
    """Run a command line; returns the exit code and shows errors.

    Args:
        argv: The arguments after the program's name.
        environ: The process environment; options about plugins are put into it, so that every
            child sees them too.
    """
    try:
        return _run(argv, environ)
    except BrokenPipeError:
        raise
    except InterruptedByUserError as error:
        return 128 + error.signal
    except KeyboardInterrupt:
        return 130
    except FerruleError as error:
        return _fail(str(error), environ)
    except Exception as error:  # noqa: BLE001 -- the last place where an error can be worded
        text = f"{type(error).__name__}: {error} (FERRULE_DEBUG=1 shows where)"
        return _fail(f"something went wrong inside of Ferrule: {text}", environ)


def _fail(message: str, environ: Mapping[str, str]) -> int:
    if environ.get("FERRULE_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.write(f"error: {message}\n")
    return 1


def _run(argv: Sequence[str], environ: MutableMapping[str, str]) -> int:
    if argv[:1] == ["__complete"]:
        from ferrule.completion import complete

        return complete(argv[1:], environ)
    line = take_apart(argv)
    environ.update(line.environ)
    if list(line.rest) in (["--version"], ["-V"]):
        sys.stdout.write(f"ferrule {__version__}\n")
        return 0
    from ferrule.host import LocalHost

    host = LocalHost(home_folder(environ), environ)
    if left_out := line.environ.get("FERRULE_NO_PLUGIN"):
        _require_installed(left_out.split(","), host.index)
    if line.command is None:
        return _show_usage(line, host)
    entry = find_command(host, line.command)
    if entry is None:
        if missing := missing_command(line.command):
            raise PluginError(missing)
        return _show_usage(line, host)
    return call_command(entry, [*line.passed, *line.rest], host)


def take_apart(argv: Sequence[str]) -> CommandLine:
    """Split a command line at the command's name."""
    environ: dict[str, list[str]] = {}
    passed: list[str] = []
    at = 0
    while at < len(argv) and argv[at].startswith("-"):
        name, has_value, value = argv[at].partition("=")
        if argv[at] == "--safe-mode":
            environ["FERRULE_SAFE_MODE"] = ["1"]
            at += 1
            continue
        if name not in PLUGIN_OPTIONS and name not in PASSED_OPTIONS:
            break
        if not has_value:
            at += 1
            value = argv[at] if at < len(argv) else ""
        if name in PLUGIN_OPTIONS:
            environ.setdefault(PLUGIN_OPTIONS[name], []).append(value)
        else:
            passed += [name, value]
        at += 1
    variables = {name: _join(name, values) for name, values in environ.items()}
    if at >= len(argv) or argv[at].startswith("-"):
        return CommandLine(variables, passed, None, argv[at:])
    return CommandLine(variables, passed, argv[at], argv[at + 1 :])


def _require_installed(names: Sequence[str], index: Index) -> None:
    """Refuse a misspelt `--no-plugin`: the plugin that was meant would run after all."""
    from ferrule.index import is_named
    from ferrule.overview import suggestion

    entries = index.all_entries()
    for name in filter(None, names):
        if not any(is_named(entry, [name]) for entry in entries):
            known = {word for entry in entries for word in (entry.name, entry.distribution)}
            guess = suggestion(name, sorted(known))
            raise PluginError(f"--no-plugin {name}: no such plugin is installed.{guess}")


def _join(variable: str, values: Sequence[str]) -> str:
    if variable != "FERRULE_DEV_PLUGIN":
        return ",".join(values)
    return os.pathsep.join(os.path.abspath(value) for value in values)


def home_folder(environ: Mapping[str, str]) -> Path:
    """Return `$FERRULE_HOME`, or the folder used without it; nothing is created."""
    named = environ.get("FERRULE_HOME")
    return Path(os.path.abspath(named)) if named else Path.home() / ".ferrule"


def find_command(host: LocalHost, name: str, group: str = COMMANDS) -> Entry | None:
    """Find a command of a group that may be used; None where nobody offers it.

    Raises:
        PluginError: It is installed, but may not be used or is broken.
    """
    index = host.index
    named = [entry for entry in index.all_entries() if (entry.group, entry.name) == (group, name)]
    own = [entry for entry in named if entry.distribution == "ferrule-core"]
    if own:  # the kernel's own commands work whatever the configuration says
        return own[0]
    for entry, reason in _judged(host, index, named):
        if reason:
            raise PluginError(f"{entry.label} offers {name!r} but is not used: {reason}")
        return entry
    return None


def _commands(index: Index, group: str) -> list[Entry]:
    return [entry for entry in index.all_entries() if entry.group == group]


def _judged(host: LocalHost, index: Index, entries: Sequence[Entry]) -> list[tuple[Entry, str]]:
    """Pair commands with why they may not be used; those that may come first.

    With a user's file that cannot be read, those of others may not; ours read it again and say so.
    """
    from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
    from ferrule.config.load import load_administered_plugin_rules, load_plugin_rules
    from ferrule.trust import governance_of, judge

    fault = ""
    try:
        rules = load_plugin_rules(host.home, host.admin)
    except ConfigError as error:
        rules, fault = load_administered_plugin_rules(host.admin), str(error)
    pairs: list[tuple[Entry, str]] = []
    for entry, state, reason in judge(
        entries, governance_of({"plugins": rules}), contract_version=index.contract_version
    ):
        unknown = "" if entry.distribution in BUILT_IN_DISTRIBUTIONS else fault
        pairs.append((entry, unknown if state == "active" else reason or state))
    return sorted(pairs, key=lambda pair: pair[1])


def invoke(host: LocalHost, command: str, argv: Sequence[str]) -> int:
    """Run another sub-command in this process; returns its exit code.

    Raises:
        PluginError: Nobody offers the command, or it cannot be loaded.
    """
    entry = find_command(host, command)
    if entry is None:
        raise PluginError(missing_command(command) or f"there is no command {command!r}")
    return call_command(entry, argv, host)


def missing_command(command: str, group: str = COMMANDS) -> str:
    """Say which of our distributions has a command; empty for a name that is nobody's."""
    from ferrule.catalog import distribution_of

    distribution = distribution_of(group, command)
    return f"the command {command!r} is part of {distribution}; install it" if distribution else ""


def call_command(entry: Entry, argv: Sequence[str], host: LocalHost) -> int:
    """Load a command and run it; returns its exit code.

    Raises:
        PluginError: It cannot be loaded.
    """
    from ferrule.loading import load_target

    try:
        target = load_target(entry.target, entry.roots, entry.import_path)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and (hint := _lean_hint(entry, error)):
            raise PluginError(hint) from error
        text = str(error) if isinstance(error, FerruleError) else f"{type(error).__name__}: {error}"
        raise PluginError(f"{entry.label} cannot be loaded: {text}; {entry.mend}") from error
    if hasattr(target, "main"):
        return cast("RawCommand", target).main(argv, host)
    from ferrule.command_group import run_app

    return run_app(target, entry.name, argv, host)


def _lean_hint(entry: Entry, error: ModuleNotFoundError) -> str:
    from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
    from ferrule.overview import install_hint, missing_library

    library = missing_library(f"ModuleNotFoundError: {error}")
    is_ours = entry.distribution in BUILT_IN_DISTRIBUTIONS
    return install_hint(entry.name, library) if library and is_ours else ""


def _show_usage(line: CommandLine, host: LocalHost) -> int:
    from ferrule.overview import show_usage

    return show_usage(listed_commands(host), line.command, line.rest)


def listed_commands(host: LocalHost, group: str = COMMANDS) -> list[Entry]:
    """List the commands of a group that may be used, with their help; none is imported here."""
    index = host.index
    usable = [
        entry for entry, reason in _judged(host, index, _commands(index, group)) if not reason
    ]
    index.probe(usable)  # in a child process, and only where nothing is known yet
    wanted = {(entry.name, entry.distribution) for entry in usable}
    return [
        entry for entry in _commands(index, group) if (entry.name, entry.distribution) in wanted
    ]
