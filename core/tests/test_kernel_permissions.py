"""Permissions beyond the sandbox: asked for in words, granted exactly, gone in time."""

import json

import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule.permissions import widened
from ferrule_hookspecs.permissions import AdditionalPermissions
from ferrule_hookspecs.review import Verdict
from ferrule_hookspecs.sandbox import ResolvedPolicy


@pytest.fixture
def outside(bench):
    """A folder that the sandbox does not let be written."""
    folder = bench.folder / "outside"
    folder.mkdir()
    return folder


@pytest.fixture
def turns(bench, stage):
    """Run turns of one session; each is a list of calls, a tool and its arguments."""
    bench.set_key("approval_policy", '"on-request"')

    def run(*scripts, between=None):
        number = 0
        for script in scripts:
            for name, arguments in script:
                number += 1
                stage.turns.append([call(name, json.dumps(arguments), f"c{number}"), DONE])
            stage.turns.append([*say("ok"), DONE])

        async def main(session):
            for count, _ in enumerate(scripts, 1):
                params = between if between and count > 1 else {}
                await bench.start(session, **params)
                await bench.until("turn/completed", count)

        bench.run(main)
        return bench.outputs(stage)

    return run


def touch(path, **needs):
    return ("touch", {"path": str(path), **({"needs": needs} if needs else {})})


def ask(**needs):
    return ("grant", {"needs": needs})


def decisions(bench):
    return [(p["outcome"]["decision"], p["outcome"]["reviewer"]) for p in bench.of("item/decision")]


def test_a_granted_folder_may_be_written_in_that_call_only(turns, stage, outside):
    stage.reviews.append("accept")

    turns([touch(outside / "a", write=[str(outside)]), touch(outside / "b")])

    assert sorted(path.name for path in outside.iterdir()) == ["a"]


def test_the_question_says_in_words_what_is_granted(turns, stage, outside):
    stage.reviews.append("decline")

    turns([touch(outside / "a", network=True, write=[str(outside)])])

    (request,) = stage.review_requests
    assert request.reason == f"it must (grants use of the network, writing in {outside})"
    assert request.permissions == (True, (), (str(outside),))
    assert not request.escalation
    assert list(outside.iterdir()) == []


def test_nothing_else_is_widened(turns, stage, bench, outside):
    beside = bench.folder / "beside"
    beside.mkdir()
    stage.reviews.extend(["accept", "accept"])

    turns(
        [touch(beside / "a", write=[str(outside)]), touch(outside / ".git/hooks/x", network=True)]
    )

    assert list(beside.iterdir()) == []
    assert list(outside.iterdir()) == []


def test_what_is_protected_in_a_granted_folder_stays_so(turns, stage, outside):
    (outside / ".git" / "hooks").mkdir(parents=True)
    stage.reviews.append("accept")

    turns([touch(outside / ".git/hooks/pre-commit", write=[str(outside)])])

    assert list((outside / ".git" / "hooks").iterdir()) == []


@pytest.mark.parametrize("name", [".git", ".codex", ".git/hooks"])
def test_protected_places_cannot_be_granted(turns, stage, bench, outside, name):
    for root in (bench.workspace, outside):
        folder = root / name
        folder.mkdir(parents=True)
        (folder / "settled").touch()

    roots = (bench.workspace, outside)
    outputs = turns([touch(root / name / "x", write=[str(root / name)]) for root in roots])

    assert stage.review_requests == []
    assert all("protected" in output for output in outputs.values())


@pytest.mark.parametrize("place", ["/", "/proc/self", "/run", "HOME", "MISSING"])
def test_some_folders_can_be_granted_by_nobody(turns, stage, bench, place):
    names = {"HOME": str(bench.host.home), "MISSING": str(bench.folder / "missing")}

    outputs = turns([touch("/x", write=[names.get(place, place)])])

    assert stage.review_requests == []
    assert "cannot be granted" in outputs["c1"]


def test_a_link_is_asked_about_by_where_it_leads(turns, stage, bench, outside):
    (bench.workspace / "link").symlink_to(outside)
    stage.reviews.append("accept")

    turns([touch(outside / "a", write=[str(bench.workspace / "link")])])

    assert stage.review_requests[0].permissions.write == (str(outside),)
    assert (outside / "a").exists()


def test_a_link_that_is_turned_while_it_is_asked_about_grants_nothing(turns, stage, bench, outside):
    elsewhere = bench.folder / "elsewhere"
    elsewhere.mkdir()

    async def accept_and_turn(request, context):
        outside.rmdir()
        outside.symlink_to(elsewhere)
        return "accept"

    stage.reviews.append(accept_and_turn)
    turns([touch(elsewhere / "a", write=[str(outside)])])

    assert list(elsewhere.iterdir()) == []


def test_a_granted_path_that_has_become_a_link_is_no_writable_folder(bench, outside):
    link = bench.folder / "link"
    link.symlink_to(outside)
    policy = ResolvedPolicy("workspace-write", str(bench.workspace))

    for path, roots in ((link, []), (outside, [str(outside)])):
        granted = AdditionalPermissions(write=(str(path),))
        wider = widened(policy, granted, bench.host.home)
        assert [root.path for root in wider.writable_roots] == roots


def test_what_the_sandbox_allows_anyway_is_not_asked_for(turns, stage, bench):
    turns([touch(bench.workspace / "a", write=[str(bench.workspace)])])

    assert stage.review_requests == []
    assert (bench.workspace / "a").exists()


def test_credentials_may_be_read_only_where_they_are_named_as_a_whole(turns, stage, bench):
    secrets = bench.folder / ".ssh"
    secrets.mkdir()
    (secrets / "key").write_text("secret")
    stage.reviews.append("accept")

    outputs = turns(
        [
            ("peek", {"path": str(secrets / "key"), "needs": {"read": [str(bench.folder)]}}),
            ("peek", {"path": str(secrets / "key"), "needs": {"read": [str(secrets / "key")]}}),
            ("peek", {"path": str(secrets / "key"), "needs": {"read": [str(secrets)]}}),
            ("peek", {"path": str(secrets / "key")}),
        ]
    )

    assert "credentials" in outputs["c1"]
    assert f"name all of {secrets}" in outputs["c2"]
    assert outputs["c3"] == "secret"
    assert "credentials" in outputs["c4"]


@pytest.mark.parametrize("tool", ["touch", "grant"])
def test_never_refuses_with_words(turns, stage, bench, outside, tool):
    bench.set_key("approval_policy", '"never"')

    outputs = turns([(tool, {"path": str(outside / "a"), "needs": {"write": [str(outside)]}})])

    assert stage.review_requests == []
    assert f"writing in {outside}" in outputs["c1"]
    assert "'never' does not allow asking" in outputs["c1"]


@pytest.mark.parametrize(
    ("granular", "asked"),
    [
        ("sandbox_approval = true", ["touch"]),
        ("sandbox_approval = false", []),
        ("sandbox_approval = false, request_permissions = true", ["grant"]),
        ("sandbox_approval = true, request_permissions = true", ["touch", "grant"]),
    ],
)
def test_a_granular_policy_says_which_may_be_asked(turns, stage, bench, outside, granular, asked):
    granular = f"{{ granular = {{ {granular}, rules = true, mcp_elicitations = true }} }}"
    bench.set_key("approval_policy", granular)
    stage.reviews.extend(["decline", "decline"])

    turns([touch(outside / "a", write=[str(outside)]), ask(write=[str(outside)])])

    assert [request.call.tool for request in stage.review_requests] == asked


def test_a_standing_approval_of_the_call_grants_nothing_beyond_the_sandbox(
    turns, stage, bench, outside
):
    bench.set_key("policy_plugin", '"staged"')
    stage.hooks["ferrule_tool_before"] = Verdict("allow", grants=True)
    stage.reviews.append("decline")

    turns([touch(outside / "a", write=[str(outside)])])

    assert len(stage.review_requests) == 1
    assert list(outside.iterdir()) == []


def test_acceptance_for_the_session_covers_the_same_call_with_the_same_grants(
    turns, stage, bench, outside
):
    same = touch(outside / "a", write=[str(outside)])
    other = touch(outside / "a", write=[str(outside)], network=True)
    stage.reviews.extend(["acceptForSession", "decline"])

    turns([same], [same, other])

    assert [request.permissions.network for request in stage.review_requests] == [False, True]
    assert decisions(bench)[1] == ("accept", "session")


def test_a_grant_for_the_turn_ends_with_it(turns, stage, outside):
    stage.reviews.append("accept")

    turns([ask(write=[str(outside)]), touch(outside / "a")], [touch(outside / "b")])

    assert stage.review_requests[0].lasting
    assert sorted(path.name for path in outside.iterdir()) == ["a"]


def test_a_grant_for_the_session_goes_on(turns, stage, outside):
    stage.reviews.append("acceptForSession")

    turns(
        [ask(write=[str(outside)]), touch(outside / "a")],
        [touch(outside / "b"), ask(write=[str(outside)])],
    )

    assert sorted(path.name for path in outside.iterdir()) == ["a", "b"]
    assert len(stage.review_requests) == 1


def test_a_grant_does_not_outlive_the_choice_of_another_sandbox_policy(turns, stage, outside):
    stage.reviews.append("acceptForSession")

    turns(
        [ask(write=[str(outside)]), touch(outside / "a")],
        [touch(outside / "b")],
        between={"sandboxPolicy": {"type": "readOnly"}},
    )

    assert sorted(path.name for path in outside.iterdir()) == ["a"]


def test_a_refused_grant_grants_nothing(turns, stage, outside):
    stage.reviews.append("decline")

    outputs = turns([ask(write=[str(outside)]), touch(outside / "a")])

    assert "the stage says decline" in outputs["c1"]
    assert list(outside.iterdir()) == []


def test_in_read_only_mode_only_the_granted_folder_may_be_written(turns, stage, bench, outside):
    bench.set_key("sandbox_mode", '"read-only"')
    stage.reviews.extend(["accept", "accept"])

    turns(
        [
            touch(outside / "a", write=[str(outside)]),
            touch(bench.workspace / "a", write=[str(outside)]),
        ]
    )

    assert (outside / "a").exists()
    assert list(bench.workspace.iterdir()) == []


def test_writing_cannot_be_granted_where_the_administrator_allows_reading_only(
    bench, stage, turns, outside, rules
):
    bench.set_key("sandbox_mode", '"read-only"')
    rules('allowed_sandbox_modes = ["read-only"]')

    outputs = turns([touch(outside / "a", write=[str(outside)])])

    assert stage.review_requests == []
    assert "the administrator allows only read-only" in outputs["c1"]
