"""The backend, and the profile it makes of a policy, read as macOS is known to read it."""

import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command
from ferrule_sandbox_seatbelt.backend import SeatbeltBackend
from ferrule_testkit.confinement import make_place
from ferrule_testkit.seatbelt_profile import ProfileReader, parameters_of


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


@pytest.fixture
def backend(tmp_path):
    return SeatbeltBackend(PluginContext(tmp_path, {}))


@pytest.fixture
def launched(backend, place):
    """Builds the launch of a command, as `prepare` does on macOS."""
    made = []

    def launched(policy, *argv, env=None):
        env = {"PATH": "/usr/bin:/bin"} if env is None else env
        command = Command(argv or ("true",), str(place / "workspace"), env)
        made.append(backend.launch(policy, command))
        return made[-1]

    yield launched
    for launch in made:
        if launch.cleanup is not None:
            launch.cleanup()


@pytest.fixture
def profile(launched):
    """The profile of a policy, out of the words that would be run."""

    def profile(policy):
        argv = launched(policy).argv
        return ProfileReader(argv[argv.index("-p") + 1], parameters_of(argv))

    return profile
