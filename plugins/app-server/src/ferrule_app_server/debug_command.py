"""Entry point of `ferrule debug`: looks at what the parts of Ferrule say to each other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host

_USAGE: Final = """\
ferrule debug app-server send-message-v2 "MESSAGE"
       ferrule debug prompt-input [OPTIONS] [PROMPT]"""
_ABOUT: Final = f"""\
usage: {_USAGE}

`app-server` starts one, sends it MESSAGE in a turn of a new thread, and prints every protocol
message in both directions: `>` to the server, `<` from it. What the server asks is declined.
Options of the server, such as -c KEY=VALUE, may stand behind `app-server`.

`prompt-input` prints what a model would be sent when a session begins here with PROMPT; it explains
itself with --help.
"""


class DebugCommand:
    """The sub-command, a `RawCommand`."""

    help = "Look at what the parts of Ferrule say to each other."
    options: Sequence[str] = ("app-server", "send-message-v2", "prompt-input", "--help")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after `debug`; returns the exit code."""
        if "prompt-input" in argv and "app-server" not in argv:
            from ferrule_app_server.prompt_input import print_input

            at = argv.index("prompt-input")
            return print_input([*argv[:at], *argv[at + 1 :]], host)
        if "--help" in argv or "-h" in argv:
            sys.stdout.write(_ABOUT)
            return 0
        # Options that stood before `debug` come first.
        at = argv.index("app-server") if "app-server" in argv else len(argv)
        rest = [*argv[:at], *argv[at + 1 :]]
        if at == len(argv) or "send-message-v2" not in rest[:-1]:
            sys.stderr.write(f"error: name what to send\n\nUsage: {_USAGE}\n")
            return 2
        from ferrule_app_server.debug_conversation import converse

        where = rest.index("send-message-v2")
        return converse([*rest[:where], *rest[where + 1 : -1]], rest[-1], host)


command = DebugCommand()
