"""The command line of `ferrule mcp-server`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.command_line import OptionParser, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

USAGE: Final = "ferrule mcp-server [OPTIONS]"
STDIO: Final = "stdio://"
_ABOUT: Final = """\
Serves Ferrule to other agents over the Model Context Protocol. Its tools: `codex` starts a thread
with a prompt and answers with the last message, `codex-reply` goes on with a thread,
`codex-interrupt` stops a turn, `codex-list` lists threads.
Without --http it talks over stdin and stdout; the client starts it and ends it by closing stdin."""
_AUTH: Final[Mapping[str, str]] = MappingProxyType(
    {
        "--ws-auth": "how HTTP clients prove themselves: capability-token, signed-bearer-token",
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
    "--http",
    "--help",
    *_AUTH,
)


class Options(NamedTuple):
    """What a command line says.

    Attributes:
        url: Where to listen.
        overrides: Texts of `-c`.
        profile: Name of a profile file.
        cwd: The working directory of threads that name none, where it is not the process's.
        auth: How clients over HTTP prove themselves, by option names without the dashes.
        help: Whether help is asked for.
    """

    url: str = STDIO
    overrides: tuple[str, ...] = ()
    profile: str | None = None
    cwd: str | None = None
    auth: Mapping[str, str] = MappingProxyType({})
    help: bool = False


def _parser() -> OptionParser:
    parser = OptionParser(
        "ferrule mcp-server",
        usage=USAGE,
        description=_ABOUT,
    )
    add = parser.add_argument
    add("--http", metavar="HOST:PORT", help="listen for streamable HTTP at http://HOST:PORT/mcp")
    add("-c", "--config", action="append", default=[], metavar="KEY=VALUE", help="a setting")
    add("-p", "--profile", metavar="NAME", help="a profile file")
    add("-C", "--cd", metavar="DIR", help="working directory of threads that name none")
    for name, text in _AUTH.items():
        add(name, metavar="VALUE", help=text)
    add("-h", "--help", action="store_true", help="show this")
    return parser


def help_text() -> str:
    """Return the text of `--help`."""
    return _parser().format_help()


def parse(argv: Sequence[str]) -> Options:
    """Read a command line.

    Raises:
        UsageError: The message says what is wrong.
    """
    found = _parser().parse_args(list(argv))
    named = {name[2:]: getattr(found, name[2:].replace("-", "_")) for name in _AUTH}
    auth = {name: value for name, value in named.items() if value is not None}
    if auth and found.http is None:
        raise UsageError(f"--{next(iter(auth))} goes with --http HOST:PORT; stdin needs no token")
    return Options(
        url=STDIO if found.http is None else f"http://{found.http}",
        overrides=tuple(found.config),
        profile=found.profile,
        cwd=found.cd,
        auth=auth,
        help=found.help,
    )
