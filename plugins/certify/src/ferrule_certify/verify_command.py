"""`ferrule sandbox verify`: checks that a certificate was signed by a key, and sums it up.

Exit codes: 0 where the signature holds, 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.host import Host


class VerifyCommand:
    """The command line around the check of signatures."""

    help = "Check the signature of a sandbox's certificate."
    options: Sequence[str] = ("--public-key", "-h", "--help")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Check a certificate; returns the exit code."""
        from ferrule_certify.certificate import parse
        from ferrule_certify.signing import is_signed_by

        arguments = _parser().parse_args(list(argv))
        content = parse(_text(arguments.certificate))
        key = arguments.public_key
        if Path(key).is_file():
            key = _text(key)
        if not is_signed_by(content, key.strip()):
            sys.stderr.write("error: the certificate was not signed by this key, or was changed\n")
            return 1
        sys.stdout.write(_summary(content))
        return 0


command = VerifyCommand()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ferrule sandbox verify", description=VerifyCommand.help, allow_abbrev=False
    )
    add = parser.add_argument
    add("certificate", metavar="FILE", help="the certificate that `certify --json` wrote")
    add("--public-key", required=True, metavar="KEY", help="the key in base64, or a file with it")
    return parser


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise FerruleError(f"{path} cannot be read: {error}") from None


def _summary(content: Mapping[str, object]) -> str:
    backend = cast("Mapping[str, str]", content["backend"])
    machine = cast("Mapping[str, str]", content["machine"])
    counts = cast("Mapping[str, int]", content["summary"])
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    word = "passed" if content["passed"] else "FAILED"
    part = "" if content["is_complete"] else " (a part of the probes only)"
    return (
        f"signed: {backend['name']} {backend['version']} on {machine['system']}"
        f" {machine['kernel']} {machine['architecture']} as {machine['user']},"
        f" {content['time']}\n{word}{part}: {told}\n"
    )
