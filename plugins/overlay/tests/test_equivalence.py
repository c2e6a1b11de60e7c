"""Changes made in a view and applied come to the same as changes made in place."""

import os
import random
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlays are mounted on Linux")

FEW = range(24)
MANY = range(24, 300)


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
        is_kept_folder = path in in_view and any(p.startswith(f"{path}/") for p in in_view)
        parent_is_there = os.path.dirname(path) in {"", *in_view}
        if not is_kept_folder and parent_is_there:
            assert in_view.get(path) == before.get(path), path
    for path, change in case.pending().items():
        assert path in pending or change.after is None or change.after.is_folder, path
