"""A host that stood still for longer than a plugin may take does not blame the plugin for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

import ferrule_hookspecs.hooks  # noqa: F401 -- declares the limits
from ferrule_hookspecs import markers
from ferrule_hookspecs.review import Verdict

LIMIT_S = 10
PATIENCE_S = 120
SLOW = """
import time
from pathlib import Path
Path({begun!r}).touch()
while not Path({go!r}).exists():
    time.sleep(0.01)
"""
HOST = """
import sys
from ferrule.index import build_index
from ferrule.probe import probe_entries
index = build_index([{site!r}], {environ!r})
[probe] = probe_entries(index.entries("ferrule.plugins"), limit_s={limit_s})
print(probe.ok, probe.fault)
"""


def until(is_so):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_host_that_stood_still_goes_on_waiting_for_an_import(site, tmp_path):
    begun, go = tmp_path / "begun", tmp_path / "go"
    site.add_hooks("slow", SLOW.format(begun=str(begun), go=str(go)))
    code = HOST.format(site=str(site.folder), environ=site.environ, limit_s=LIMIT_S)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as host:
        try:
            until(begun.exists)
            os.kill(host.pid, signal.SIGSTOP)
            stat = Path(f"/proc/{host.pid}/stat")
            until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
            time.sleep(LIMIT_S + 1)
            os.kill(host.pid, signal.SIGCONT)
            go.touch()
            assert host.communicate(timeout=PATIENCE_S)[0] == "True \n"
        finally:
            go.touch()
            host.kill()


IMPORTS_SLOWLY = """
import sys, time
from pathlib import Path
while "ferrule.probe_child" not in sys.modules and not Path({go!r}).exists():
    time.sleep(0.01)
@hookimpl
def ferrule_tool_before(call):
    return Verdict.allow("at last")
"""
ANSWERS = """
@hookimpl
def ferrule_tool_before(call):
    import time
    from pathlib import Path
    Path({begun!r}).touch()
    while not Path({go!r}).exists():
        time.sleep(0.01)
    return Verdict.allow("at last")
"""


async def judged(hooks):
    return (await hooks.assess("ferrule_tool_before", call=None, turn=None))["slow"]


@pytest.fixture
def limited(monkeypatch):
    """Give hooks another limit."""

    def limit(seconds):
        contract = markers.HookContract("assess", seconds)
        monkeypatch.setitem(markers.HOOK_CONTRACTS, "ferrule_tool_before", contract)

    return limit


def test_an_import_that_took_too_long_is_used_once_it_has_ended(site, tmp_path, limited):
    go = tmp_path / "go"
    limited(0.5)
    site.add_hooks("slow", IMPORTS_SLOWLY.format(go=str(go)))
    hooks = site.manager().hooks

    async def session():
        first = [await judged(hooks), await judged(hooks)]
        go.touch()
        limited(PATIENCE_S)
        with anyio.fail_after(PATIENCE_S):
            while (last := await judged(hooks)).decision == "deny":
                await anyio.sleep(0.01)
        return first, last

    first, last = anyio.run(session)
    assert [verdict.decision for verdict in first] == ["deny", "deny"]
    assert "did not answer within 0.5 s" in first[0].reason
    assert "still runs" in first[1].reason
    assert last == Verdict.allow("at last")


@pytest.mark.slow
def test_a_hook_is_waited_for_while_the_host_stands_still(site, tmp_path, limited):
    begun, go = tmp_path / "begun", tmp_path / "go"
    limited(LIMIT_S)
    site.add_hooks("slow", ANSWERS.format(begun=str(begun), go=str(go)))
    hooks = site.manager().hooks
    found = []

    async def ask():
        found.append(await judged(hooks))

    async def session():
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            while not begun.exists():
                await anyio.sleep(0.01)
            time.sleep(LIMIT_S + 1)
            go.touch()

    anyio.run(session)
    assert found == [Verdict.allow("at last")]
