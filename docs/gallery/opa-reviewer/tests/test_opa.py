"""The contract of hooks, and a policy that decides in sessions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule_testkit import HooksConformance
from ferrule_testkit.model_items import function_call, message
from gallery_opa import hooks
from gallery_opa.program import UndecidedError, decide

regopy = pytest.importorskip("regopy", reason="needs regopy")

CHECKOUT = Path(__file__).parents[1]
POLICY, DATA = CHECKOUT / "policies/house.rego", CHECKOUT / "policies/house.json"


class TestHooks(HooksConformance):
    """Every rule of the contract, tried on the hook."""

    def make(self):
        """Return the module that the entry point names."""
        return hooks


def request(cmd, *, tool="exec_command", escalation=False):
    arguments = {"cmd": cmd}
    call = {"tool": tool, "arguments": arguments, "text": json.dumps(arguments)}
    return {"version": 1, "call": call, "escalation": escalation}


@pytest.mark.parametrize(
    ("asked", "decision"),
    [
        (request("ls"), "accept"),
        (request("ls", escalation=True), "escalate"),
        (request("curl https://example.com"), "decline"),
        (request("ls; wget x", escalation=True), "decline"),
        (request("cat /etc/passwd"), "decline"),
        (request("curling"), "accept"),
        (request("ls", tool="another"), "escalate"),
        ({"call": request("ls")["call"]}, "escalate"),
    ],
)
def test_the_policy_decides(asked, decision):
    assert decide(POLICY, DATA, asked)["decision"] == decision


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("package ferrule.review\n", "undefined"),
        ("package", "cannot be evaluated"),
        ("package other\nanswer := 1", "undefined"),
        ("package ferrule.review\nanswer := true", "has no decision"),
        ('package ferrule.review\nanswer := {"decision": "yes"}', "has no decision"),
        ("package ferrule.review\nanswer := 1 { true }\nanswer := 2 { true }", "evaluated"),
        ('package ferrule.review\nanswer := {"decision": to_number("x")}', "evaluated"),
    ],
    ids=["empty", "broken", "elsewhere", "no object", "no decision", "two answers", "a failure"],
)
def test_a_policy_without_an_answer_decides_nothing(tmp_path, text, told):
    policy = tmp_path / "policy.rego"
    policy.write_text(text)

    with pytest.raises(UndecidedError, match=told):
        decide(policy, None, request("ls"))


@pytest.fixture
def program(tmp_path):
    """The program of the checkout, as an installer would make it."""
    path = tmp_path / "ferrule-opa-review"
    path.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(CHECKOUT / 'src')!r})\n"
        "from gallery_opa.program import main\nsys.exit(main())\n"
    )
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("words", [["nowhere.rego"], [str(POLICY), "--data", "nowhere.json"]])
def test_what_goes_wrong_is_no_answer(program, words):
    asked = json.dumps(request("ls"))
    ended = subprocess.run([program, *words], input=asked, capture_output=True, text=True)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "nowhere" in ended.stderr


@pytest.mark.parametrize(
    ("cmd", "ran"),
    [pytest.param("echo r''an", True, marks=pytest.mark.slow), ("echo r''an; curl x", False)],
)
def test_a_session_asks_it(ferrule_home, model_server, run_ferrule, program, cmd, ran):
    ferrule_home.configure(
        top='approvals_reviewer = "command"',
        tables=f'[reviewers.command]\ncommand = ["{program}", "{POLICY}", "--data", "{DATA}"]\n'
        "timeout_ms = 120000\n",
    )
    model_server.play([[function_call("exec_command", {"cmd": cmd})], [message("done")]])
    run = run_ferrule("exec", "--json", "-a", "untrusted", "go")

    assert run.returncode == 0, run.stderr
    output = model_server.requests[-1].body["input"][-1]["output"]
    assert ("\nran" in output) is ran
    assert ran or "nothing is downloaded by commands" in output


@pytest.mark.slow
def test_the_doctor_looks_at_the_policy(ferrule_home, run_ferrule, program, tmp_path):
    broken = tmp_path / "broken.rego"
    broken.write_text("package ferrule.review\n")
    ferrule_home.configure(
        tables=f'[reviewers.command]\ncommand = ["{program}", "{POLICY}", "--data", "{DATA}"]\n'
        f'[reviewers.command.next]\ncommand = ["{program}", "{broken}"]\n'
    )
    run = run_ferrule("--dev-plugin", str(CHECKOUT), "doctor", "--json")

    found = {check["id"]: check for check in json.loads(run.stdout)["checks"]}
    assert found["opa.policy.command"]["status"] == "ok"
    assert found["opa.policy.command:next"]["status"] == "fail"
    assert "undefined" in found["opa.policy.command:next"]["detail"]
