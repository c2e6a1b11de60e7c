"""The cases recorded from Codex: answers of its check are equal, answers of a session stricter."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from ferrule_rules.answer import Answer

STRICTNESS = {"run": 0, "prompt": 1, "forbidden": 2, "error": 3}
ACCEPTED = {
    "reviewer_user": "a rule may name its reviewer",
    "e_seed_syntax": "plain lines are a language of rules, too",
}
"""Files that Codex refuses and Ferrule reads."""


def test_a_check_answers_as_recorded(check_case, policy):
    case = check_case
    if None in case["rules"]:
        pytest.skip("a missing file is a matter of the command line")
    rules = policy(*case["rules"])
    if case["rc"] == 1:
        assert bool(rules.flaws) != (case["rules_name"] in ACCEPTED)
        return
    answer = json.loads(Answer.of(case["argv"], rules, resolve=bool(case["flags"])).json())
    same = {key: answer[key] for key in ("matchedRules", "decision") if key in answer}
    assert same == case["answer"]


def test_a_session_decides_as_recorded_or_stricter(session_cases, make_session, tmp_path):
    differences = tomllib.loads(Path(__file__).with_name("differences.toml").read_text())
    listed = {tuple(case): entry for entry in differences["difference"] for case in entry["cases"]}
    found = set()
    for number, case in enumerate(session_cases):
        folder = tmp_path / str(number)
        got, wanted = decided(case, folder, make_session), case["answer"]["decision"]
        if got != wanted:
            key = (case["cmd"], wanted, got)
            found.add(key)
            is_looser = STRICTNESS[got] < STRICTNESS[wanted]
            assert not is_looser or listed.get(key, {}).get("less_strict"), key
    assert found - set(listed) == set(), "not listed"
    assert set(listed) - found == set(), "listed, but does not occur any more"


def decided(case, folder, make_session):
    """What the kernel makes of the hook's opinion."""
    from ferrule.approvals import may_ask

    (folder / "project").mkdir(parents=True)
    policy = case["approval_policy"]
    if policy.startswith("{"):
        policy = {
            "granular": {
                "sandbox_approval": "sandbox_approval=true" in policy,
                "rules": "rules=true" in policy,
                "mcp_elicitations": True,
            }
        }
    session = make_session(folder, policy, case["sandbox_mode"])
    if case["rules"]:
        session.rules(case["rules"])
    verdict = session.judge(case["cmd"], **case["args"])
    if verdict and verdict.decision == "deny":
        return "forbidden"
    if verdict and verdict.grants:
        return "run"
    kinds = ["sandbox_approval"] * (case["args"].get("sandbox_permissions") == "require_escalated")
    kinds += ["rules"] * bool(verdict and verdict.decision == "ask")
    if not kinds:
        return "run"
    return "prompt" if may_ask(policy, kinds) else "forbidden"


def test_no_recorded_evasion_gets_around_a_rule(evasion, judge):
    if evasion["rule"][-1] == "FORCE":
        found = judge(evasion["cmd"]).threats
        assert any(one.danger.refused_unasked for one in found) == evasion["should_match"]
        return
    rule = f"prefix_rule(pattern={json.dumps(evasion['rule'])}, decision='forbidden')"
    assert (judge(evasion["cmd"], rule).decision == "forbidden") == evasion["should_match"]
