"""`ferrule network log`: what commands did through the proxy, in lines or as JSON."""

from __future__ import annotations

import json
import shlex
import sys
from collections import deque
from typing import TYPE_CHECKING

from ferrule_network.network_log import NetworkLog

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from ferrule_hookspecs.host import Host

_LONGEST_COMMAND = 60


def list_log(arguments: argparse.Namespace, host: Host) -> int:
    """Print the newest records, oldest of them first."""
    wanted = (
        record
        for record in NetworkLog(host.home).read()
        if arguments.thread in ("", record.get("thread"))
        and (not arguments.refused or record.get("kind") == "refused")
    )
    for record in deque(wanted, maxlen=arguments.last or None):
        line = json.dumps(record, ensure_ascii=False) if arguments.json else _line(record)
        sys.stdout.write(f"{line}\n")
    return 0


def _line(record: Mapping[str, object]) -> str:
    place = f"{record['host']}:{record.get('port')}" if "host" in record else "(unreadable)"
    how = record.get("method") or record.get("protocol") or ""
    words = record.get("command")
    command = shlex.join(map(str, words)) if isinstance(words, list) else ""  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    command = " ".join(command.split())
    if len(command) > _LONGEST_COMMAND:
        command = f"{command[:_LONGEST_COMMAND]}…"
    amount = ""
    if record.get("kind") == "closed":
        amount = f"{record.get('sent', 0)} bytes out, {record.get('received', 0)} in"
    parts = (record.get("time"), record.get("kind"), how, place, record.get("reason"), amount)
    shown = "  ".join(str(part) for part in parts if part)
    return f"{shown}  [{command}]" if command else shown
