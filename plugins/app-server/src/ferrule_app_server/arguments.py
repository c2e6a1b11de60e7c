"""The command line of `ferrule app-server`: options before or after a sub-command."""

from __future__ import annotations

import argparse
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.command_line import OptionParser, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

USAGE: Final = "ferrule app-server [OPTIONS] [SUB-COMMAND …]"
_ABOUT: Final = """\
Serves threads to editors, terminals and other programs: JSON-RPC, the app-server protocol v2.
Without --listen it talks over stdin and stdout, one message a line."""
_SUBCOMMANDS: Final = """\
sub-commands:
  daemon start|stop|status   a server in the background
  proxy                      connect stdin and stdout to a server that listens on a socket
  generate-json-schema       write the JSON Schema of the protocol into a folder
  generate-ts                write the protocol's types for TypeScript into a folder

Each explains itself with --help."""
STDIO: Final = "stdio://"
SUBCOMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "daemon": "ferrule_app_server.daemon.command:run",
        "proxy": "ferrule_app_server.daemon.proxy:run",
        "generate-json-schema": "ferrule_app_server.schemas.command:run",
        "generate-ts": "ferrule_app_server.schemas.command:run",
    }
)
"""Where the sub-commands are: functions of their arguments, the host and the options.

The arguments begin with the sub-command's name; options of the server are taken out.
"""
_AUTH: Final[Mapping[str, str]] = MappingProxyType(
    {
        "--ws-auth": "how clients of ws:// prove themselves: capability-token, signed-bearer-token",
        "--ws-token-file": "file that holds the token",
        "--ws-token-sha256": "SHA-256 of the token, in hexadecimal",
        "--ws-shared-secret-file": "file with the secret that tokens are signed with",
        "--ws-issuer": "who must have issued a token",
        "--ws-audience": "whom a token must be meant for",
        "--ws-max-clock-skew-seconds": "how far clocks may differ",
    }
)
OPTION_STRINGS: Final = (
    "-c",
    "--config",
    "-p",
    "--profile",
    "-C",
    "--cd",
    "--enable",
    "--disable",
    "--listen",
    "--stdio",
    "--help",
    *_AUTH,
)


class Options(NamedTuple):
    """What a command line says.

    Attributes:
        listen: URLs to listen on; `stdio://` where none is named.
        overrides: Texts of `-c`, and what `--enable` and `--disable` come to.
        profile: Name of a profile file.
        cwd: The working directory, where it is not the process's.
        transport: Options for the transports, by their names without the dashes.
        help: Whether help is asked for.
    """

    listen: tuple[str, ...] = (STDIO,)
    overrides: tuple[str, ...] = ()
    profile: str | None = None
    cwd: str | None = None
    transport: Mapping[str, str] = MappingProxyType({})
    help: bool = False


def _parser() -> OptionParser:
    parser = OptionParser(
        "ferrule app-server",
        usage=USAGE,
        description=_ABOUT,
        epilog=_SUBCOMMANDS,
    )
    add = parser.add_argument
    add("--listen", action="append", metavar="URL", help="stdio://, unix://PATH, ws://HOST:PORT …")
    add("--stdio", action="store_true", help="the same as --listen stdio://")
    add("-c", "--config", action="append", default=[], metavar="KEY=VALUE", help="a setting")
    add("-p", "--profile", metavar="NAME", help="a profile file")
    add("-C", "--cd", metavar="DIR", help="working directory of threads that name none")
    add("--enable", action="append", default=[], metavar="FEATURE", help="features.FEATURE=true")
    add("--disable", action="append", default=[], metavar="FEATURE", help="features.FEATURE=false")
    for name, text in _AUTH.items():
        add(name, metavar="VALUE", help=text)
    add("-h", "--help", action="store_true", help="show this")
    return parser


def help_text() -> str:
    """Return the text of `--help`."""
    return _parser().format_help()


def parse(argv: Sequence[str]) -> tuple[Options, str | None, list[str]]:
    """Return the options, the sub-command if there is one, and what is left for it.

    Raises:
        UsageError: The message says what is wrong.
    """
    at = next((at for at, text in enumerate(argv) if text in SUBCOMMANDS), None)
    before = list(argv if at is None else argv[:at])
    found, loose = _parser().parse_known_args(before)
    if at is None:
        if loose:
            raise UsageError(f"unexpected argument {loose[0]!r}")
        return _options(found), None, []
    # What the sub-command does not know itself may stand behind it, too.
    later, rest = _parser().parse_known_args(list(argv[at + 1 :]))
    if loose:
        raise UsageError(f"unexpected argument {loose[0]!r}")
    if later.help:
        rest.append("--help")
    for name, value in vars(later).items():
        if isinstance(value, list):
            setattr(found, name, [*(getattr(found, name) or []), *value])
        elif value not in (None, False) and name != "help":
            setattr(found, name, value)
    return _options(found), argv[at], rest


def _options(found: argparse.Namespace) -> Options:
    features = [f"features.{name}=true" for name in found.enable]
    features += [f"features.{name}=false" for name in found.disable]
    listen = [STDIO] if found.stdio else []
    listen += [url for url in found.listen or () if url not in listen]
    named = {name[2:]: getattr(found, name[2:].replace("-", "_")) for name in _AUTH}
    return Options(
        listen=tuple(listen) or (STDIO,),
        overrides=(*found.config, *features),
        profile=found.profile,
        cwd=found.cd,
        transport={name: value for name, value in named.items() if value is not None},
        help=found.help,
    )
