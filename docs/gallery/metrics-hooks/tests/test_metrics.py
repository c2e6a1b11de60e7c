"""The contract of hooks, and the file that sessions leave."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ferrule_hookspecs import PluginContext
from ferrule_hookspecs.tools import TurnInfo
from ferrule_testkit import HooksConformance
from ferrule_testkit.model_items import function_call, message
from gallery_metrics import hooks
from gallery_metrics.file import SERIES, write
from gallery_metrics.samples import counted, observed

CHECKOUT = str(Path(__file__).parents[1])
ESCALATED = {
    "cmd": "echo hi",
    "sandbox_permissions": "require_escalated",
    "justification": "to test",
}


class TestHooks(HooksConformance):
    """Every rule of the contract, tried on these hooks."""

    def make(self):
        """Return the module that the entry point names."""
        return hooks


def values(path):
    """The samples of a file, after a look at its form."""
    text = path.read_text()
    assert text.endswith("\n# EOF\n")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@pytest.fixture
def session(ferrule_home, model_server, run_ferrule):
    """Run a turn with a call that works and one that is refused."""

    def run():
        calls = [
            function_call("exec_command", {"cmd": "echo hi"}, call_id="c1"),
            function_call("exec_command", ESCALATED, call_id="c2"),
        ]
        model_server.play([calls, [message("done")]])
        finished = run_ferrule("--dev-plugin", CHECKOUT, "exec", "--json", "go")
        assert finished.returncode == 0, finished.stderr
        told = [item["message"] for item in finished.items("error")]
        assert [text for text in told if "plugin 'metrics'" in text] == []
        return finished

    return run


def test_a_session_writes_what_it_did_and_the_next_adds_to_it(ferrule_home, session):
    file = ferrule_home.path / "metrics.prom"
    usages = []
    for count in (1, 2):
        usages.append(session().events[-1]["usage"])
        seen = values(file)

        assert seen['ferrule_turns_total{status="completed"}'] == count
        assert seen["ferrule_turn_seconds_count"] == count
        assert seen['ferrule_turn_seconds_bucket{le="+Inf"}'] == count
        assert seen['ferrule_requests_total{model="gpt-5.5",outcome="completed"}'] == 2 * count
        assert seen['ferrule_tool_calls_total{tool="exec_command",outcome="completed"}'] == count
        assert seen['ferrule_tool_calls_total{tool="exec_command",outcome="refused"}'] == count
        written = sum(usage["output_tokens"] for usage in usages)
        assert seen['ferrule_tokens_total{model="gpt-5.5",kind="output"}'] == written > 0
    assert sorted(path.name for path in file.parent.glob("metrics*")) == [
        "metrics.prom",
        "metrics.prom.db",
    ]


@pytest.mark.slow
def test_the_file_is_where_the_settings_say(ferrule_home, session, tmp_path):
    path = tmp_path / "textfile" / "ferrule.prom"
    ferrule_home.configure(tables=f'[plugins.settings.metrics]\npath = "{path}"\n')
    session()

    assert values(path)['ferrule_turns_total{status="completed"}'] == 1
    assert not (ferrule_home.path / "metrics.prom").exists()


@pytest.mark.slow
def test_what_has_to_be_approved_is_counted(ferrule_home, model_server, run_ferrule):
    model_server.play([[function_call("exec_command", ESCALATED)], [message("done")]])
    run_ferrule("--dev-plugin", CHECKOUT, "exec", "--json", "-a", "on-request", "go")

    assert values(ferrule_home.path / "metrics.prom")["ferrule_approvals_total"] == 1


def test_writers_wait_for_each_other_and_nothing_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr("gallery_metrics.file._PATIENCE_S", 120)  # disks stand still, too
    file = tmp_path / "metrics.prom"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: write(file, counted("ferrule_approvals")), range(20)))

    assert values(file) == {"ferrule_approvals_total": 20}


def test_what_cannot_be_written_is_written_with_what_comes_next(tmp_path):
    folder = tmp_path / "folder"
    folder.write_text("in the way")
    context = PluginContext(tmp_path, {}, thread_id="t", settings={"path": "folder/metrics.prom"})
    turn = TurnInfo("t", "turn-1", str(tmp_path), "gpt")
    outcome = {"id": "turn-1", "items": [], "status": "completed", "error": None}
    hooks.ferrule_session_start(context)
    with pytest.raises(OSError, match="folder"):
        hooks.ferrule_turn_end(turn, outcome)
    folder.unlink()
    hooks.ferrule_session_end(context)

    assert values(folder / "metrics.prom")['ferrule_turns_total{status="completed"}'] == 1


def test_buckets_hold_what_is_below_their_bound(tmp_path):
    file = tmp_path / "metrics.prom"
    for seconds in (0.5, 2, 5000):
        write(file, observed("ferrule_turn_seconds", seconds))

    seen = values(file)
    buckets = [seen[f'ferrule_turn_seconds_bucket{{le="{le}"}}'] for le in ("1.0", "3.0", "+Inf")]
    assert buckets == [1, 2, 3]
    assert seen["ferrule_turn_seconds_sum"] == 5002.5


def test_names_without_end_become_one(tmp_path):
    file = tmp_path / "metrics.prom"
    samples = Counter()
    for number in range(SERIES + 50):
        samples += counted("ferrule_tool_calls", tool=f'a "{number}"\n\\', outcome="completed")
    write(file, samples)

    seen = values(file)
    assert len(seen) == SERIES + 1
    assert seen['ferrule_tool_calls_total{other="true"}'] == 50
    assert seen[r'ferrule_tool_calls_total{tool="a \"7\"\n\\",outcome="completed"}'] == 1
