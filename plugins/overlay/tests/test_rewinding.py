"""Files of a view go back to where a turn began, and forward again; `kill -9` loses nothing."""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.workspace_view import RewindableView
from ferrule_overlay import checkpoints
from ferrule_overlay.carrying_out import SPARE_PREFIX
from ferrule_overlay.mounts import Mounts
from ferrule_overlay.opening import open_view
from ferrule_overlay.rewinding import Rewinds

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlays are mounted on Linux")

WORKER = Path(__file__).with_name("rewind_worker.py")
THREAD = "0190aaaa-0000-7000-8000-000000000001"
FIRST = """
echo changed > kept; chmod 755 kept; rm gone; ln -s kept link; mkdir -p new/deep
echo deep > new/deep/file; chmod 700 new; rm -r folder; echo now a file > folder
"""
SECOND = """
rm turned; mkdir turned; echo x > turned/x; ln -sf elsewhere pointer; printf '\\0\\1' > binary
echo again >> kept; rm folder; mkdir folder; echo other > folder/one; rm -r new; echo back > gone
"""


@pytest.fixture
def filled(case):
    for name in ("kept", "gone", "turned", "folder/one", "folder/two", "apart/by"):
        case.write(name, f"{name}\n" * 3)
    (case.workspace / "pointer").symlink_to("kept")
    return case


class Talk:
    """One open session of a case, with turns in it."""

    def __init__(self, case, snapshot):
        self._case = case
        self._snapshot = snapshot
        self.view = open_view(case.context(), case.policy)
        assert isinstance(self.view, RewindableView)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        anyio.run(self.view.aclose)

    def turn(self, turn_id, script):
        assert self.view.begin_turn(turn_id) == ""
        self._case.run(self.view, ("sh", "-ec", script))
        return self.files()

    def files(self):
        return self._snapshot(f"{self.view.root}{self._case.path}")


@pytest.fixture
def talk(snapshot):
    return lambda case: Talk(case, snapshot)


def rewind(case, *count):
    """What `ferrule changes rewind` does, with `--undo` where no count is given."""
    shelf = case.shelf
    lock = shelf.lock()
    try:
        rewinds = Rewinds(shelf)
        rewinds.settle()
        with Mounts(shelf) as mounts:
            done = rewinds.back(*count, mounts.trees) if count else rewinds.undo(mounts.trees)
        rewinds.release()
        return done
    finally:
        os.close(lock)


def changes(case):
    return {path: change.after for path, change in case.pending().items()}


def test_an_open_view_goes_back_to_where_a_turn_began(filled, talk, snapshot):
    before = snapshot(filled.path)
    with talk(filled) as session:
        first = session.turn("t1", FIRST)
        second = session.turn("t2", SECOND)
        session.turn("t3", "echo third > third; rm -rf apart; mv kept elsewhere")

        assert session.view.rewind(["t3"]) == ""
        assert session.files() == second
        assert session.view.rewind(["t3"]) == ""  # once more, as after a crash
        assert session.files() == second
        again = session.turn("t4", "cat kept > copy; mkdir apart/more")
        assert "copy" in again
        assert session.view.rewind(["t2", "t4"]) == ""
        assert session.files() == first
        assert session.view.rewind(["t1", "t2"]) == ""
        assert session.files() == before
    assert snapshot(filled.path) == before
    assert not filled.pending()


def test_the_command_goes_back_by_turns_and_forward_again(filled, talk):
    states = []
    for number, script in enumerate((FIRST, SECOND, "rm -rf *; echo only > only")):
        with talk(filled) as session:
            session.turn(f"t{number}", script)
        states.append(changes(filled))

    assert not rewind(filled, 1).left
    assert changes(filled) == states[1]
    assert not rewind(filled, 1).left
    assert changes(filled) == states[0]
    assert not rewind(filled).left
    assert changes(filled) == states[1]
    assert not rewind(filled).left  # undoing is undone
    assert changes(filled) == states[0]
    assert not rewind(filled, 1).left
    assert changes(filled) == {}
    with pytest.raises(FerruleError, match=r"no turn of thread .* is kept"):
        rewind(filled, 1)
    assert not rewind(filled).left
    assert changes(filled) == states[0]


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(n, marks=pytest.mark.slow) for n in range(5, 40))]
)
def test_random_turns_are_gone_back_to_in_any_order(
    case, talk, random_tree, random_orders, worker, snapshot, seed
):
    random_tree(case.path, seed)
    before, states = snapshot(case.path), []
    dice = random.Random(seed)
    with talk(case) as session:
        for number in range(4):
            states.append(session.files())
            assert session.view.begin_turn(f"t{number}") == ""
            case.run(session.view, worker(random_orders(f"{seed}-{number}")))
        states.append(session.files())
        for number in (dice.randrange(4) for _ in range(4)):
            assert session.view.rewind([f"t{number}"]) == ""
            assert session.files() == states[number], number
    assert not rewind(case).left
    with talk(case) as session:
        reached = session.files()
    assert reached in states
    assert snapshot(case.path) == before


def test_a_copy_in_place_of_an_overlay_goes_back_as_well(filled, talk, no_overlay):
    with talk(filled) as session:
        first = session.turn("t1", FIRST)
        session.turn("t2", SECOND)
        assert session.view.rewind(["t2"]) == ""
        assert session.files() == first
    assert filled.shelf.about.mechanism == "copy"
    assert not rewind(filled, 1).left
    assert not filled.pending()


def test_what_the_user_edits_after_a_rewind_shows_in_the_view(filled, talk):
    with talk(filled) as session:
        session.turn("t1", "echo thread > kept; rm gone")
        assert session.view.rewind(["t1"]) == ""
        filled.write("kept", "mine\n")
        filled.write("gone", "mine, too\n")
    assert not filled.pending()
    with talk(filled) as session:
        assert session.files()["kept"][2] == b"mine\n"
        assert session.files()["gone"][2] == b"mine, too\n"


def test_what_was_applied_since_is_taken_back_first(filled, talk):
    with talk(filled) as session:
        session.turn("t1", "echo one > kept")
    with talk(filled) as session:
        session.turn("t2", "echo two > gone")
    filled.apply(files=["kept"])

    with pytest.raises(FerruleError, match="batch 1 changed the workspace after that turn"):
        rewind(filled, 1)
    filled.rollback()
    assert not rewind(filled, 1).left
    assert set(changes(filled)) == {"kept"}  # as when t2 began: nothing was applied yet

    filled.discard()
    with talk(filled) as session:
        session.turn("t3", "echo three > kept")
    assert not rewind(filled, 1).left  # what was applied and taken back before does not matter
    assert not filled.pending()


def test_a_turn_of_which_nothing_is_kept_is_refused(filled, talk, monkeypatch):
    with talk(filled) as session:
        session.turn("t1", "echo one > kept")
        with pytest.raises(FerruleError, match="before turn t0: it ran without --overlay"):
            session.view.rewind(["t0", "t1"])
        monkeypatch.setattr(checkpoints, "MOST_BYTES", 2)
        warning = session.view.begin_turn("t2")
        assert "cannot be taken back later" in warning
        assert "too many to be kept for every turn" in warning
        with pytest.raises(FerruleError, match="too many changes before it"):
            session.view.rewind(["t2"])
        assert session.files()["kept"][2] == b"one\n"


def test_only_the_last_turns_are_kept(filled, talk, monkeypatch):
    monkeypatch.setattr(checkpoints, "MOST_KEPT", 4)
    monkeypatch.setattr(checkpoints, "_KEPT_OF_MOST", 2)
    with talk(filled) as session:
        for number in range(5):
            session.turn(f"t{number}", f"echo {number} > kept")
        with pytest.raises(FerruleError, match="before turn t1"):
            session.view.rewind(["t1", "t2", "t3", "t4"])
        assert session.view.rewind(["t3", "t4"]) == ""
        assert session.files()["kept"][2] == b"2\n"
    objects = Path(filled.shelf.path, "checkpoints", "objects")
    kept = {place.read_bytes() for place in objects.rglob("*") if place.is_file()}
    assert kept == {b"2\n", b"3\n", b"4\n"}


def run(case, action, last=0):
    argv = [sys.executable, WORKER, case.home, THREAD, action, str(last)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def points(total, part):
    """Steps at which to kill, chosen at random and always the same; at first only three."""
    steps = list(range(1, total + 1))
    random.Random(total).shuffle(steps)
    return (steps * 100)[part * 8 : part * 8 + 8] if part else steps[:3]


PARTS = [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 5))]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("action", ["back", "undo"])
def test_a_killed_rewind_is_completed_by_the_next_command(filled, talk, tmp_path, action, part):
    with talk(filled) as session:
        session.turn("t1", FIRST)
        session.turn("t2", SECOND)
    if action == "undo":
        rewind(filled, 1)
    start = changes(filled)
    subprocess.run(["cp", "-a", filled.home, tmp_path / "home"], check=True)
    finished = run(filled, action)
    assert finished.returncode == 0, finished.stderr
    goal = changes(filled)
    assert goal != start
    for last in points(int(finished.stdout), part):
        shutil.rmtree(filled.home)
        subprocess.run(["cp", "-a", tmp_path / "home", filled.home], check=True)

        assert run(filled, action, last).returncode == -signal.SIGKILL
        assert run(filled, "settle", 2).returncode in (0, -signal.SIGKILL)
        finished = run(filled, "settle")
        assert finished.returncode == 0, finished.stderr

        assert not any(SPARE_PREFIX in path for path in changes(filled)), last
        if changes(filled) == start:  # killed before its plan was written: nothing has happened
            assert run(filled, action).returncode == 0
        assert changes(filled) == goal, last
        assert not rewind(filled).left
        assert changes(filled) == start, last


def test_a_killed_rewind_is_completed_when_the_thread_is_opened(filled, talk):
    with talk(filled) as session:
        first = session.turn("t1", FIRST)
        session.turn("t2", SECOND)
    planned = 3  # kept, planned, and one step more
    assert run(filled, "back", planned).returncode == -signal.SIGKILL

    with talk(filled) as session:
        assert session.files() == first
