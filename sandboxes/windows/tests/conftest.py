"""The backend on a model of Windows, and what the two ways make of a policy there."""

import json
import sys
from pathlib import Path
from shutil import which

import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command
from ferrule_sandbox_windows.mxc_program import MxcFacts
from ferrule_sandbox_windows.mxc_way import MxcWay
from ferrule_sandbox_windows.start_order import read_order
from ferrule_sandbox_windows.token_way import TokenWay
from ferrule_testkit.confinement import make_place
from ferrule_testkit.windows_model import ContainerModel, WindowsModel

ENVIRON = {"SYSTEMROOT": "/system", "SYSTEMDRIVE": "/", "LOCALAPPDATA": "/local", "PATH": "/bin"}


@pytest.fixture(scope="session")
def measure():
    """The module `measure.py`, which is a program, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        import measure

        yield measure
    del sys.modules["measure"]


@pytest.fixture(scope="session")
def wine(measure, tmp_path_factory):
    """A folder in which programs for Windows are compiled and run."""
    for tool in (measure.COMPILER, "wine"):
        if which(tool) is None:
            pytest.skip(f"{tool} is not there; what it said once stands in layouts.json")
    return tmp_path_factory.mktemp("wine")


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


@pytest.fixture
def machine():
    return WindowsModel()


@pytest.fixture
def context(tmp_path, place):
    return PluginContext(
        tmp_path / "ferrule-home", {}, cwd=str(place / "workspace"), environ=ENVIRON
    )


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "mxc" / "wxc-exec.exe"
    path.parent.mkdir()
    path.touch()
    return str(path)


@pytest.fixture
def command(place):
    return Command((sys.executable,), str(place / "workspace"), {"PATH": "/bin"})


@pytest.fixture
def token_way(machine, context):
    way = TokenWay(machine, context.home / "sandbox-windows")
    yield way
    machine.unchangeable.clear()
    way.close()


@pytest.fixture
def mxc_way(machine, context, program):
    facts = MxcFacts("base-container", hides_paths=True)
    return MxcWay(machine, program, facts, context.home / "sandbox-windows")


@pytest.fixture
def launches():
    """Closes what was launched, in the end."""
    made = []
    yield made
    for launch in made:
        launch.cleanup()


@pytest.fixture
def order_of(token_way, command, launches):
    """The order that the launcher gets for a policy."""

    def order_of(policy, **changes):
        launches.append(token_way.launch(policy, command._replace(**changes), ENVIRON))
        return read_order(launches[-1].argv[-1])

    return order_of


@pytest.fixture
def configuration_of(mxc_way, command, launches):
    """The configuration that MXC gets for a policy."""

    def configuration_of(policy, **changes):
        launches.append(mxc_way.launch(policy, command._replace(**changes), ENVIRON))
        with open(launches[-1].argv[-1], encoding="utf-8") as file:
            return json.load(file)

    return configuration_of


@pytest.fixture
def container_of(configuration_of, machine):
    """What the container of a policy may do."""

    def container_of(policy):
        files = configuration_of(policy)["filesystem"]
        return ContainerModel(
            files["readwritePaths"], files["readonlyPaths"], files["deniedPaths"], machine
        )

    return container_of
