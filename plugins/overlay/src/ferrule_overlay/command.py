"""`ferrule changes`: what sessions with an overlay changed, and what is to become of it.

Loaded only when the command runs. Exit codes: 0 all that was asked for is done, 1 something was
left (a conflict, a protected place) or an error, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host

_ACTIONS: Final = ("show", "apply", "discard", "rollback", "rewind", "log", "forget")
_ABOUT: Final = """\
Shows what a session that ran with --overlay changed in its view of the workspace, and takes it
over: all of it, single files or single hunks. THREAD is an id, the beginning of one or a name;
without it, the last such thread of this folder is meant."""
_EPILOG: Final = """\
actions:
  show      list the pending changes with their differences (the default)
  apply     take changes over into the workspace
  discard   forget changes: --all, or some by --file
  rollback  take back the last batch that was applied, or the one of --batch
  rewind    have the pending changes as they were when the last turn began, or --turns N
            turns ago; --undo has them again as they were before the last rewind
  log       list the batches
  forget    remove all that is kept of a thread: nothing can be taken back any more

A file that you changed since the session began is a conflict and left alone, until you decide:
--theirs takes the thread's version, --ours keeps yours.

exit status: 0 done, 1 something was left or failed, 2 wrong usage"""


class ChangesCommand:
    """The command line around the changes of a thread."""

    help = "Show, take over, discard or take back what sessions with --overlay changed."
    options: Sequence[str] = (
        *_ACTIONS,
        "--file",
        "--hunk",
        "--theirs",
        "--ours",
        "--all",
        "--batch",
        "--turns",
        "--undo",
        "--json",
        "--help",
    )

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run a sub-command."""
        arguments = _parsed(argv)
        if sys.platform == "win32":
            raise FerruleError("sessions have no overlay on Windows, so that there are no changes")
        from ferrule_overlay.actions import run

        return run(arguments, host)


command = ChangesCommand()


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ferrule changes",
        usage="ferrule changes [ACTION] [OPTIONS] [THREAD]",
        description=_ABOUT,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    path = {"action": "append", "default": [], "metavar": "PATH"}
    parser.add_argument("words", nargs="*", metavar="THREAD", help=argparse.SUPPRESS)
    parser.add_argument("--file", **path, help="only this file or folder; repeatable")
    parser.add_argument(
        "--hunk",
        action="append",
        default=[],
        type=int,
        metavar="N",
        help="only this hunk of the one --file; repeatable",
    )
    parser.add_argument("--theirs", **path, help="take the thread's version in spite of a conflict")
    parser.add_argument("--ours", **path, help="keep the workspace's version")
    parser.add_argument("--all", action="store_true", help="with discard: everything")
    parser.add_argument("--batch", type=int, metavar="N", help="with rollback: another batch")
    parser.add_argument("--turns", type=int, metavar="N", help="with rewind: so many turns")
    parser.add_argument("--undo", action="store_true", help="with rewind: the other way")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_intermixed_args(list(argv))
    words = arguments.words
    arguments.action = words.pop(0) if words and words[0] in _ACTIONS else "show"
    arguments.thread = words.pop(0) if words else None
    if words:
        parser.error(f"unexpected argument {words[0]!r}")
    if arguments.action == "discard" and not (arguments.all or arguments.file):
        parser.error("say what to discard: --all, or --file PATH")
    if arguments.action != "rewind" and (arguments.turns is not None or arguments.undo):
        parser.error("--turns and --undo belong to 'rewind'")
    if arguments.undo and arguments.turns is not None:
        parser.error("--undo takes the last rewind back as a whole, without --turns")
    arguments.turns = 1 if arguments.turns is None else arguments.turns
    if arguments.hunk and (arguments.action != "apply" or len(arguments.file) != 1):
        parser.error("--hunk belongs to 'apply' with one --file")
    return arguments
