"""Checkouts of strangers' tools that run in a process of their own."""

import shutil
from pathlib import Path

import pytest

from ferrule_testkit.model_items import function_call, message

SAMPLES = Path(__file__).parent / "samples"
PACKAGES = Path(__file__).parents[1] / "packages"


@pytest.fixture
def checkout(tmp_path):
    """Make a checkout of a sample with a manifest of its own."""

    def make(name, manifest=""):
        folder = tmp_path / f"checkout-{name}"
        package = folder / "src" / f"acme_{name}"
        shutil.copytree(SAMPLES / name, package)
        (package / "__init__.py").touch()
        (package / "ferrule.toml").write_text(f'isolation = "process"\n{manifest}')
        (folder / "pyproject.toml").write_text(
            f'[project]\nname = "acme-{name}"\nversion = "1.0"\n'
            f'[project.entry-points."ferrule.tools"]\n{name} = "acme_{name}.tool:{name.title()}"\n'
        )
        return folder

    return make


@pytest.fixture
def turn(run_ferrule, model_server):
    """Have the model make calls in one turn, with a checkout; returns the run and the answers."""

    def run(folder, *calls, words=()):
        model_server.play(
            [
                *([function_call(*call, call_id=f"c{n}")] for n, call in enumerate(calls)),
                [message("done")],
            ]
        )
        finished = run_ferrule("--dev-plugin", str(folder), "exec", "--json", *words, "go")
        assert finished.returncode == 0, finished.stderr
        sent = model_server.requests[-1].body["input"]
        return finished, [item["output"] for item in sent if item["type"].endswith("_output")]

    return run
