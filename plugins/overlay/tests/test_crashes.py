"""`kill -9` at any step of applying and taking back: the next command completes the batch."""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule_overlay.carrying_out import SPARE_PREFIX

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlays are mounted on Linux")

WORKER = Path(__file__).with_name("batch_worker.py")
THREAD = "0190aaaa-0000-7000-8000-000000000001"
CHANGES = """
echo changed > kept; chmod 755 kept; rm gone; ln -s kept link; mkdir -p new/deep
echo deep > new/deep/file; chmod 700 new; rm -r folder; echo now a file > folder
rm turned; mkdir turned; echo x > turned/x; ln -sf elsewhere pointer; printf '\\0\\1' > binary
"""


@pytest.fixture
def pending(case):
    """A workspace with changes of every kind pending, and with more of them for many points."""
    for name in ("kept", "gone", "turned", "folder/one", "folder/two", "apart/by"):
        case.write(name, f"{name}\n" * 3)
    (case.workspace / "pointer").symlink_to("kept")
    more = "for n in 1 2 3 4 5 6; do echo $n > new/$n; done"
    case.shell(CHANGES + more)
    return case


def run(case, action, last=0):
    argv = [sys.executable, WORKER, case.home, case.path, THREAD, action, str(last)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def steps_of(case, action, tmp_path):
    """How many steps an action has, tried on a copy that is thrown away."""
    finished = run(case, action)
    assert finished.returncode == 0, finished.stderr
    return int(finished.stdout)


def points(total, part):
    """Ten steps at which to kill, chosen at random and always the same; at first only four."""
    steps = list(range(1, total + 1))
    random.Random(total).shuffle(steps)
    return (steps * 100)[part * 10 : part * 10 + 10] if part else steps[:4]


def parts(count):
    return [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, count))]


class Stored:
    """A state of a case that can be come back to."""

    def __init__(self, case, place):
        self._pairs = [(case.workspace, place / "work"), (case.home, place / "home")]
        for source, target in self._pairs:
            subprocess.run(["cp", "-a", source, target], check=True)

    def restore(self):
        for source, target in self._pairs:
            shutil.rmtree(source)
            subprocess.run(["cp", "-a", target, source], check=True)


def leftovers(case):
    found = [name for _, _, names in os.walk(case.path) for name in names]
    return [name for name in found if name.startswith(SPARE_PREFIX)]


@pytest.mark.parametrize("part", parts(11))
@pytest.mark.parametrize("action", ["apply", "rollback"])
def test_a_killed_batch_is_completed_by_the_next_command(pending, snapshot, tmp_path, action, part):
    case = pending
    states = [snapshot(case.path)]
    (tmp_path / "at").mkdir()
    if action == "rollback":
        assert not case.apply().left
        states = [snapshot(case.path)]
    start = Stored(case, tmp_path / "at")
    total = steps_of(case, action, tmp_path)
    states.append(snapshot(case.path))
    for last in points(total, part):
        start.restore()

        killed = run(case, action, last)
        assert killed.returncode == -signal.SIGKILL
        finished = run(case, "recover")
        assert finished.returncode == 0, finished.stderr

        assert not leftovers(case), last
        now = snapshot(case.path)
        if now == states[0]:  # killed before its plan was written: nothing has happened
            run(case, action)
            now = snapshot(case.path)
        assert now == states[1], last
        if action == "apply":
            assert not case.pending(), last
            assert not case.rollback(1).left, last
            assert snapshot(case.path) == states[0], last


@pytest.mark.parametrize("part", parts(3))
def test_a_recovery_that_is_killed_as_well_is_completed(pending, snapshot, tmp_path, part):
    case = pending
    (tmp_path / "at").mkdir()
    start = Stored(case, tmp_path / "at")
    total = steps_of(case, "apply", tmp_path)
    expected = snapshot(case.path)
    for last in points(total, part):
        start.restore()
        run(case, "apply", last)
        for further in (1, 2, 3, 5):
            run(case, "recover", further)
        run(case, "recover")
        run(case, "apply")

        assert not leftovers(case)
        assert snapshot(case.path) == expected, last


@pytest.mark.parametrize("part", parts(3))
def test_an_edit_between_a_kill_and_the_recovery_is_not_lost(pending, snapshot, tmp_path, part):
    case = pending
    (tmp_path / "at").mkdir()
    start = Stored(case, tmp_path / "at")
    total = steps_of(case, "apply", tmp_path)
    for last in points(total, part):
        start.restore()
        run(case, "apply", last)
        case.write("kept", "mine\n")
        (case.workspace / "gone").write_text("mine, too\n")
        run(case, "recover")
        case.apply()

        assert (case.workspace / "kept").read_text() == "mine\n", last
        assert (case.workspace / "gone").read_text() == "mine, too\n", last
        assert not leftovers(case)
