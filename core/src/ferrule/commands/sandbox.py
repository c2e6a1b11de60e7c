"""`ferrule sandbox`: run one command as commands of the model are run.

The command gets this process's input and output. Signals are handed on to it, its exit code becomes
ours, and nothing of it is left behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from ferrule.cli import call_command
from ferrule.command_words import find_word, words_help
from ferrule.confinement import confine
from ferrule.lineage import (
    become_subreaper,
    has_children,
    kill_tree,
    process_table,
    reap,
    strays,
)
from ferrule.settling import CHANGING, STARTS
from ferrule_hookspecs.errors import FerruleError, SandboxUnavailableError
from ferrule_hookspecs.policies import SANDBOX_MODES

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from types import FrameType

    from ferrule.confinement import Confinement
    from ferrule.host import LocalHost
    from ferrule.output_copy import OutputCopy
    from ferrule_hookspecs.egress import EgressFact
    from ferrule_hookspecs.host import Host
    from ferrule_hookspecs.sandbox import Capabilities, Launch

_STANDARD_ERROR: Final = 2
_REAP_SECONDS: Final = 5
_POLL_SECONDS: Final = 0.002
_FORWARDED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class SandboxCommand:
    """The sub-command; satisfies `RawCommand`."""

    help = "Run a command in the sandbox."
    options: Sequence[str] = (
        *("-P", "--permission-profile"),
        *("-s", "--sandbox", "--backend", "-C", "--cd", "-c", "--config", "-p", "--profile"),
        *("--add-dir", "--deny-read", "--json-probe", "-h", "--help"),
    )

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run a command in the sandbox; returns its exit code."""
        _open_standard_streams()
        if word := find_word(cast("LocalHost", host), "sandbox", argv):
            return call_command(*word, cast("LocalHost", host))
        try:
            arguments = _parse(argv, cast("LocalHost", host))
            cwd = os.path.abspath(arguments.cd or os.getcwd())
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 2
        except FileNotFoundError:
            raise FerruleError("the working directory no longer exists; go to another") from None
        return _run(arguments, cwd, host)


command = SandboxCommand()


def _parser(epilog: str) -> ArgumentParser:
    from argparse import REMAINDER, RawDescriptionHelpFormatter

    from ferrule.argument_parser import GuessingParser

    parser = GuessingParser(
        prog="ferrule sandbox",
        usage="ferrule sandbox [options] -- COMMAND [ARGUMENTS...]",
        description="Run a command as commands of the model are run.",
        epilog=epilog,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_options(parser)
    parser.add_argument(
        "--json-probe", action="store_true", help="tell what the backend can do, and run nothing"
    )
    parser.add_argument("command", nargs=REMAINDER, metavar="COMMAND")
    return parser


def add_options(parser: ArgumentParser) -> None:
    """Add what says how a command is confined."""
    add = parser.add_argument
    add("-s", "--sandbox", metavar="MODE", choices=SANDBOX_MODES, help=" | ".join(SANDBOX_MODES))
    add("-P", "--permission-profile", metavar="NAME", help="permission profile instead of a mode")
    add("--backend", metavar="NAME", help="sandbox backend instead of the configured one")
    add("-C", "--cd", metavar="DIR", help="working directory")
    add("-c", "--config", metavar="KEY=VALUE", action="append", default=[], help="configuration")
    add("-p", "--profile", metavar="NAME", help="profile of the configuration")
    add("--add-dir", metavar="DIR", action="append", default=[], help="another writable folder")
    add("--deny-read", metavar="PATTERN", action="append", default=[], help="keep from reading")


def take_apart(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part a command line at `--`, behind which the command stands."""
    own = list(argv)
    if "--" not in own:
        return own, []
    at = own.index("--")
    return own[:at], own[at + 1 :]


def _parse(argv: Sequence[str], host: LocalHost) -> Namespace:
    own, rest = take_apart(argv)
    parser = _parser(words_help(host, "sandbox") if {"-h", "--help"} & {*own} else "")
    arguments = parser.parse_args(own)
    arguments.command = [*arguments.command, *rest]
    if not arguments.command and not arguments.json_probe:
        parser.error("no command given; write it after --")
    return arguments


def _run(arguments: Namespace, cwd: str, host: Host) -> int:
    confinement = confine(arguments, cwd, host, warn)
    try:
        found = confinement.backend.probe()
        if arguments.json_probe:
            return _show(confinement.backend.name, found)
        if confinement.policy.unconfined:
            warn(found.reason)
        return run_confined(confinement, arguments.command, cwd)
    finally:
        confinement.close()


def run_confined(
    confinement: Confinement,
    words: Sequence[str],
    cwd: str,
    output: OutputCopy | None = None,
    tell: Callable[[EgressFact], None] | None = None,
) -> int:
    """Run a command, and wait for its end.

    Args:
        confinement: What confines it.
        words: The command.
        cwd: Where it runs.
        output: Where its output goes instead of this process's.
        tell: Is told what happens to its connections, in another thread.

    Returns:
        Its exit code.

    Raises:
        SandboxUnavailableError: The sandbox cannot be set up.
    """
    for _ in range(STARTS):
        with confinement.launch(words, cwd, tell) as launch:
            code = _attend(launch, output)
        if launch.settled is None or launch.settled():
            return code
    raise SandboxUnavailableError(CHANGING)


def _attend(launch: Launch, output: OutputCopy | None) -> int:
    """Start a command, hand signals on to it, and wait for its end; returns its exit code."""
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def deliver(number: int, frame: FrameType | None) -> None:
        if child is None:
            early.append(number)
        elif child.returncode is None:
            _signal(child.pid, number, launch, again=number in early)
            early.append(number)

    become_subreaper()
    before = {number: signal.signal(number, deliver) for number in _FORWARDED}
    try:
        child = subprocess.Popen(
            launch.argv,
            env=launch.env,
            cwd=launch.cwd,
            pass_fds=launch.pass_fds,
            stdout=None if output is None else output.stdout,
            stderr=None if output is None else output.stderr,
            # What a terminal sends reaches it through us alone, and it may read from one.
            start_new_session=True,
        )
        if launch.started is not None:
            launch.started()
        for number in early:
            _signal(child.pid, number, launch, again=False)
        code = child.wait()
        _end_left_behind()
    finally:
        intact = _clean(launch)
        for number, handler in before.items():
            signal.signal(number, handler)
    code = 128 - code if code < 0 else code
    return code if intact else code or 1


def _end_left_behind() -> None:
    """Kill what the command left running, where its sandbox has not done so."""
    deadline = time.monotonic() + _REAP_SECONDS
    while has_children() and time.monotonic() < deadline:
        table = process_table()
        left = strays(table, ())
        if not left:
            return
        for facts in left:
            kill_tree(facts.pid, table)
        time.sleep(_POLL_SECONDS)
        for facts in left:
            reap(facts.pid)


def _signal(pid: int, number: int, launch: Launch, *, again: bool) -> None:
    """Hand a signal on; whoever asks twice for the end of a command gets it."""
    with suppress(ProcessLookupError):
        if number == signal.SIGTERM and again:
            os.killpg(pid, signal.SIGKILL)
        elif launch.forward_signal is None or not launch.forward_signal(pid, number):
            os.killpg(pid, number)


def _clean(launch: Launch) -> bool:
    """Give back what the launch holds; False when the sandbox was tampered with."""
    try:
        if launch.cleanup is not None:
            launch.cleanup()
    except FerruleError as error:
        warn(str(error))
        return False
    return True


def _show(name: str, found: Capabilities) -> int:
    import json

    facts = {
        "backend": name,
        "available": found.available,
        "reason": found.reason,
        "enforced": sorted(found.enforced),
    }
    sys.stdout.write(json.dumps(facts, indent=2) + "\n")
    return 0 if found.available else 1


def _open_standard_streams() -> None:
    """Occupy 0, 1 and 2 where the caller closed them, lest a file of ours takes the number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # what Python makes of a closed descriptor
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # kept
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def warn(text: str) -> None:
    """Tell the user something that does no harm."""
    sys.stderr.write(f"warning: {text}\n")
