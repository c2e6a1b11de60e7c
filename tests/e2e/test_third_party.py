"""A stranger's plugin works without a change to ours, and a bad one harms nobody.

Each case builds real wheels and installs them into a fresh environment with the lean set.
"""

import json
import tempfile

import anyio
import pytest

from ferrule_sdk import Ferrule
from ferrule_testkit.model_items import function_call, message

pytestmark = pytest.mark.timeout(600)
CERTIFIED = ("files.create", "protected.hook", "network.tcp", "work.write", "fidelity.exit_codes")


def outputs_of(server):
    return [
        item["output"]
        for item in server.requests[-1].body["input"]
        if item["type"].endswith("_output")
    ]


def test_the_lean_set_is_small_and_runs_a_turn(lean_environment, run_in, model_server):
    model_server.play([[function_call("exec_command", {"cmd": "echo hi"})], [message("done")]])

    finished = run_in(lean_environment, "exec", "--json", "go")

    assert finished.returncode == 0, finished.stderr
    assert finished.items("command_execution")[0]["aggregated_output"] == "hi\n"
    assert finished.items("error") == []  # commands that need more than the lean set are no fault
    assert len(lean_environment.installed()) <= 20


def test_a_stranger_s_tool_is_offered_checked_and_run(lean_environment, run_in, model_server):
    lean_environment.install("acme-ticket")
    model_server.play(
        [
            [function_call("acme_ticket", {"title": "leak"}, call_id="c1")],
            [function_call("acme_ticket", {"urgent": 7}, call_id="c2")],
            [message("done")],
        ]
    )

    finished = run_in(lean_environment, "exec", "--json", "go")

    assert finished.returncode == 0, finished.stderr
    assert "acme_ticket" in [tool.get("name") for tool in model_server.requests[0].body["tools"]]
    good, bad = outputs_of(model_server)
    assert good == "filed 'leak', urgent: False"
    assert bad.startswith("failed to parse function arguments")
    assert [item["status"] for item in finished.items("tool_call")] == ["completed", "failed"]


@pytest.mark.parametrize(("title", "accepted"), [("please run", True), ("run", False)])
def test_a_stranger_s_reviewer_decides(
    lean_environment, run_in, ferrule_home, model_server, title, accepted
):
    lean_environment.install("acme-reviewer")
    ferrule_home.configure(top='approvals_reviewer = "acme"')
    arguments = {
        "cmd": f"echo {title} > /opt/ferrule-escalated; rm -f /opt/ferrule-escalated; echo ran",
        "sandbox_permissions": "require_escalated",
        "justification": "to test",
    }
    model_server.play([[function_call("exec_command", arguments)], [message("done")]])

    finished = run_in(lean_environment, "exec", "--json", "-a", "on-request", "go")

    assert finished.returncode == 0, finished.stderr
    (output,) = outputs_of(model_server)
    assert ("ran" in output) is accepted
    assert accepted or "it was not asked nicely" in output


@pytest.mark.parametrize(("title", "accepted"), [("please run", True), ("run", False)])
def test_a_stranger_s_reviewer_replaces_the_guardian_through_the_app_server(
    lean_environment, ferrule_home, model_server, title, accepted
):
    lean_environment.install("acme-reviewer", "ferrule-app-server", "ferrule-reviewer-guardian")
    ferrule_home.configure(top='approvals_reviewer = "acme"')
    arguments = {"cmd": f"echo {title}; echo r''an", "sandbox_permissions": "require_escalated"}
    arguments["justification"] = "to test"
    model_server.play([[function_call("exec_command", arguments)], [message("done")]])
    asked = []

    async def turn():
        async with Ferrule(
            channel=[str(lean_environment.ferrule), "app-server"],
            environ=ferrule_home.environ,
            cwd=ferrule_home.workspace,
            approvals=asked.append,
        ) as f:
            thread = await f.thread(approval_policy="on-request")
            await thread.run("go")

    anyio.run(turn)

    (output,) = outputs_of(model_server)
    assert ("\nran" in output) is accepted
    assert accepted or "rejected by acme: it was not asked nicely" in output
    assert asked == []
    assert len(model_server.requests) == 2


@pytest.mark.parametrize(("title", "accepted"), [("please run", True), ("run", False)])
def test_a_stranger_s_reviewer_takes_part_in_a_panel(
    lean_environment, run_in, ferrule_home, model_server, title, accepted
):
    lean_environment.install("acme-reviewer", "ferrule-reviewer-panel", "ferrule-reviewer-command")
    ferrule_home.configure(
        top='approvals_reviewer = "panel"',
        tables='[reviewers.panel]\nmembers = ["acme", "command"]\n'
        "[reviewers.command]\n"
        """command = ["echo", '{"decision": "accept", "reason": "always"}']\n""",
    )
    arguments = {"cmd": f"echo {title}; echo r''an", "sandbox_permissions": "require_escalated"}
    arguments["justification"] = "to test"
    model_server.play([[function_call("exec_command", arguments)], [message("done")]])

    finished = run_in(lean_environment, "exec", "--json", "-a", "on-request", "go")

    assert finished.returncode == 0, finished.stderr
    (output,) = outputs_of(model_server)
    assert ("\nran" in output) is accepted
    assert accepted or "rejected by panel: acme: it was not asked nicely" in output


def test_a_stranger_s_sandbox_is_chosen_by_one_line(
    lean_environment, run_in, ferrule_home, model_server
):
    lean_environment.install("acme-sandbox")
    ferrule_home.configure(top='sandbox_backend = "acme"')
    model_server.play(
        [
            [function_call("exec_command", {"cmd": "echo in $ACME_SANDBOX", "login": False})],
            [message("done")],
        ]
    )

    finished = run_in(lean_environment, "exec", "--json", "go")

    (ran,) = finished.items("command_execution")
    assert ran["aggregated_output"] == "in workspace-write\n"


def test_a_stranger_s_provider_is_chosen_by_its_wire_name(lean_environment, run_in, ferrule_home):
    lean_environment.install("acme-provider")
    ferrule_home.configure(
        tables='[model_providers.echo]\nname = "Echo"\nwire_api = "acme_echo"\n'
        'settings = { greeting = "you said: " }\n'
    )

    finished = run_in(lean_environment, "exec", "--json", "-c", 'model_provider="echo"', "hello")

    assert finished.items("agent_message")[0]["text"] == "you said: hello", finished.stderr


def test_a_stranger_s_hooks_judge_observe_and_add_context(
    lean_environment, run_in, ferrule_home, model_server
):
    lean_environment.install("acme-hooks")
    model_server.play(
        [
            [
                function_call("exec_command", {"cmd": "cat secret"}, call_id="c1"),
                function_call("exec_command", {"cmd": "echo fine"}, call_id="c2"),
            ],
            [message("done")],
        ]
    )

    finished = run_in(lean_environment, "exec", "--json", "go")

    assert finished.returncode == 0, finished.stderr
    refused, ran = outputs_of(model_server)
    assert "ACME forbids secrets" in refused
    assert "fine" in ran
    assert "ACME house rule" in json.dumps(model_server.requests[0].body["input"])
    assert (ferrule_home.workspace / "turns.log").read_text() == "completed\n"


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("hostile-import", "hostile import"),
        ("hostile-raise", "hostile hook"),
        ("hostile-hang", "5"),
    ],
)
def test_a_hostile_plugin_leaves_the_session_alive_and_the_user_informed(
    lean_environment, run_in, model_server, package, told
):
    lean_environment.install(package)
    model_server.play([[function_call("exec_command", {"cmd": "echo alive"})], [message("done")]])

    finished = run_in(lean_environment, "exec", "--json", "go")

    assert finished.returncode == 0, finished.stderr
    assert finished.items("command_execution")[0]["aggregated_output"] == "alive\n"
    name = package.replace("-", "_")
    warnings = [item["message"] for item in finished.items("error") if name in item["message"]]
    assert len({warning for warning in warnings if told in warning}) >= 1
    assert finished.survivors == {}


def test_without_any_plugin_the_kernel_starts_and_says_what_is_missing(bare_environment, run_in):
    bare_environment.install("ferrule-core[commands]")

    listed = run_in(bare_environment, "plugins", "list")
    missing = run_in(bare_environment, "exec", "hello")
    word = run_in(bare_environment, "plugins", "new", "acme-ticket", "--kind", "tool")

    assert listed.returncode == 0, listed.stderr
    assert missing.returncode == 1
    assert "ferrule-exec" in missing.stderr
    assert (word.returncode, "part of ferrule-author; install it" in word.stderr) == (1, True)
    assert "Traceback" not in missing.stderr


def test_every_wheel_installs_together_and_the_whole_set_runs(
    bare_environment, run_in, model_server
):
    bare_environment.install("ferrule")
    model_server.play([[function_call("exec_command", {"cmd": "echo hi"})], [message("done")]])

    finished = run_in(bare_environment, "exec", "--json", "go")

    assert finished.returncode == 0, finished.stderr
    assert finished.items("agent_message")[0]["text"] == "done"


def test_a_stranger_s_sandbox_is_chosen_and_certified_by_the_kit(
    lean_environment, run_in, ferrule_home, model_server
):
    lean_environment.install("acme-box", "ferrule-certify")
    gaps = 'sandbox_accept_gaps = ["missing_names"]'
    ferrule_home.configure(top=f'sandbox_backend = "acme_box"\n{gaps}')
    model_server.play([[function_call("exec_command", {"cmd": "echo hi"})], [message("done")]])

    finished = run_in(lean_environment, "exec", "--json", "go")
    probes = [word for name in CERTIFIED for word in ("--probe", name)]
    with tempfile.TemporaryDirectory(prefix="fc", dir="/var/tmp") as stage:  # sockets: short paths
        words = ("certify", "acme_box", "--json", "--unsigned", "--stage", stage, *probes)
        examined = run_in(lean_environment, "sandbox", *words)

    assert finished.items("command_execution")[0]["aggregated_output"] == "hi\n", finished.stderr
    assert examined.returncode == 0, examined.stderr
    certificate = json.loads(examined.stdout)
    assert certificate["backend"]["distribution"] == "acme-box"
    assert {probe["verdict"] for probe in certificate["probes"]} == {"held", "works"}
