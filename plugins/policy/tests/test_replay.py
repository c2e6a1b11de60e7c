"""Decisions of the past are made again, under the same policy or another one."""

import json
import shutil

import pytest

ALLOWED = "allow prefix echo\nprompt prefix touch\nforbidden prefix make\n"


def decisions(found):
    return [(one["recorded"]["decision"], one["now"]["decision"]) for one in found["decisions"]]


@pytest.mark.parametrize("approval", ["never", "on-request", "untrusted", "on-failure"])
@pytest.mark.parametrize("sandbox", ["workspace-write", "danger-full-access"])
def test_under_the_same_policy_every_verdict_is_identical(thread, rules, replay, approval, sandbox):
    rules(ALLOWED)
    options = ("-a", approval, "-s", sandbox)
    thread("echo one", "touch two", "make all", "ls", "rm -rf /etc", "x $(y", options=options)

    found = replay()

    assert found["recorded"] == 6
    assert found["identical"] == 6
    assert found["changed"] == 0


def test_calls_that_asked_to_leave_the_sandbox_are_identical(thread, rules, replay):
    rules(ALLOWED)
    asks = {"sandbox_permissions": "require_escalated", "justification": "why not"}
    thread("echo one", "uname", "make", options=("-a", "on-request"), **asks)

    found = replay()

    assert (found["recorded"], found["identical"]) == (3, 3)
    assert ("ask", "ask") in decisions(found)


NETWORK = {"network": {"enabled": True}}


def wanting(permissions):
    return {
        "sandbox_permissions": "with_additional_permissions",
        "additional_permissions": permissions,
        "justification": "to fetch",
    }


@pytest.mark.parametrize("approval", ["on-request", "never", "untrusted"])
def test_calls_that_wanted_more_than_the_sandbox_are_decided_again(thread, replay, rules, approval):
    more = (*("-a", approval), "-c", "features.exec_permission_approvals=true")
    thread("echo one", options=more, **wanting(NETWORK))
    never = rules("", "never", 'approval_policy = "never"\n')
    asking = rules("", "asking", 'approval_policy = "on-request"\n')
    open_ = rules("", "open", 'sandbox_mode = "danger-full-access"\napproval_policy = "never"\n')

    found = replay()

    assert (found["recorded"], found["identical"], found["changed"]) == (1, 1, 0)
    (shown,) = found["decisions"]
    assert shown["now"]["decision"] == ("deny" if approval == "never" else "ask")
    assert "use of the network" in shown["now"]["reason"]
    assert replay("--policy", never)["decisions"][0]["now"]["decision"] == "deny"
    assert replay("--policy", asking)["decisions"][0]["now"]["decision"] == "ask"
    assert replay("--policy", open_)["decisions"][0]["now"]["decision"] == "allow"


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_a_refused_connection_is_no_decision_about_its_command(thread, replay, rules, ferrule_home):
    ferrule_home.configure(tables='[network]\nenabled = true\nunknown = "ask"\n')
    command = "curl -s http://a.test/; echo $FERRULE_NETWORK_PROXY"
    told = thread(command, options=("-a", "never", "-s", "workspace-write"))

    found = replay()

    assert "c1:" in told.stdout
    assert (found["recorded"], found["identical"]) == (1, 1)


def test_a_place_that_nobody_may_grant_is_no_matter_of_policy(thread, replay, rules, ferrule_home):
    home = str(ferrule_home.path)
    more = ("-a", "on-request", "-c", "features.exec_permission_approvals=true")
    thread("echo one", options=more, **wanting({"file_system": {"write": [home]}}))
    asking = rules("", "asking", 'approval_policy = "on-request"\n')

    found = replay("--policy", asking)

    assert (found["decisions"], found["unjudged"]) == ([], 1)


def test_another_policy_changes_what_it_changes(thread, rules, replay):
    rules(ALLOWED)
    other = rules("forbidden prefix echo\n", "other")
    thread("echo one", "make all")

    found = replay("--policy", other)

    assert decisions(found) == [("allow", "deny"), ("deny", "allow")]
    assert found["changed"] == 2
    assert "forbidden prefix echo" in found["decisions"][0]["now"]["rule"]


def test_two_policies_are_compared_with_each_other(thread, rules, replay):
    first, second = rules("forbidden prefix echo\n", "a"), rules("prompt prefix echo\n", "b")
    thread("echo one", "pwd", options=("-a", "on-request"))

    found = replay("--policy", first, "--against", second)

    assert [one["changed"] for one in found["decisions"]] == [True, False]
    assert found["decisions"][0]["against"]["decision"] == "ask"
    assert (found["before"], found["after"]) == ({"ask": 1, "allow": 1}, {"deny": 1, "allow": 1})


def test_the_policys_own_approval_policy_counts(thread, rules, replay):
    strict = rules("", "strict", 'approval_policy = "untrusted"\n')
    thread("touch made-by-the-run")

    assert decisions(replay("--policy", strict)) == [("allow", "ask")]


def test_rules_that_decide_nothing_are_named(thread, rules, replay):
    rules(ALLOWED + "allow prefix never-run\n")
    thread("echo one", "make")

    found = replay()["coverage"]

    assert "allow prefix never-run" in found["unused"]
    assert found["used"]["forbidden prefix make"] == 1


def test_nothing_runs_and_nothing_is_written(
    thread, rules, ferrule_home, model_server, fingerprint
):
    other = rules("allow prefix echo\n", "other")
    thread("echo x >> made; echo y")
    requests, before = len(model_server.requests), fingerprint(ferrule_home.path.parent)

    finished = ferrule_home.run("policy", "replay", "--policy", other)

    assert finished.returncode == 0
    assert fingerprint(ferrule_home.path.parent) == before
    assert len(model_server.requests) == requests


def test_people_read_what_it_was_and_would_be(thread, rules, ferrule_home):
    rules(ALLOWED)
    thread("echo one", "make")
    other = rules("forbidden prefix echo because:'no echoes'\n", "other")

    finished = ferrule_home.run("policy", "replay", "--policy", other)

    assert "!   allow -> deny    echo one" in finished.stdout
    assert "2 decisions of 1 sessions, 2 changed" in finished.stdout


def test_sessions_are_chosen_by_name_number_and_date(thread, replay):
    thread("echo one")
    thread("echo two", "echo three")

    last = replay("--last", "1")
    assert (last["sessions"], len(last["decisions"])) == (1, 2)
    assert replay("--since", "2999-01-01")["sessions"] == 0
    assert len(replay(last["decisions"][0]["session"])["decisions"]) == 2
    assert replay()["sessions"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policy", "nowhere"], "is no folder"),
        (["--against", "."], "neither config.toml nor rules/"),
        (["--since", "yesterday"], "is no date"),
        (["nobody"], "there is no thread 'nobody'"),
        (["missing.jsonl"], "cannot be read"),
        (["x", "--last", "1"], "not both"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(ferrule_home, arguments, words):
    finished = ferrule_home.run("policy", "replay", *arguments)

    assert finished.returncode == 1
    assert words in finished.stderr
    assert len(finished.stderr.strip().splitlines()) == 1


def test_a_broken_configuration_is_an_error_that_names_the_place(thread, rules, ferrule_home):
    thread("echo one")
    broken = rules("", "broken", "approval_policy = = 1\n")

    finished = ferrule_home.run("policy", "replay", "--policy", broken)

    assert "config.toml" in finished.stdout + finished.stderr


def test_programs_of_hooks_do_not_run_again_and_what_they_said_counts(
    thread, rules, replay, ferrule_home
):
    rules(ALLOWED)
    log = ferrule_home.path.parent / "hook.log"
    guard = f"cat > /dev/null; echo ran >> {log}; echo no such thing >&2; exit 2"
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": guard}]}
    hooks = {"hooks": {"PreToolUse": [hook]}}
    (ferrule_home.path / "hooks.json").write_text(json.dumps(hooks))
    thread("echo one", options=("-c", "hooks.dangerously_bypass_trust=true"))
    ran = log.read_text()

    found = replay()

    assert decisions(found) == [("deny", "deny")]
    assert found["identical"] == 1
    assert found["leftOut"] == ["hooks"]
    assert log.read_text() == ran


def test_a_granular_policy_is_taken_from_the_turn(thread, rules, replay):
    rules(ALLOWED)
    granular = "{granular={sandbox_approval=true,rules=false,mcp_elicitations=false}}"
    reviewer = 'approvals_reviewer="command:x"'
    table = 'reviewers.command.x.command=["true"]'
    options = ("-c", f"approval_policy={granular}", "-c", reviewer, "-c", table)
    thread("touch two", "echo one", options=options)

    found = replay()

    assert (found["recorded"], found["identical"]) == (2, 2)
