"""Files with secrets, and endpoints to make gates of."""

from __future__ import annotations

import pytest

from ferrule_gate.gate import Knock, make_gate
from ferrule_gate.place import parse_place


@pytest.fixture
def secret_file(tmp_path):
    def make(content, mode=0o600):
        file = tmp_path / "secret"
        file.write_bytes(content)
        file.chmod(mode)
        return str(file)

    return make


@pytest.fixture
def gate():
    def make(url="ws://127.0.0.1:0", options=None, **settings):
        return make_gate(parse_place(url, "ws"), options or {}, settings, "transports.x")

    return make


@pytest.fixture
def knock():
    def make(token=None, host="127.0.0.1:1", origin=None, **more):
        given = {
            "authorization": listed(token and f"Bearer {token}"),
            "host": listed(host),
            "origin": listed(origin),
            **more,
        }
        return Knock(**given)

    return make


def listed(value):
    if isinstance(value, list):
        return value
    return [] if value is None else [value]
