"""A stranger's tool, unchanged, gives the same results in both ways, with the real sandbox."""

import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COURIER = ROOT / "core" / "tests" / "isolation" / "samples" / "courier.py"
TICKET = ROOT / "tests" / "e2e" / "packages" / "acme-ticket"
USES = ("arguments", "settings", "raising", "refusing", "files", "missing", "outside", "command")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap"),
]


def courier(folder):
    package = folder / "courier" / "src" / "acme_courier"
    package.mkdir(parents=True)
    shutil.copy(COURIER, package / "__init__.py")
    (folder / "courier" / "pyproject.toml").write_text(
        '[project]\nname = "acme-courier"\nversion = "1.0"\n'
        '[project.entry-points."ferrule.tools"]\ncourier = "acme_courier:Courier"\n'
    )
    return folder / "courier"


def seen(turn, ferrule_home, model_server, folder, calls, isolation):
    """What the model was told of a tool, what it read of its calls, and what users were shown."""
    ferrule_home.configure(
        top="web_search = 'disabled'", tables=f'[plugins.isolation]\ndefault = "{isolation}"'
    )
    begun = len(model_server.requests)
    finished, answers = turn(folder, *calls)
    offered = model_server.requests[begun].body["tools"]
    (told,) = [tool for tool in offered if tool.get("name") == calls[0][0]]
    return told, answers, finished.items("tool_call"), finished.survivors


@pytest.mark.parametrize("sample", ["acme-ticket", "courier"])
def test_the_results_are_those_of_the_same_code_in_this_process(
    turn, ferrule_home, model_server, tmp_path, sample
):
    if sample == "courier":
        folder = courier(tmp_path)
        calls = [("courier", {"what": what}) for what in USES]
    else:
        folder = TICKET
        calls = [("acme_ticket", {"title": "leak"}), ("acme_ticket", {"urgent": 7})]
    results = []
    for isolation in ("none", "process"):
        results.append(seen(turn, ferrule_home, model_server, folder, calls, isolation))
        for path in ferrule_home.workspace.glob("carried*"):
            path.unlink()

    inside, apart = results
    assert json.dumps(inside) == json.dumps(apart)
    assert apart[3] == {}
