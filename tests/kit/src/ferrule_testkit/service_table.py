"""Services outside of a sandbox, to compare what the evaluator and a backend say of reaching them.

Beside `access_table.py`, for `tests/test_golden.py` of every backend that runs here.
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.evaluator import decide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule_hookspecs.sandbox import ResolvedPolicy

_CONNECT: Final = """
import json, socket, sys
def ends(family, address):
    try:
        socket.socket(family).connect(address)
    except OSError as error:
        return error.strerror
port, *paths = json.loads(sys.argv[1])
found = [ends(socket.AF_INET, ("127.0.0.1", port))]
print(json.dumps(found + [ends(socket.AF_UNIX, path) for path in paths]))
"""


def compare_services(
    policy: ResolvedPolicy, paths: Sequence[str], run: Callable[[str, str], str]
) -> list[str]:
    """Try a TCP port and unix sockets; returns each that ended otherwise than the evaluator says.

    Args:
        policy: What the sandbox enforces.
        paths: Where services are to listen; their folders exist.
        run: Runs the Python program of its first argument with the second as argument there;
            returns what it prints.
    """
    with ExitStack() as listening:
        tcp = listening.enter_context(socket.create_server(("127.0.0.1", 0)))
        for path in paths:
            unix = listening.enter_context(socket.socket(socket.AF_UNIX))
            unix.bind(path)
            os.chmod(path, 0o777)  # so that only the sandbox refuses
            unix.listen()
        port = tcp.getsockname()[1]
        errors = json.loads(run(_CONNECT, json.dumps([port, *paths])))
    said = {f"127.0.0.1:{port}": decide(policy, "connect", f"127.0.0.1:{port}")}
    said |= {path: decide(policy, "connect_unix", path) for path in paths}
    return [
        f"{place}: the evaluator says {denial and denial.reason},"
        f" the sandbox {error or 'allows it'}"
        for (place, denial), error in zip(said.items(), errors, strict=True)
        if (denial is None) != (error is None)
    ]
