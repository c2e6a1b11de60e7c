"""`ferrule doctor`: look at everything Ferrule stands on, and say what is wrong and what to do."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ferrule.doctor.battery import Finding
    from ferrule.host import LocalHost
    from ferrule.kernel import LocalKernel
    from ferrule_hookspecs.host import Host, Kernel


class DoctorCommand:
    """The sub-command; satisfies `RawCommand`."""

    help = "Look for what is wrong, and say how to mend it."
    options: Sequence[str] = (
        *("--json", "--repair", "--only", "--no-network", "--all", "--strict"),
        *("-c", "--config", "-p", "--profile", "-C", "--cd", "-h", "--help"),
    )

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Make the checks; returns 0 when nothing fails, 1 when something does."""
        if argv[:1] == ["plugins"]:
            return host.invoke("plugins", ["doctor", *argv[1:]])
        try:
            arguments = _parser().parse_args(list(argv))
            cwd = os.path.abspath(arguments.cd or os.getcwd())
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 2
        except FileNotFoundError:
            raise FerruleError("the working directory no longer exists; go to another") from None
        if not os.path.isdir(cwd):
            raise FerruleError(f"there is no folder {cwd}; correct --cd")
        request = ConfigRequest(cwd, profile=arguments.profile, overrides=arguments.config)
        findings, repairs = _examine(arguments, request, cast("LocalHost", host))
        _require_known(arguments.only, findings)
        _show(arguments, findings, repairs)
        return _exit_code(findings, is_strict=arguments.strict)


command = DoctorCommand()


def _parser() -> ArgumentParser:
    from ferrule.argument_parser import GuessingParser

    parser = GuessingParser(
        prog="ferrule doctor",
        description="Look at everything Ferrule stands on, and say what is wrong and what to do."
        " Without --repair nothing is changed. `ferrule doctor plugins` tells of each plugin.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--json", action="store_true", help="print JSON")
    add("--repair", action="store_true", help="mend stored threads and their index")
    add("--only", metavar="CATEGORY", nargs="+", default=[], help="these categories or checks only")
    add("--no-network", action="store_true", help="connect to nothing")
    add("--all", action="store_true", help="show skipped checks, times and plugins, too")
    add("--strict", action="store_true", help="count what is to be looked at as a failure")
    add("-c", "--config", metavar="KEY=VALUE", action="append", default=[], help="configuration")
    add("-p", "--profile", metavar="NAME", help="profile of the configuration")
    add("-C", "--cd", metavar="DIR", help="working directory")
    return parser


def _examine(
    arguments: Namespace, request: ConfigRequest, host: LocalHost
) -> tuple[list[Finding], list[str] | None]:
    from ferrule.doctor.battery import examine
    from ferrule.doctor.examination import Examination
    from ferrule.doctor.repair import repair

    async def main(kernel: Kernel) -> tuple[list[Finding], list[str] | None]:
        own = cast("LocalKernel", kernel)
        examination = Examination(host, own, request, may_connect=not arguments.no_network)
        repairs = repair(examination) if arguments.repair else None
        return await examine(examination, arguments.only), repairs

    return host.run(main)


def _require_known(wanted: Sequence[str], findings: Sequence[Finding]) -> None:
    """Refuse a category nobody has checks for; which there are only the plugins know."""
    known = {finding.category for finding in findings} | {f.check.id for f in findings}
    if unknown := [word for word in wanted if word not in known]:
        from difflib import get_close_matches

        from ferrule.doctor.meanings import MEANINGS

        ids = {*known, *MEANINGS, *(check_id.partition(".")[0] for check_id in MEANINGS)}
        close = get_close_matches(unknown[0], sorted(ids), n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise FerruleError(
            f"no check or category is named {unknown[0]!r}; {hint}`ferrule doctor --all` shows them"
        )


def _show(arguments: Namespace, findings: Sequence[Finding], repairs: Sequence[str] | None) -> None:
    from ferrule.doctor.report import Style, as_json, as_text

    if arguments.json:
        sys.stdout.write(as_json(findings, repairs))
        return
    is_terminal = sys.stdout.isatty()
    style = Style(
        has_colour=is_terminal
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb",
        is_unicode="utf" in (sys.stdout.encoding or "").lower(),
        is_complete=arguments.all,
        is_wrapped=is_terminal,
    )
    text = as_text(findings, repairs, style)
    encoding = sys.stdout.encoding or "ascii"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def _exit_code(findings: Sequence[Finding], *, is_strict: bool) -> int:
    bad = {"fail", "warn"} if is_strict else {"fail"}
    return int(any(finding.check.status in bad for finding in findings))
