"""`ferrule app-server daemon start|stop|status|restart`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Final

from ferrule_app_server.arguments import STDIO
from ferrule_app_server.daemon.folder import RunFolder, run_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_app_server.arguments import Options
    from ferrule_hookspecs.host import Host

NOT_ANSWERING: Final = 1
NOT_RUNNING: Final = 3
_ABOUT: Final = """\
A server in the background, on a unix socket under $FERRULE_HOME/run.
`ferrule app-server proxy` and clients that know unix:// reach it there; options of
`ferrule app-server` (-c, -p, -C, more --listen URLs, --ws-…) may stand before or after `daemon`."""
_CODES: Final = """\
exit codes of status: 0 it runs and answers, 1 it runs and does not answer, 3 it does not run"""


def run(argv: Sequence[str], host: Host, options: Options) -> int:
    """Run with the arguments from `daemon` on; returns the exit code."""
    asked = _parser().parse_args(argv[1:])
    folder = run_folder(host.home)
    words = _words(folder, options)
    match asked.action:
        case "start":
            return _start(folder, words, host)
        case "stop":
            return _stop(folder, asked)
        case "restart":
            return _restart(folder, asked, words, host)
        case "status":
            return _status(folder, as_json=asked.json)
        case _:
            return _be_daemon(folder, words, host, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ferrule app-server daemon",
        usage="ferrule app-server daemon start|stop|status|restart [OPTIONS]",
        description=_ABOUT,
        epilog=_CODES,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = ("start", "stop", "status", "restart", "run")
    parser.add_argument("action", choices=actions, metavar="start|stop|status|restart")
    parser.add_argument(
        "--timeout",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="stop, restart: how long running turns may take to end (30)",
    )
    parser.add_argument("--force", action="store_true", help="stop, restart: then kill it")
    parser.add_argument("--json", action="store_true", help="status: as JSON")
    return parser


def _words(folder: RunFolder, options: Options) -> tuple[str, ...]:
    """Return the options of the server as a command line, with the socket it listens on."""
    urls = [url for url in options.listen if url not in (STDIO, folder.url)]
    pairs = [("--listen", url) for url in (folder.url, *urls)]
    pairs += [("-c", override) for override in options.overrides]
    pairs += [("-p", options.profile)] if options.profile else []
    pairs += [("-C", options.cwd)] if options.cwd else []
    pairs += [(f"--{name}", value) for name, value in options.transport.items()]
    return tuple(word for pair in pairs for word in pair)


def _start(folder: RunFolder, words: tuple[str, ...], host: Host) -> int:
    from ferrule_app_server.daemon.lifecycle import start

    record, is_new = start(folder, words, _environ(host))
    verb = "runs now" if is_new else "runs already"
    _say(f"The app-server {verb}: {folder.url} (process {record.pid}, log {folder.log})")
    return 0


def _stop(folder: RunFolder, asked: argparse.Namespace) -> int:
    from ferrule_app_server.daemon.lifecycle import stop

    was_running = stop(folder, wait_s=asked.timeout, force=asked.force)
    _say("The app-server has ended." if was_running else "The app-server does not run.")
    return 0


def _restart(
    folder: RunFolder, asked: argparse.Namespace, words: tuple[str, ...], host: Host
) -> int:
    """Start it again; with the options it had, unless others are given now."""
    from ferrule_app_server.daemon.record import read_record

    before = read_record(folder)
    _stop(folder, asked)
    if before is not None and words == ("--listen", folder.url):
        words = before.options
    return _start(folder, words, host)


def _status(folder: RunFolder, *, as_json: bool) -> int:
    from ferrule_app_server.daemon.lifecycle import status

    record, is_ready = status(folder)
    if as_json:
        state = "notRunning" if record is None else "running" if is_ready else "notAnswering"
        facts: dict[str, object] = {"state": state, "url": folder.url, "log": str(folder.log)}
        if record is not None:
            facts |= {"pid": record.pid, "startedAt": record.started_at}
        _say(json.dumps(facts))
    elif record is None:
        _say("The app-server does not run.")
    else:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.started_at))
        how = "runs" if is_ready else "does not answer"
        _say(f"The app-server {how}: {folder.url} (process {record.pid}, since {since})")
    return NOT_RUNNING if record is None else 0 if is_ready else NOT_ANSWERING


def _be_daemon(folder: RunFolder, words: tuple[str, ...], host: Host, options: Options) -> int:
    from ferrule_app_server.daemon.lifecycle import be_daemon
    from ferrule_app_server.serve import serve

    return be_daemon(folder, words, lambda: serve(options, host))


def _environ(host: Host) -> Mapping[str, str]:
    return {**host.environ, "FERRULE_HOME": str(host.home.absolute())}


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
