"""The command: a word of the `ferrule` program, which parses its own options.

The program knows `help` and `options` without importing this module (they are noted when the
plugin is first looked at), so that `ferrule --help` and completion cost nothing.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from ferrule_hookspecs.host import Host, Kernel
from gallery_report.usage import Row, read_rows, sum_up


class ThreadsReport:
    """Sums up tokens and cost; reads what is stored and changes nothing."""

    help = "Sum up the tokens and the cost of threads, by day and model."
    options: Sequence[str] = ("--days", "--json", "--help")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with what follows the command's name; returns the exit code."""
        arguments = parser().parse_args(argv)
        first = (datetime.now(UTC) - timedelta(days=arguments.days - 1)).date().isoformat()

        async def report(kernel: Kernel) -> list[Row]:
            rows = read_rows(kernel.threads.store)
            return sum_up(row for row in rows if row.day >= first)

        rows = host.run(report)
        write = as_json if arguments.json else as_table
        sys.stdout.write(write(rows))
        return 0


def parser() -> argparse.ArgumentParser:
    """Describe the options."""
    made = argparse.ArgumentParser(
        prog="ferrule threads-report", description=ThreadsReport.help, allow_abbrev=False
    )
    help_ = "how many days back, today among them, in UTC (30)"
    made.add_argument("--days", type=days, default=30, metavar="N", help=help_)
    made.add_argument("--json", action="store_true", help="print one JSON object a line")
    return made


def days(text: str) -> int:
    """Read a number of days."""
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days from 1 to 10000")
    return int(text)


def as_json(rows: Sequence[Row]) -> str:
    """Write one object a line; `usd` is null where a price was not known."""
    return "".join(f"{json.dumps(row._asdict())}\n" for row in rows)


def as_table(rows: Sequence[Row]) -> str:
    """Write columns for people, with the sum as the last line."""
    if not rows:
        return "nothing was used\n"
    whole = rows[0]._replace(day="in all", model="")
    for row in rows[1:]:
        whole = whole.plus(row)
    lines = [("day", "model", "requests", "input", "cached", "output", "usd")]
    lines += [tuple(map(shown, row)) for row in (*rows, whole)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(f"{'  '.join(map(str.ljust, line, widths)).rstrip()}\n" for line in lines)


def shown(value: object) -> str:
    """Write one cell."""
    if value is None:
        return "not known"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


command = ThreadsReport()
