"""R18: plugins need the contract only: no private names, nothing of the kernel."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAMPLES = sorted((ROOT / "tests" / "e2e" / "packages").glob("acme-*"))
WITHOUT_KERNEL = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top.startswith("ferrule") and top != "ferrule_hookspecs":
            raise ImportError(f"{name} is not part of the contract")

sys.meta_path.insert(0, Refuse())
sys.path.insert(0, sys.argv[1])
from importlib import import_module
for target in sys.argv[2:]:
    module, _, name = target.partition(":")
    found = import_module(module)
    assert not name or hasattr(found, name), target
"""


@pytest.mark.parametrize("package", SAMPLES, ids=lambda path: path.name)
def test_r18_a_stranger_s_plugin_works_where_there_is_no_kernel(package):
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    targets = [each for group in project["entry-points"].values() for each in group.values()]
    own = [each for each in project["dependencies"] if each.startswith("ferrule")]
    assert [each.partition(">")[0] for each in own] == ["ferrule-hookspecs"]
    subprocess.run(
        [sys.executable, "-c", WITHOUT_KERNEL, str(package / "src"), *targets],
        check=True,
        timeout=120,
    )


@pytest.mark.parametrize("package", SAMPLES, ids=lambda path: path.name)
def test_r18_a_stranger_s_plugin_uses_no_private_name(package):
    private = [
        f"{file.name}: {name}"
        for file in package.rglob("*.py")
        for name in _names(ast.parse(file.read_text()))
        if any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    ]
    assert private == []


def _names(tree):
    """What is imported of Ferrule, in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ferrule"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("ferrule"))
