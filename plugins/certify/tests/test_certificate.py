"""Certificates: what they say, and that nobody changes them unnoticed."""

import json
import stat
import sys

import pytest

from ferrule_certify.certificate import Subject, canonical, certificate, passed
from ferrule_certify.examination import Result, Trial
from ferrule_certify.probe import Outcome, Probe, judge, worst

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the probes are for Unix")

ATTACK = Probe("x.attack", "It holds.", "confinement", ("read-only",), "network")
WORK = Probe("x.work", "It works.", "function", ("read-only",))
YES, NO, NONE = Outcome(reached=True), Outcome(reached=False), Outcome(None)


def result(verdict, probe=ATTACK, racing="held"):
    return Result(probe, (Trial("read-only", verdict, racing, ""),))


@pytest.mark.parametrize(
    ("probe", "control", "found", "is_declared", "verdict"),
    [
        (ATTACK, YES, NO, True, "held"),
        (ATTACK, YES, YES, True, "escaped"),
        (ATTACK, YES, YES, False, "unsupported"),
        (ATTACK, YES, NONE, True, "unclear"),
        (ATTACK, NO, NO, True, "not applicable"),
        (WORK, YES, YES, True, "works"),
        (WORK, YES, NO, True, "broken"),
        (WORK, YES, NONE, True, "broken"),
        (WORK, YES, NO, False, "unsupported"),
        (WORK, NO, YES, True, "not applicable"),
    ],
)
def test_a_verdict_is_made_of_two_attempts(probe, control, found, is_declared, verdict):
    assert judge(probe, control, found, is_declared=is_declared) == verdict


def test_the_worst_of_several_verdicts_counts():
    assert worst(["held", "escaped", "unclear"]) == "escaped"
    assert result("held", racing="escaped").verdict == "escaped"


def test_a_certificate_is_spoilt_by_an_escape_a_broken_function_or_no_answer():
    extra = WORK._replace(is_extra=True)
    assert passed([result("held"), result("works", WORK), result("broken", extra, "works")])
    assert not passed([])
    for verdict in ("escaped", "unclear"):
        assert not passed([result("held"), result(verdict)])
    assert not passed([result("broken", WORK, "works")])


def test_a_certificate_tells_who_was_examined_where_and_how():
    subject = Subject("box", "acme-box", "1.2.0", frozenset({"network"}))
    content = certificate(subject, [result("held"), result("unsupported")], "0.1.0")
    assert content["backend"] == {"name": "box", "distribution": "acme-box", "version": "1.2.0"}
    assert content["declared"] == ["network"]
    assert "filesystem" in content["undeclared"]
    assert content["summary"] == {"held": 1, "unsupported": 1}
    assert content["is_complete"] is False
    assert set(content["machine"]) == {"system", "kernel", "architecture", "user"}
    assert canonical(content) == canonical(json.loads(json.dumps(content, indent=3)))


@pytest.fixture
def signed(sandbox, tmp_path):
    """A certificate of one probe, in a file."""
    pytest.importorskip("cryptography")
    run = sandbox("certify", "none", "--json", "--probe", "work.threads", "--mode", "read-only")
    assert run.code == 0, run.errors
    file = tmp_path / "certificate.json"
    file.write_text(run.output)
    return file


def test_a_signed_certificate_is_verified_by_its_key_alone(signed, sandbox, home):
    content = json.loads(signed.read_text())
    assert stat.S_IMODE((home / "certify.key").stat().st_mode) == 0o600

    good = sandbox("verify", str(signed), "--public-key", content["public_key"])
    assert good.code == 0, good.errors
    assert "signed: none" in good.output
    assert "(a part of the probes only)" in good.output

    other = sandbox("verify", str(signed), "--public-key", "A" * 43 + "=")
    assert other.code == 1
    assert other.output == ""


@pytest.mark.parametrize("key", ["time", "passed", "summary", "probes", "signature"])
def test_a_change_is_noticed(signed, sandbox, key):
    content = json.loads(signed.read_text())
    content[key] = "x"
    signed.write_text(json.dumps(content))
    run = sandbox("verify", str(signed), "--public-key", content["public_key"])
    assert run.code == 1
    assert "was changed" in run.errors


def test_what_is_no_certificate_is_told(sandbox, tmp_path):
    file = tmp_path / "x.json"
    file.write_text("{}")
    run = sandbox("verify", str(file), "--public-key", "x")
    assert (run.code, "no certificate of" in run.errors) == (1, True)


def test_a_key_of_one_s_own_is_kept(sandbox, tmp_path):
    pytest.importorskip("cryptography")
    words = ("certify", "none", "--json", "--probe", "work.threads", "--mode", "read-only")
    keys = {
        sandbox(*words, "--key", str(tmp_path / "own.key")).certificate["public_key"]
        for _ in range(2)
    }
    assert len(keys) == 1
    assert "signature" not in sandbox(*words, "--unsigned").certificate
