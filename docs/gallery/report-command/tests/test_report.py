"""The contract of commands, and reports about threads of sessions."""

import json
from pathlib import Path

import pytest

from ferrule_testkit import CommandConformance
from ferrule_testkit.model_items import function_call, message
from gallery_report.command import command
from gallery_report.usage import Row, sum_up

CHECKOUT = str(Path(__file__).parents[1])
PRICES = {"input": 10, "cached_input": 1, "output": 100}
DAY = "2026-11-22"


class TestCommand(CommandConformance):
    """Every rule of the contract, tried on this command."""

    def make(self):
        """Return the object that the entry point names."""
        return command


@pytest.fixture
def say(model_server, run_ferrule):
    """Have a turn of two responses; returns the id of its thread."""

    def run(*words):
        calls = [function_call("exec_command", {"cmd": "echo hi"})]
        model_server.play([calls, [message("done")]])
        finished = run_ferrule("exec", *words, "--json", "hello")
        assert finished.returncode == 0, finished.stderr
        return finished.events[0]["thread_id"]

    return run


@pytest.fixture
def report(run_ferrule):
    """Run the command; returns what it prints."""

    def run(*words):
        finished = run_ferrule("--dev-plugin", CHECKOUT, "threads-report", *words)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    return run


def test_responses_are_summed_up_by_day_and_model(ferrule_home, say, report):
    catalogue = {"models": [{"slug": "gpt-5.5", "provider": "scripted", "prices": PRICES}]}
    (ferrule_home.path / "models.json").write_text(json.dumps(catalogue))
    say()
    (row,) = map(json.loads, report("--json").splitlines())

    assert (row["model"], row["requests"]) == ("gpt-5.5", 2)
    tokens = (row["input"], row["cached"], row["output"])
    assert tokens == (200, 100, 20)  # as the scripted server says of two responses
    assert row["usd"] == pytest.approx((100 * 10 + 100 * 1 + 20 * 100) / 1e6)


@pytest.mark.slow
def test_a_fork_is_not_counted_twice_and_an_archived_thread_is_counted(say, report, run_ferrule):
    thread = say()
    say("fork", thread)
    assert run_ferrule("threads", "archive", thread).returncode == 0
    (row,) = map(json.loads, report("--json", "--days", "2").splitlines())

    assert (row["requests"], row["input"]) == (4, 400)


@pytest.mark.slow
def test_where_nothing_was_said_there_is_nothing_to_tell(report):
    assert report() == "nothing was used\n"


@pytest.mark.slow
def test_people_read_a_table_with_a_sum(say, report):
    say()
    head, line, whole = report().splitlines()

    assert head.split() == ["day", "model", "requests", "input", "cached", "output", "usd"]
    assert line.split()[1:] == ["gpt-5.5", "2", "200", "100", "20", "not", "known"]
    assert whole.split()[:4] == ["in", "all", "2", "200"]


def test_an_unknown_price_makes_a_sum_unknown():
    known, unknown = Row(DAY, "a", 1, 10, 0, 1, 0.5), Row(DAY, "a", 1, 10, 0, 1, None)

    assert sum_up([known, known]) == [Row(DAY, "a", 2, 20, 0, 2, 1.0)]
    assert sum_up([known, unknown])[0].usd is None


@pytest.mark.parametrize("days", ["0", "-1", "x", "10001"])
def test_a_number_of_days_that_is_none_is_refused(days, capsys):
    with pytest.raises(SystemExit) as end:
        command.main(["--days", days], None)

    assert end.value.code == 2
    assert "--days" in capsys.readouterr().err
