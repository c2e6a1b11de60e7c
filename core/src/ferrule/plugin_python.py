"""The Python in which code of plugins runs in a process of its own, apart from the host's.

Started by the probe, for settings of plugins that run apart, and, confined, for their tools.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

from ferrule.environment import without_secrets


def python_command(code: str) -> list[str]:
    """Return the words that run some code; no variable and no folder of the user changes it."""
    # Without bytecode (-B): a new __pycache__ in a site folder would make the index stale again.
    flags = ["-E", "-P", "-B", *(["-s"] if sys.flags.no_user_site else [])]
    return [sys.executable, *flags, "-c", code]


def search_path() -> list[str]:
    """Return where the host finds modules, for the child to look there, too."""
    return [folder for folder in sys.path if os.path.isabs(folder)]


def start_python(code: str) -> subprocess.Popen[bytes]:
    """Run code in a session of its own, without secrets; ask and hear it through pipes."""
    return subprocess.Popen(
        python_command(code),
        env=without_secrets(os.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def end_session(process: subprocess.Popen[bytes]) -> None:
    """Kill a child that leads a session of its own, and everything it may have started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except OSError:
        process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
