"""What each version of Landlock can do is used, and what it cannot is refused otherwise or said.

A kernel of today takes rulesets of all older versions, so that each can be tried here.
"""

import socket
import subprocess
from functools import partial

import pytest

from ferrule_confinement.landlock import landlock_version
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command
from ferrule_sandbox_landlock import backend as backend_module
from ferrule_sandbox_landlock import probe as probe_module
from ferrule_sandbox_landlock.backend import LandlockBackend
from ferrule_sandbox_landlock.ruleset import Ruleset
from ferrule_testkit.confinement import complete

VERSIONS = range(1, 8)
DECLARED = {
    *("filesystem", "deny_read", "network", "seccomp", "proc_sys", "readable_roots"),
    "unix_sockets",
}
CODE = """
import os, socket, sys
kept, port, victim = sys.argv[1:]
def tell(name, way):
    try:
        way()
        print(name)
    except OSError:
        pass
tell("write outside", lambda: open(kept, "a"))
tell("empty outside", lambda: os.truncate(kept, 0))
tell("empty by reading", lambda: os.open(kept, os.O_RDONLY | os.O_TRUNC))
tell("connect", lambda: socket.create_connection(("127.0.0.1", int(port)), 5))
tell("local socket", lambda: socket.socket(socket.AF_UNIX))
tell("signal", lambda: os.kill(int(victim), 0))
open("file", "w").close()
os.mkdir("folder")
tell("move", lambda: os.rename("file", "folder/file"))
"""


@pytest.fixture
def at_version(place, monkeypatch):
    """Makes a backend that takes Landlock for an older version."""

    def at_version(version, **settings):
        if landlock_version() < version:
            pytest.skip(f"needs Landlock {version}")
        for module in (backend_module, probe_module):
            monkeypatch.setattr(module, "landlock_version", lambda: version)
        monkeypatch.setattr(backend_module, "Ruleset", partial(Ruleset, version=version))
        config = {"sandboxes": {"landlock": settings}}
        return LandlockBackend(PluginContext(place / "home", config, str(place / "workspace")))

    return at_version


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_declares_what_it_enforces_and_says_what_it_does_not(at_version, version):
    found = at_version(version).probe()

    assert found.available
    assert found.enforced - {"resources"} == DECLARED
    assert f"version {version})" in found.reason
    assert ("signals to other processes" in found.reason) == (version < 6)
    assert ("Files cannot be moved" in found.reason) == (version < 2)


@pytest.mark.parametrize("version", VERSIONS)
def test_with_local_sockets_no_version_declares_them_out_of_reach(at_version, version):
    assert "unix_sockets" not in at_version(version, local_sockets=True).probe().enforced


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("network", [False, True])
def test_every_version_confines_what_is_declared(at_version, policy, place, version, network):
    kept = place / "outside" / "kept"
    kept.write_text("kept")
    kept.chmod(0o666)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as victim,
    ):
        values = (str(kept), str(server.getsockname()[1]), str(victim.pid))
        argv = ("/usr/bin/python3", "-I", "-S", "-c", CODE, *values)
        command = Command(argv, str(place / "workspace"), {"PATH": "/usr/bin:/bin"})
        ended = complete(at_version(version), policy(network=network), command)
        victim.stdin.close()

    allowed = {
        *(["move"] if version >= 2 else []),
        *(["signal"] if version < 6 else []),
        *(["connect"] if network else []),
    }
    assert (ended.returncode, set(ended.stdout.splitlines())) == (0, allowed)
    assert kept.read_text() == "kept"


def test_without_landlock_it_is_not_available_and_says_the_mend(at_version):
    found = at_version(0).probe()

    assert (found.available, found.enforced) == (False, frozenset())
    assert "parameter `lsm`" in found.reason
