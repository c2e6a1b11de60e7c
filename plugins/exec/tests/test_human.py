"""What people see: progress on stderr, the last message alone on stdout."""

from __future__ import annotations

import pytest

from ferrule_exec.human import HumanOutput, sandbox_line, wants_color
from ferrule_exec.stream import Stream


@pytest.fixture
def streams(written):
    return written("stdout"), written("stderr")


@pytest.fixture
def output(streams):
    stdout, stderr = streams
    return HumanOutput(stdout.stream, stderr.stream, version="0.1.0")


def test_header_message_and_tokens(output, streams, session, event, outcome):
    output.opened(session, "say hello")
    output.happened(event.completed({"type": "agentMessage", "id": "m", "text": "done"}))
    output.ended(outcome())
    stdout, stderr = streams
    assert stdout.text == "done\n"
    assert stderr.text == (
        "Ferrule v0.1.0\n--------\nworkdir: /work\nmodel: big\nprovider: mock\napproval: never\n"
        "sandbox: workspace-write [workdir, /tmp, $TMPDIR, /extra] (network access enabled)\n"
        "reasoning effort: default\nreasoning summaries: none\nsession id: thread-1\n--------\n"
        "user\nsay hello\nferrule\ndone\ntokens used\n60\n"
    )


def command(id_, **more):
    return {
        "type": "commandExecution",
        "id": id_,
        "command": f"run {id_}",
        "cwd": "/work",
        "status": "completed",
        "durationMs": 7,
        "aggregatedOutput": f"out {id_}\n",
        **more,
    }


def test_a_command_that_ends_after_another_began_is_named_again(output, streams, event):
    output.happened(event.started(command("a")))
    output.happened(event.started(command("b")))
    output.happened(event.completed(command("a")))
    output.happened(event.completed(command("b", status="failed", exitCode=3)))
    assert streams[1].text == (
        "exec\nrun a in /work\nexec\nrun b in /work\n"
        "exec\nrun a in /work\n succeeded in 7ms:\nout a\n\n"
        "exec\nrun b in /work\n exited 3 in 7ms:\nout b\n\n"
    )


def test_a_command_that_never_ran_has_no_exit_code(output, streams, event):
    output.happened(event.started(command("a")))
    output.happened(event.completed(command("a", status="failed", exitCode=None)))
    assert " failed:\nout a" in streams[1].text


@pytest.mark.parametrize(
    "ended", [{"status": "failed", "error": "HTTP 500"}, {"status": "failed"}], ids=len
)
def test_a_compaction_that_came_to_nothing_is_not_told_as_one(output, streams, event, ended):
    output.happened(event.completed({"type": "contextCompaction", "id": "c", **ended}))
    assert streams[1].text == ""

    output.happened(event.completed({"type": "contextCompaction", "id": "c"}))
    assert "the history was shortened" in streams[1].text


def test_the_error_of_a_turn_is_shown_once(output, streams, event, outcome):
    output.happened(event("error", error={"message": "no route"}, willRetry=False))
    output.ended(outcome("failed", "no route"))
    assert streams[1].text == "ERROR: no route\n"
    assert streams[0].text == ""


def test_the_plan_shows_its_steps(output, streams, event):
    steps = [
        {"step": "one", "status": "completed"},
        {"step": "two", "status": "inProgress"},
        {"step": "three", "status": "pending"},
    ]
    output.happened(event("turn/plan/updated", explanation="why", plan=steps))
    assert streams[1].text == "why\n  ✓ one\n  → two\n  • three\n"


def test_colours_follow_the_option_then_the_terminal_and_no_color(written):
    stderr = written("stderr").stream
    assert wants_color("always", stderr, {"NO_COLOR": "1"})
    assert not wants_color("never", stderr, {})
    assert not wants_color("auto", stderr, {})


@pytest.mark.parametrize(
    ("mode", "policy", "line"),
    [
        ("danger-full-access", {"type": "dangerFullAccess"}, "danger-full-access"),
        ("read-only", {"type": "readOnly"}, "read-only"),
        (
            "external-sandbox",
            {"type": "externalSandbox", "networkAccess": "enabled"},
            "external-sandbox (network access enabled)",
        ),
        (
            "workspace-write",
            {
                "type": "workspaceWrite",
                "excludeSlashTmp": True,
                "excludeTmpdirEnvVar": True,
                "writableRoots": ["/more"],
            },
            "workspace-write [workdir, /more, /extra]",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_commands_may_do_in_one_line(session, mode, policy, line):
    session.facts.sandbox_mode, session.facts.sandbox_policy = mode, policy
    assert sandbox_line(session.facts) == line


def test_a_reader_that_has_gone_ends_the_output_quietly():
    import os

    reader, writer = os.pipe()
    os.close(reader)
    stream = Stream(writer)
    stream.write("x")
    stream.write("y")
    os.close(writer)
    assert stream.is_broken
