"""R15: every hook call has a deadline, a rule for its faults and a name; functions and coroutines
are both called, and one observer that fails never skips the others.

What hangs is tried with short deadlines in core/tests/plugins/test_plugins_dispatch.py.
"""

from ferrule_testkit.model_items import message

OBSERVERS = {
    "async": """
from pathlib import Path

@hookimpl
async def ferrule_turn_start(turn):
    Path(turn.cwd, "async.txt").write_text("told")
""",
    "raises": """
@hookimpl
def ferrule_turn_start(turn):
    raise RuntimeError("not today")
""",
    "sync": """
from pathlib import Path

@hookimpl
def ferrule_turn_start(turn):
    Path(turn.cwd, "sync.txt").write_text("told")
""",
}


def test_r15_raising_and_async_plugins_are_called_together(
    twin, hooks_package, ferrule_home, model_server
):
    for name, source in OBSERVERS.items():
        twin.put(hooks_package(name, source))
    model_server.play([[message("done")]])

    finished = twin.run("exec", "--json", "go")

    assert finished.returncode == 0, finished.stderr
    for told in ("async.txt", "sync.txt"):
        assert (ferrule_home.workspace / told).read_text() == "told"
    said = finished.stdout + finished.stderr
    assert "plugin 'raises' (acme-raises 1.0, " in said
    assert "hook ferrule_turn_start raised RuntimeError: not today" in said
    assert "--no-plugin raises" in said
    assert finished.survivors == {}
