"""The command line: options anywhere, sub-commands, and what is refused."""

from __future__ import annotations

import os

import pytest

from ferrule_exec.arguments import help_text, parse
from ferrule_exec.command import command
from ferrule_hookspecs.command_line import UsageError


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["say hello"], ("start", None, "say hello")),
        ([], ("start", None, None)),
        ([""], ("start", None, "")),
        (["-"], ("start", None, "-")),
        (["resume", "ID"], ("resume", "ID", None)),
        (["resume", "ID", "-"], ("resume", "ID", "-")),
        (["--json", "resume", "ID", "go on", "-m", "x"], ("resume", "ID", "go on")),
        (["resume", "--last", "go on"], ("resume", None, "go on")),
        (["fork", "ID"], ("fork", "ID", None)),
        (["fork", "ID", "go on"], ("fork", "ID", "go on")),
        (["--", "resume"], ("start", None, "resume")),
        (["--json", "--", "--json"], ("start", None, "--json")),
        (["- a list item"], ("start", None, "- a list item")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_a_command_line_asks_for(argv, expected):
    arguments = parse(argv)
    assert (arguments.action, arguments.target, arguments.prompt) == expected


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["-s", "nope", "x"], "'nope'"),
        (["--color", "nope", "x"], "'nope'"),
        (["--no-such-option", "x"], "'--no-such-option'"),
        (["two", "prompts"], "'prompts'"),
        (["resume"], "--last"),
        (["fork"], "id"),
        (["review", "two", "prompts"], "'prompts'"),
        (["review", "--uncommitted", "--base", "main"], "--uncommitted and --base were given"),
        (["review", "--commit", "abc", "look"], "--commit and a prompt were given"),
        (["review", "--title", "T", "--uncommitted"], "--title names the commit"),
        (["review", "--uncommitted", "--output-schema", "x"], "--output-schema cannot be used"),
        (["--base", "main", "x"], "--base belongs to 'review'"),
        (["resume", "id", "--commit", "a", "--title", "b"], "--commit and --title belong"),
        (["--last", "x"], "resume"),
        (["--yolo", "-s", "read-only", "x"], "--sandbox"),
        (["-m"], "--model"),
        (["--approve-for-me", "-s", "read-only", "x"], "excludes --sandbox"),
        (["--approve-for-me", "-a", "never", "x"], "excludes --ask-for-approval"),
        (["--approve-for-me", "--yolo", "x"], "excludes --dangerously-bypass"),
        (["--approve-for-me", "-c", "approval_policy=never", "x"], "-c approval_policy"),
        (["--approve-for-me", "-c", "approval_policy.granular={}", "x"], "-c approval_policy"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_what_is_refused_names_the_culprit(argv, named):
    with pytest.raises(UsageError, match=named):
        parse(argv)


def test_images_take_all_that_follows_up_to_two_dashes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = parse(["-i", "a.png", "/b.png", "--image", "c.png,d.png", "--", "look"])
    assert arguments.images == tuple(
        os.path.join(tmp_path, name) for name in ("a.png", "/b.png", "c.png", "d.png")
    )
    assert arguments.prompt == "look"


def test_a_comma_may_be_part_of_an_existing_image_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b.png").touch()
    assert parse(["-i", "a,b.png", "--", "look"]).images == (str(tmp_path / "a,b.png"),)


def test_dedicated_flags_become_configuration_values():
    arguments = parse(
        [
            "-m",
            "big",
            "-s",
            "read-only",
            "-a",
            "on-request",
            "--enable",
            "x",
            "--disable",
            "y",
            "-c",
            "k=1",
            "-c",
            "k=2",
            "prompt",
        ]
    )
    assert arguments.flags == {
        "model": "big",
        "sandbox_mode": "read-only",
        "approval_policy": "on-request",
        "features.x": True,
        "features.y": False,
    }
    assert arguments.overrides == ("k=1", "k=2")
    assert arguments.approval_given


def test_bypassing_turns_off_sandbox_and_questions():
    assert parse(["--yolo", "x"]).flags == {
        "sandbox_mode": "danger-full-access",
        "approval_policy": "never",
    }


def test_what_the_typescript_sdk_passes_is_understood():
    arguments = parse(
        [
            *[
                "exec",
                "--experimental-json",
                "--config",
                "a=1",
                "--model",
                "m",
                "--sandbox",
                "read-only",
                "--cd",
                "/",
            ][1:],
            *["--add-dir", "/x", "--skip-git-repo-check", "--output-schema", "/s.json"],
            *("--config", 'model_reasoning_effort="high"', "resume", "ID", "--image", "/p.png"),
        ]
    )
    assert (arguments.json, arguments.target, arguments.prompt) == (True, "ID", None)
    assert arguments.images == ("/p.png",)


def test_help_names_every_option_and_completion_knows_them():
    text = help_text()
    assert all(option in text for option in command.options)
    assert parse(["resume", "-h"]) is None


def test_approve_for_me_says_when_to_ask_whom_and_in_which_sandbox():
    arguments = parse(["--approve-for-me", "-c", "auto_review.timeout_ms=1000", "x"])
    assert arguments.approval_given
    assert dict(arguments.flags) == {
        "sandbox_mode": "workspace-write",
        "approval_policy": "on-request",
        "approvals_reviewer": "auto_review",
    }
