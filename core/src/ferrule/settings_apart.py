"""Has a table of settings checked in a process of its own, for plugins that run apart.

Their code is never imported into the host, and their settings are no exception. The child is the
one of the probe: short, without secrets in its environment, and with a deadline.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from ferrule.patience import steps
from ferrule.plugin_python import end_session, search_path, start_python
from ferrule.settings_model import RefusedSettingsError, read_refusals, values_of
from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.entry import Entry
    from ferrule.settings_model import SettingsModel

LIMIT_S: Final = 15.0
_LIFE_S: Final = 600
"""How long a child may live at the most, where whoever started it was killed meanwhile."""
_BOOT: Final = """
import json, sys
request = json.loads(sys.stdin.readline())
sys.path[:] = request["boot"]
from ferrule.settings_apart import answer
answer(request)
"""


def values_apart(entry: Entry, table: Mapping[str, object]) -> dict[str, object]:
    """Return what a plugin is given for a table, as far as JSON can carry it.

    Raises:
        RefusedSettingsError: The model does not take it.
        PluginError: The model failed, or gave no answer.
    """
    request = {
        "boot": search_path(),
        "entry": [entry.target, list(entry.roots), entry.import_path],
        "table": dict(table),
    }
    try:
        said = cast("Mapping[str, object]", json.loads(_asked(json.dumps(request, default=str))))
    except ValueError:
        raise PluginError("the check of its settings ended without an answer") from None
    if "fault" in said:
        raise PluginError(f"the check of its settings raised {said['fault']}")
    if "refused" in said:
        raise RefusedSettingsError(read_refusals(said["refused"]))
    return cast("dict[str, object]", said["values"])


def _asked(request: str) -> bytes:
    """Return what the child writes; nothing of what it started is left."""
    process = start_python(_BOOT)
    given: bytes | None = (request + "\n").encode()
    with process:
        try:
            for step_s in steps(LIMIT_S):
                with suppress(subprocess.TimeoutExpired):
                    return process.communicate(given, timeout=step_s)[0]
                given = None
        finally:
            end_session(process)
    raise PluginError(f"the check of its settings did not end within {LIMIT_S:g} s")


def answer(request: Mapping[str, object]) -> None:
    """Do the child's part: write one line, and leave without running exit handlers."""
    from ferrule.loading import load_target

    if hasattr(signal, "alarm"):
        signal.alarm(_LIFE_S)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the plugin prints is no answer
    target, roots, import_path = cast("tuple[str, list[str], str]", request["entry"])
    try:
        model = cast("SettingsModel", load_target(target, roots, import_path))
        said: object = {"values": values_of(model, cast("Mapping[str, object]", request["table"]))}
        line = json.dumps(said, default=str)
    except RefusedSettingsError as error:
        line = json.dumps({"refused": error.refusals})
    except BaseException as error:  # noqa: BLE001 -- a validator may raise anything
        line = json.dumps({"fault": f"{type(error).__name__}: {error}"})
    answers.write(line + "\n")
    answers.flush()
    os._exit(0)
