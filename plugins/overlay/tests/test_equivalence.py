"""Changes made in a view and applied come to the same as changes made in place."""

import os
import random
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlays are mounted on Linux")

FEW = (*range(24), 69)
MANY = [seed for seed in range(24, 300) if seed != 69]


def seeds():
    return [*FEW, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MANY)]


@pytest.fixture
def prepared(case, random_tree, random_orders, worker, snapshot, tmp_path):
    """Run random orders in a view and on a twin of the workspace."""

    def prepare(seed):
        random_tree(case.path, seed)
        before = snapshot(case.path)
        twin = tmp_path / "twin"
        shutil.copytree(case.path, twin, symlinks=True)
        sessions = [worker(random_orders(f"{seed}-{part}")) for part in range(1 + (seed % 4 == 0))]
        for argv in sessions:
            subprocess.run(argv, cwd=twin, check=True)
            case.in_view(argv)
        assert snapshot(case.path) == before
        return before, snapshot(twin)

    return prepare


def seen(case):
    """What the workspace looks like in the view."""
    script = "import os, sys; sys.path.insert(0, sys.argv[1]); import conftest, pprint;"
    script += "print(ascii(sorted(conftest.take_snapshot('.').items())))"
    (said,) = case.in_view((sys.executable, "-c", script, os.path.dirname(__file__)))
    return dict(eval(said))  # written by the line above


@pytest.mark.parametrize("seed", seeds())
def test_applying_equals_doing_it_in_place_and_rolling_back_undoes_it(
    prepared, case, snapshot, seed
):
    before, expected = prepared(seed)

    applied = case.apply()

    assert not applied.left
    assert snapshot(case.path) == expected
    assert not case.pending()
    if applied.batch:
        assert not case.rollback().left
        assert snapshot(case.path) == before
        assert not case.pending()
        assert not case.rollback(2).left  # taking back the taking back
        assert snapshot(case.path) == expected


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_what_is_applied_in_part_stays_as_it_was_in_the_view(prepared, case, snapshot, seed):
    _, expected = prepared(seed)
    dice = random.Random(seed)

    for _ in range(4):
        paths = sorted(case.pending())
        if not paths:
            break
        result = case.apply(files=dice.sample(paths, (len(paths) + 1) // 2))
        assert not {why for why in result.left.values() if "something else" not in why}
        assert seen(case) == expected
    case.apply()

    assert not case.pending()
    assert snapshot(case.path) == expected
    assert seen(case) == expected


@pytest.mark.parametrize("seed", range(2000, 2012))
def test_what_is_discarded_is_as_in_the_workspace_and_the_rest_is_kept(
    prepared, case, snapshot, seed
):
    before, _ = prepared(seed)
    dice = random.Random(seed)
    pending = case.pending()
    if not pending:
        return
    chosen = dice.sample(sorted(pending), (len(pending) + 1) // 2)

    case.discard(files=chosen)

    assert snapshot(case.path) == before
    in_view = seen(case)
    for path in chosen:
        above = ["/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 1)]
        if any(is_no_folder(pending.get(each)) and each not in chosen for each in above):
            continue
        if path in before:
            assert in_view.get(path) == before[path], path
        elif not any(each.startswith(f"{path}/") for each in in_view):
            assert path not in in_view
    assert set(case.pending()) <= set(pending)


def is_no_folder(change):
    return change is not None and change.after is not None and not change.after.is_folder


def test_discarding_one_file_of_a_folder_that_was_made_anew_brings_back_nothing_else(case):
    case.write("d/e/x", "base\n")
    case.write("d/e/f/x", "base\n")
    case.write("d/y", "base\n")
    case.shell("rm -r d; mkdir -p d/e/f; echo new > d/e/new")

    case.discard(files=["d/y"])

    assert case.shell("find d -type f | sort") == ["d/e/new\nd/y\n"]
    assert set(case.pending()) == {"d/e/new", "d/e/x", "d/e/f/x"}


def test_discarding_one_removal_brings_back_that_file_and_its_folder(case):
    case.write("d/e/x", "base\n")
    case.write("d/e/z", "base\n")
    case.write("d/y", "base\n")
    case.shell("rm -r d")

    case.discard(files=["d/e/x"])

    assert case.shell("find d -type f") == ["d/e/x\n"]
    assert not case.apply().left
    assert [str(path) for path in case.workspace.rglob("*") if path.is_file()] == [
        f"{case.path}/d/e/x"
    ]
