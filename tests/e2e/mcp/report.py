"""Writes docs/mcp-conformance.md: `python tests/e2e/mcp/report.py`, `--check` only compares.

It says what `client.toml` and `server.toml` say; the tests beside them run the suite and fail where
it says otherwise.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "mcp-conformance.md"
_HEAD = """# MCP conformance

<!-- Written by `python tests/e2e/mcp/report.py` from client.toml and server.toml beside it -->

Every scenario of the conformance suite of the Model Context Protocol (npm
`@modelcontextprotocol/conformance` {version}), for both directions: the client that threads use
([mcp.md](mcp.md)) and `ferrule mcp-server` ([mcp-server.md](mcp-server.md)). CI runs those that
apply and fails where one does not pass:

    .ci/start test --run-slow tests/e2e/mcp

Suites like this are written for libraries. A server with tools of its own has nothing that many of
the scenarios for servers call; those are named with the reason, and do not count as passed.
"""


def suite_version() -> str:
    """Return the version that `.ci/start` fetches."""
    text = (ROOT / ".ci" / "start").read_text(encoding="utf-8")
    found = re.search(r"@modelcontextprotocol/conformance@(\S+)", text)
    return found[1] if found else "?"


def render() -> str:
    """Return the page."""
    parts = [_HEAD.format(version=suite_version())]
    for side in ("client", "server"):
        table = tomllib.loads((HERE / f"{side}.toml").read_text(encoding="utf-8"))["scenarios"]
        passed = [name for name, each in table.items() if each["result"] == "pass"]
        parts.append(
            f"## The {side}\n\n{len(passed)} of {len(table)} scenarios apply, and pass.\n\n"
            "| scenario | result | why |\n|---|---|---|\n"
            + "\n".join(
                f"| {name} | {each['result']} | {each.get('reason', '')} |"
                for name, each in table.items()
            )
            + "\n"
        )
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Write the page, or tell whether it is current."""
    if arguments == ["--check"]:
        return 0 if PAGE.read_text(encoding="utf-8") == render() else 1
    PAGE.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
