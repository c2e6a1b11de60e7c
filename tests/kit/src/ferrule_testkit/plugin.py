"""Pytest plugin: `model_server`, `ferrule_home`, `run_ferrule`, `secluded_path` and `issuer`.

Every pytest run imports this module, so whatever a fixture needs is imported inside of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from ferrule_testkit.home import FerruleHome, FinishedRun
    from ferrule_testkit.issuer import Issuer
    from ferrule_testkit.model_server import ScriptedModelServer


@pytest.fixture
def model_server() -> Iterator[ScriptedModelServer]:
    """A scripted model; tell it what to say with `model_server.play([...])`."""
    from ferrule_testkit.model_server import ScriptedModelServer

    with ScriptedModelServer() as server:
        yield server


@pytest.fixture
def ferrule_home(tmp_path: Path, model_server: ScriptedModelServer) -> FerruleHome:
    """A temporary home whose model is `model_server`, with an empty git workspace."""
    from ferrule_testkit.home import make_home

    return make_home(tmp_path / "ferrule", model_server.base_url)


@pytest.fixture
def run_ferrule(ferrule_home: FerruleHome) -> Callable[..., FinishedRun]:
    """Run `ferrule` with the given arguments in `ferrule_home`; see `FerruleHome.run`."""
    return ferrule_home.run


@pytest.fixture
def socket_folder(tmp_path: Path) -> Path:
    """A folder for unix sockets of a test.

    Sandboxed commands of other tests cannot enter it where tests run as root, who passes closed
    folders only outside of a sandbox: so they need not cover a socket that may be gone by then.
    """
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o600 if os.geteuid() == 0 else 0o700)
    return folder


@pytest.fixture
def secluded_path() -> Iterator[Path]:
    """A temporary folder with little beside it, for what goes through folders entry by entry.

    In that of `tmp_path` there stands a folder of every test before it.
    """
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(dir="/var/tmp" if os.name == "posix" else None) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """An issuer of tokens with one person, who agrees unless `issuer.state` says otherwise."""
    from ferrule_testkit.issuer import running_issuer

    with running_issuer() as running:
        yield running
