"""The log of connections: kept within bounds, by several writers, and shown."""

import json
import threading

import pytest

from ferrule_network.audit import AuditEvent
from ferrule_network.host import canonical_host
from ferrule_network.network_log import NetworkLog, Subject
from ferrule_network.rule import Target

SUBJECT = Subject("t1", "u1", "c1", ("curl", "-sS", "https://a.test"))
TARGET = Target(canonical_host("a.test"), 443, "https")


@pytest.fixture
def log(tmp_path):
    return NetworkLog(tmp_path)


def test_a_record_says_who_wanted_what_and_what_was_decided(log):
    log.write(SUBJECT, AuditEvent("refused", "c1", TARGET, "deny", "a rule", "because"))

    (record,) = log.read()
    del record["time"]
    assert record == {
        "kind": "refused",
        "thread": "t1",
        "turn": "u1",
        "call": "c1",
        "command": ["curl", "-sS", "https://a.test"],
        "decision": "deny",
        "rule": "a rule",
        "reason": "because",
        "host": "a.test",
        "port": 443,
        "protocol": "https",
    }


def test_nobody_else_can_read_it(log):
    log.write(SUBJECT, AuditEvent("refused", "c1"))

    assert log.path.stat().st_mode & 0o777 == 0o600
    assert log.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_log_that_has_grown_is_put_away_and_the_oldest_is_dropped(tmp_path):
    log = NetworkLog(tmp_path, largest=1000)
    for number in range(100):
        log.write(SUBJECT, AuditEvent("refused", "c1", TARGET, reason=f"number {number}"))

    reasons = [record["reason"] for record in log.read()]

    assert reasons[-1] == "number 99"
    assert 0 < len(reasons) < 50
    numbers = [int(reason.split()[1]) for reason in reasons]
    assert numbers == list(range(numbers[0], 100))
    assert sum(path.stat().st_size for path in log.path.parent.glob("network*.jsonl")) < 6000


def test_writers_at_the_same_time_lose_nothing(tmp_path):
    def write(writer):
        log = NetworkLog(tmp_path)
        for number in range(50):
            log.write(SUBJECT, AuditEvent("refused", "c1", TARGET, reason=f"{writer} {number}"))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({record["reason"] for record in NetworkLog(tmp_path).read()}) == 200


def test_what_is_no_record_is_passed_over(log):
    log.write(SUBJECT, AuditEvent("refused", "c1"))
    with log.path.open("a") as file:
        file.write("{half\n")

    assert len(list(log.read())) == 1


def test_it_is_shown_in_lines_and_as_json(run_ferrule, ferrule_home):
    log = NetworkLog(ferrule_home.path)
    log.write(SUBJECT, AuditEvent("refused", "c1", TARGET, reason="no rule allows it"))
    log.write(
        SUBJECT._replace(thread_id="t2"),
        AuditEvent("closed", "c1", TARGET, "allow", address="1.2.3.4", sent=5, received=7),
    )

    lines = run_ferrule("network", "log").stdout.splitlines()
    records = run_ferrule("network", "log", "--json", "--thread", "t2").stdout.splitlines()
    refused = run_ferrule("network", "log", "--refused").stdout.splitlines()
    last = run_ferrule("network", "log", "--last", "1").stdout.splitlines()

    assert lines[0].endswith(
        "refused  https  a.test:443  no rule allows it  [curl -sS https://a.test]"
    )
    assert "5 bytes out, 7 in" in lines[1]
    assert [json.loads(record)["thread"] for record in records] == ["t2"]
    assert refused == lines[:1]
    assert last == lines[1:]
