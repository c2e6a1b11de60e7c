"""What a plugin uses of the contract that will be gone: it is told, and goes on working.

No real hook is deprecated for this: the tests mark one in a copy of the contract.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ferrule_hookspecs
from ferrule.deprecations import deprecated_uses
from ferrule_hookspecs.markers import HookContract

OLD = "since 0.1, use message; gone in 0.3"
HOOK = ")\ndef ferrule_notify("
SOURCE = """
from ferrule_hookspecs import hookimpl

@hookimpl
def ferrule_notify(notification):
    print("told", notification)
"""


def test_arguments_and_hooks_are_told_by_name():
    contracts = {
        "ferrule_one": HookContract("observe", 5.0, {"old": OLD, "older": OLD}),
        "ferrule_two": HookContract("observe", 5.0, "since 0.2, use ferrule_one; gone in 0.3"),
        "ferrule_three": HookContract("observe", 5.0),
    }
    served = {"ferrule_two": (), "ferrule_one": ("new", "old"), "ferrule_three": ("old",)}
    assert deprecated_uses(served, contracts) == (
        "the argument 'old' of the hook ferrule_one is deprecated " + OLD,
        "the hook ferrule_two is deprecated since 0.2, use ferrule_one; gone in 0.3",
    )


@pytest.fixture
def run(site, tmp_path):
    """Run Python with a contract in which an argument of `ferrule_notify` is deprecated."""
    package = Path(ferrule_hookspecs.__file__).parent
    copy = tmp_path / "contract" / package.name
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = (copy / "hooks.py").read_text()
    marked = f", deprecated={{'notification': {OLD!r}}}{HOOK}"
    assert text.count(HOOK) == 1
    (copy / "hooks.py").write_text(text.replace(HOOK, marked))
    site.add("acme-old", {"ferrule.plugins:old": "acme_old"}, {"acme_old.py": SOURCE})

    def call(code):
        environ = {**os.environ, "PYTHONPATH": str(copy.parent)}
        given = f"folder, environ = {str(site.folder)!r}, {site.environ!r}\n"
        return subprocess.run(
            [sys.executable, "-c", given + code],
            env=environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout

    return call


def test_a_plugin_that_takes_a_deprecated_argument_is_told_once_and_goes_on(run):
    told = run(
        "import json\n"
        "import anyio\n"
        "from ferrule.deprecations import deprecation_notices\n"
        "from ferrule.index import build_index\n"
        "from ferrule.manager import PluginManager\n"
        "manager = PluginManager(build_index([folder], environ), {}, report=print)\n"
        "print(json.dumps(deprecation_notices(manager.usable())))\n"
        "async def notify():\n"
        "    await manager.hooks.observe('ferrule_notify', notification='all', context=None)\n"
        "anyio.run(notify)\n"
    )
    notices, called = told.splitlines()
    [notice] = json.loads(notices)
    assert notice.startswith("plugin 'old' (acme-old 1.0, ")
    assert notice.endswith(
        "goes on working for now: the argument 'notification' of the hook ferrule_notify is"
        f" deprecated {OLD}; update acme-old"
    )
    assert called == "told all"
