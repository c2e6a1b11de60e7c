"""Pytest plugin: fixtures, and for projects with a Ferrule plugin a home and no network.

Every pytest run where the kit is installed imports this module, so that it imports nothing but
pytest and the standard library, and whatever a fixture needs is imported inside of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from ferrule_testkit.home import FerruleHome, FinishedRun
    from ferrule_testkit.hostile import HostilePlugins
    from ferrule_testkit.import_report import ImportReport
    from ferrule_testkit.issuer import Issuer
    from ferrule_testkit.model_server import ScriptedModelServer


_DECLARES_A_PLUGIN: Final = re.compile(
    r"""^\s*\[project\.entry-points\.["']?ferrule\.|^\s*["']ferrule\.[a-z_]+["']\s*=""",
    re.MULTILINE,
)
_MARKERS: Final = (
    "ferrule_network: this test may connect to other machines",
    "ferrule_real_home: this test sees the home of whoever runs it",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what projects may say."""
    budget = "most milliseconds that importing the module of a plugin under test may take"
    group = parser.getgroup("ferrule")
    group.addoption("--ferrule-import-budget", type=float, default=None, metavar="MS", help=budget)
    seclusion = "temporary home and no network: auto (where a plugin is declared), true or false"
    parser.addini("ferrule_seclusion", seclusion, default="auto")
    thorough = "whether suites try in a Python of its own what a plugin does at import"
    parser.addini("ferrule_thorough", thorough, type="bool", default=True)


def pytest_configure(config: pytest.Config) -> None:
    """Seclude the tests of projects that declare a plugin of Ferrule."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    if _wants_seclusion(config):
        from ferrule_testkit import seclusion

        config.pluginmanager.register(seclusion, "ferrule_seclusion")


def _wants_seclusion(config: pytest.Config) -> bool:
    wish = str(config.getini("ferrule_seclusion")).lower()
    if wish != "auto":
        return wish == "true"
    try:
        text = (config.rootpath / "pyproject.toml").read_text("utf-8")
    except OSError:
        return False
    return _DECLARES_A_PLUGIN.search(text) is not None


@pytest.fixture
def import_report() -> Callable[[str], ImportReport]:
    """Import a module in a Python of its own and tell what that costs and does."""
    from ferrule_testkit.import_report import report_import

    return report_import


@pytest.fixture
def no_leaks() -> Iterator[None]:
    """Fail where the test leaves threads, processes or descriptors behind."""
    from ferrule_testkit.leaks import LeakWatch

    watch = LeakWatch()
    yield
    if left := watch.left():
        pytest.fail(f"the test leaves behind: {'; '.join(left)}")


@pytest.fixture
def hostile_plugins() -> HostilePlugins:
    """Plugins that misbehave on purpose; see `ferrule_testkit.hostile`."""
    from ferrule_testkit.hostile import HostilePlugins

    return HostilePlugins()


@pytest.fixture
def model_server() -> Iterator[ScriptedModelServer]:
    """A scripted model; tell it what to say with `model_server.play([...])`."""
    from ferrule_testkit.model_server import ScriptedModelServer

    with ScriptedModelServer() as server:
        yield server


@pytest.fixture
def ferrule_home(
    tmp_path: Path, model_server: ScriptedModelServer, request: pytest.FixtureRequest
) -> FerruleHome:
    """A temporary home whose model is `model_server`, with an empty git workspace."""
    from ferrule_testkit.home import make_home

    projects = (each for each in request.path.parents if (each / "pyproject.toml").is_file())
    return make_home(tmp_path / "ferrule", model_server.base_url, next(projects, None))


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
