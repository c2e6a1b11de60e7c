"""The program that runs inside of the sandbox: makes one attempt and tells how it went.

It is called with a request as JSON. It uses nothing but the standard library and
answers with one line of JSON on standard output. An attempt that raises was refused; one that
returns was not, and what it returns is what it found.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import signal
import sys
from contextlib import suppress

from .attempt import ATTEMPTS, Attempt, NotHere, Place
from .swapper import start_swapper

RACING_ATTEMPTS = 12


def main(text: str) -> int:
    """Make the attempt that a request names and write the answer."""
    request = json.loads(text)
    importlib.import_module(f"{__package__}.{request['module']}")
    attempt = ATTEMPTS[request["probe"]]
    place = Place(request["facts"])
    is_attack = request["kind"] == "confinement"
    swapper = start_swapper(place) if request["racing"] and is_attack else 0
    answer: dict[str, object] = {"reached": False, "detail": ""}
    try:
        for _ in range(RACING_ATTEMPTS if swapper else 1):
            answer = answer_of(attempt, place)
            if answer["reached"] or "not_here" in answer:
                break
    finally:
        if swapper:
            with suppress(OSError):
                os.kill(swapper, signal.SIGKILL)
                os.waitpid(swapper, 0)
    sys.stdout.write("\nFERRULE-CERTIFY " + json.dumps(answer) + "\n")
    sys.stdout.flush()
    return 0


def answer_of(attempt: Attempt, place: Place) -> dict[str, object]:
    """Make an attempt once."""
    try:
        found = attempt(place)
    except NotHere as error:
        return {"reached": False, "detail": str(error), "not_here": True}
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, str(error.errno))
        return {"reached": False, "detail": f"{name}: {error}"[:300]}
    except Exception as error:  # noqa: BLE001 -- whatever an attempt meets is its answer
        return {"reached": False, "detail": f"{type(error).__name__}: {error}"[:300]}
    return {"reached": found is not False, "detail": "" if found in (None, True) else str(found)}
