"""Tests of a plugin have a home of their own and no network; other projects notice nothing."""

import subprocess
import sys

import pytest

PLUGIN = '[project]\nname = "acme"\n[project.entry-points."ferrule.tools"]\nacme = "acme:Tool"\n'
TESTS = """
import asyncio, os, socket
from pathlib import Path
import pytest

FAR = ("192.0.2.1", 9)

def test_home():
    assert "home" in Path.home().name
    assert os.environ["FERRULE_HOME"].startswith(str(Path.home()))
    assert "FERRULE_PROFILE" not in os.environ

def reached(work):
    with pytest.raises(RuntimeError, match="have no network.*ferrule_network"):
        work()

def test_network():
    with socket.socket() as one, socket.socket(type=socket.SOCK_DGRAM) as two:
        reached(lambda: one.connect(FAR))
        reached(lambda: one.connect_ex(FAR))
        reached(lambda: two.sendto(b"x", FAR))
    reached(lambda: socket.getaddrinfo("example.com", 443))
    reached(lambda: asyncio.run(asyncio.open_connection(*FAR)))

def test_this_machine():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(("localhost", server.getsockname()[1])).close()

@pytest.mark.ferrule_network
def test_marked():
    with socket.socket() as one:
        one.settimeout(0.001)
        with pytest.raises(OSError):
            one.connect(FAR)

@pytest.mark.ferrule_real_home
def test_real_home():
    assert os.environ["HOME"] == "/nonexistent/mine"
"""
OPEN = """
import os, socket
def test_nothing_is_changed():
    assert os.environ["HOME"] == "/nonexistent/mine"
    assert socket.socket.connect.__qualname__ == "socket.connect"
"""


@pytest.fixture
def outcome(tmp_path, monkeypatch):
    """Run the tests of a project in a process of its own; the last line."""

    def run(pyproject, tests, *options):
        (tmp_path / "pyproject.toml").write_text(pyproject)
        (tmp_path / "test_it.py").write_text(tests)
        monkeypatch.setenv("HOME", "/nonexistent/mine")
        monkeypatch.setenv("FERRULE_PROFILE", "mine")
        words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", *options]
        places = [f"--rootdir={tmp_path}", f"--basetemp={tmp_path / 'base'}", "test_it.py"]
        ended = subprocess.run(
            [sys.executable, *words, *places],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.stdout

    return run


def test_r23_tests_of_a_plugin_have_a_home_of_their_own_and_no_network(outcome):
    assert "5 passed" in outcome(PLUGIN, TESTS)


def test_tests_of_another_project_are_left_alone(outcome):
    assert "1 passed" in outcome('[project]\nname = "other"\n', OPEN)


@pytest.mark.parametrize(("wish", "tests"), [("true", TESTS), ("false", OPEN)])
def test_a_project_may_say_what_it_wants(outcome, wish, tests):
    project = PLUGIN if wish == "false" else '[project]\nname = "other"\n'
    assert " passed" in outcome(project, tests, "-o", f"ferrule_seclusion={wish}")


def test_r23_the_pytest_plugin_imports_nothing_but_pytest_and_the_standard_library():
    code = """
import pytest, sys
before = set(sys.modules)
import ferrule_testkit.plugin
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(new - set(sys.stdlib_module_names)))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "['ferrule_testkit']\n"


def test_r23_what_an_import_costs_and_does_is_told(tmp_path, monkeypatch, import_report):
    source = "import threading, time\nprint('hello')\nopen(__file__ + '.new', 'w').close()\n"
    source += "threading.Thread(target=time.sleep, args=(60,), name='left').start()\n"
    (tmp_path / "acme_busy.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    report = import_report("acme_busy")
    assert report.printed == "hello\n"
    assert report.threads == ("left",)
    assert "acme_busy.py.new" in report.started[0]
    assert report.milliseconds > 0
    assert report.culprits
    assert "ModuleNotFoundError" in import_report("acme_not_there").fault
