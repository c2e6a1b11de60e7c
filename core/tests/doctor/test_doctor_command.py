"""The command itself: what it prints, what it leaves out, how it ends."""

import os
import pty
import re
import subprocess

import pytest

from ferrule.doctor.meanings import MEANINGS

QUIET = ("--no-network", "--only", "home", "git", "machine")


def test_a_sound_home_fails_nothing(doctor, ferrule_home):
    ferrule_home.path.chmod(0o700)

    report = doctor("--no-network")

    assert report.returncode == 0, report.text
    assert report.document["schemaVersion"] == 1
    assert report.document["summary"]["fail"] == 0
    assert sum(report.document["summary"].values()) == len(report.ids)
    assert report.ids == sorted(report.ids)
    assert report["git.version"].keys() == {
        *("id", "category", "status", "detail", "mend", "durationMs", "plugin")
    }
    assert report["search.ripgrep"]["plugin"] == "files"


def test_every_check_is_documented(doctor):
    known = {re.sub("[A-Z]+", "[a-z_.]+", key) for key in MEANINGS}
    report = doctor("--no-network")

    own = [check["id"] for check in report.document["checks"] if not check["plugin"]]
    assert [each for each in own if not any(re.fullmatch(k, each) for k in known)] == []


def test_only_what_is_asked_for_is_looked_at(doctor):
    report = doctor("--only", "git", "home.space")

    assert {check["category"] for check in report.document["checks"]} == {"git", "home"}
    assert report["home.space"]["status"] == "ok"
    assert "home.folder" not in report.ids


def test_a_category_nobody_knows_is_an_error(run_ferrule):
    ran = run_ferrule("doctor", "--only", "gti")

    assert ran.returncode == 1
    assert "no check or category is named 'gti'; did you mean 'git'?" in ran.stderr


def test_a_folder_that_is_not_there_is_an_error(run_ferrule):
    ran = run_ferrule("doctor", "-C", "/nowhere/at/all")

    assert ran.returncode == 1
    assert "there is no folder /nowhere/at/all" in ran.stderr


def test_what_is_to_be_looked_at_fails_a_strict_run_only(doctor, ferrule_home):
    ferrule_home.path.chmod(0o755)

    assert doctor(*QUIET).returncode == 0
    assert doctor(*QUIET, "--strict").returncode == 1


def test_people_read_marks_and_mends_without_colours(run_ferrule, ferrule_home):
    ferrule_home.path.chmod(0o777)

    ran = run_ferrule("doctor", *QUIET, environ={"PYTHONUTF8": "1", "NO_COLOR": ""})

    assert ran.returncode == 1
    assert "\x1b" not in ran.stdout
    assert f"    → chmod go-w {ferrule_home.path}" in ran.stdout
    assert re.search(r"^home$", ran.stdout, re.MULTILINE)
    assert re.search(r"^\d+ checks: \d+ ok, 1 failed$", ran.stdout, re.MULTILINE), ran.stdout


def test_ascii_terminals_get_ascii_marks(run_ferrule):
    ran = run_ferrule("doctor", *QUIET, environ={"PYTHONIOENCODING": "ascii"})

    assert "  ok version: git version" in ran.stdout
    assert ran.stdout.isascii()


def test_skipped_checks_and_times_are_shown_on_demand(run_ferrule):
    short = run_ferrule("doctor", "--no-network", "--only", "provider")
    full = run_ferrule("doctor", "--no-network", "--only", "provider", "--all")

    assert "--no-network" not in short.stdout
    assert re.search(r"reachable: --no-network \([\d.]+ ms\)", full.stdout)


@pytest.mark.parametrize(("no_color", "has_colour"), [("", True), ("1", False)])
def test_a_terminal_gets_colours_unless_nobody_wants_them(ferrule_home, no_color, has_colour):
    ours, theirs = pty.openpty()
    environ = {**ferrule_home.environ, "NO_COLOR": no_color, "TERM": "xterm"}
    with subprocess.Popen(
        ferrule_home.command(["doctor", "--only", "git"]),
        stdout=theirs,
        env=environ,
        cwd=ferrule_home.workspace,
    ) as process:
        os.close(theirs)
        output = b""
        while chunk := _read(ours):
            output += chunk
        process.wait()
    os.close(ours)

    assert (b"\x1b[32m" in output) is has_colour


def _read(descriptor):
    try:
        return os.read(descriptor, 4096)
    except OSError:  # the other side was closed
        return b""
