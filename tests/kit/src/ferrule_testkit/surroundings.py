"""What tests need of the machine: free ports, and things that may not be installed."""

from __future__ import annotations

import os
import socket
from typing import NoReturn


def free_port() -> int:
    """Return a TCP port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def missing(reason: str) -> NoReturn:
    """Skip a test that lacks something; in CI, which installs everything, it fails instead."""
    import pytest

    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
