"""The managed network of a session: one door per command, questions, records, and every end."""

import json
from pathlib import Path

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.egress import EgressFact, EgressQuestion, HostAccess
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.review import Amendment
from ferrule_hookspecs.sandbox import Command, Door

GRANULAR = (
    "{{ granular = {{ rules = {}, sandbox_approval = {},"
    " mcp_elicitations = true, request_permissions = true }} }}"
)
ACCESS = HostAccess("pypi.org", 443, "https")
QUESTION = EgressQuestion(
    ACCESS, "nobody has said anything about it", amendments=(Amendment("network_host", ("a", "b")),)
)


class OneDoor:
    def __init__(self, network, number):
        self.door = Door(4000 + number, lambda descriptor: None)
        self.environment = {"HTTPS_PROXY": f"door {number}"}
        self._network = network
        self._number = number

    def close(self):
        self._network.closed.append(self._number)


class Network:
    """Hands out numbered doors, and asks what it is told to ask."""

    def __init__(self):
        self.requests = []
        self.closed = []
        self.questions = []
        self.answers = []
        self.fault = None
        self.is_ended = False

    async def open(self, request):
        self.requests.append(request)
        if self.fault is not None:
            raise self.fault
        for question in self.questions:
            self.answers.append(await request.ask(question))
        return OneDoor(self, len(self.requests))

    async def aclose(self):
        self.is_ended = True


@pytest.fixture
def network(bench, stage):
    made = Network()
    stage.hooks["ferrule_egress"] = lambda context: made
    bench.configure('network.enabled = true\nplugins.disabled = ["network"]')
    return made


def command(*argv, id_="c1"):
    return call("command", json.dumps({"argv": argv}), id_)


def play(stage, *calls):
    stage.turns.extend([[*calls, DONE], [*say("ok"), DONE]])


def started(stage):
    """The commands of calls; a session also looks at the login shell, which has no door."""
    return [command for command in stage.commands if command.argv[0] in ("env", "sleep", "true")]


def network_decisions(bench):
    return [
        (p["outcome"]["decision"], p["outcome"]["reviewer"])
        for p in bench.of("item/decision")
        if p["phase"] == "network"
    ]


def test_each_command_gets_a_door_of_its_own_that_is_closed_at_its_end(bench, stage, network):
    play(stage, command("env"), command("env", id_="c2"))

    bench.turn()

    assert sorted(network.closed) == [1, 2]
    assert {request.call_id for request in network.requests} == {"c1", "c2"}
    assert network.requests[0].words == ("env",)
    for output in bench.outputs(stage).values():
        assert "HTTPS_PROXY=door" in output
        assert "SANDBOX_NETWORK_DISABLED" not in output
    assert [each.door.port for each in started(stage)] in ([4001, 4002], [4002, 4001])
    assert network.is_ended


@pytest.mark.parametrize("mode", ["danger-full-access", "workspace-write"])
def test_a_command_that_has_the_network_anyway_gets_no_door(bench, stage, network, mode):
    bench.set_key("sandbox_mode", f'"{mode}"')
    bench.set_key("sandbox_workspace_write", "{ network_access = true }")
    play(stage, command("true"))

    bench.turn()

    assert network.requests == []
    assert bench.items("dynamicToolCall")[0]["status"] == "completed"


def test_a_sandbox_without_doors_leaves_commands_without_network_and_says_so(bench, stage, network):
    stage.unenforced.add("door")
    play(stage, command("env"), command("env", id_="c2"))

    bench.turn()

    said = [p["message"] for p in bench.of("warning") if "managed proxy" in p["message"]]
    (text,) = said
    assert text.startswith("commands have no network: the sandbox staged cannot")
    assert "HTTPS_PROXY" not in bench.outputs(stage)["c1"]
    assert "CODEX_SANDBOX_NETWORK_DISABLED=1" in bench.outputs(stage)["c1"]
    assert {each.door for each in stage.commands} == {None}


def test_of_two_networks_none_is_taken(bench, stage, network):
    bench.configure("network.enabled = true")
    play(stage, command("env"))

    bench.turn()

    assert network.requests == []
    assert network.is_ended
    assert [p["message"] for p in bench.of("warning")] == [
        "commands have no network: network and staged both offer a managed one; disable one of them"
    ]


def test_a_network_that_cannot_open_keeps_the_command_from_starting(bench, stage, network):
    network.fault = FerruleError("the proxy is broken; mend it")
    play(stage, command("env"))

    bench.turn()

    assert started(stage) == []
    assert bench.items("dynamicToolCall")[0]["status"] == "failed"
    assert "the proxy is broken" in bench.outputs(stage)["c1"]


def test_the_door_of_a_program_that_cannot_be_started_is_closed(bench, stage, network):
    play(stage, command("/nowhere/at/all"))

    bench.turn()

    assert network.closed == [1]


def test_the_door_of_a_command_that_is_interrupted_is_closed(bench, stage, network):
    began = anyio.Event()
    stage.waiting.append(began)
    play(stage, command("sleep", "1000"))

    async def script(session):
        await bench.start(session)
        with anyio.fail_after(120):
            await began.wait()
        turn = bench.of("turn/started")[0]["turn"]["id"]
        params = {"threadId": session.thread["id"], "turnId": turn}
        await session.submit({"id": "2", "method": "turn/interrupt", "params": params})
        await bench.until("turn/completed")

    bench.run(script)

    assert network.closed == [1]


def test_a_command_outside_of_any_thread_gets_a_door_and_nobody_is_asked(bench, stage, network):
    async def main(kernel):
        config = kernel.config(ConfigRequest(cwd=str(bench.workspace)))
        sandbox = kernel.sandbox(config, str(bench.workspace))
        process = await sandbox.spawn(Command(("env",), str(bench.workspace), {"A": "b"}))
        output = await process.read()
        await process.wait()
        return output

    output = bench.host.run(main)

    assert b"HTTPS_PROXY=door 1" in output
    assert network.requests[0].ask is None
    assert network.closed == [1]
    assert network.is_ended


@pytest.mark.parametrize(
    ("decision", "accepted"), [("accept", True), ("acceptForSession", True), ("decline", False)]
)
def test_a_reviewer_decides_about_a_connection(bench, stage, network, decision, accepted):
    bench.set_key("approval_policy", '"on-request"')
    network.questions = [QUESTION]
    stage.reviews.append(decision)
    play(stage, command("env"))

    bench.turn()

    (request,) = stage.review_requests
    assert request.network == ACCESS
    assert request.call.arguments["argv"] == ("env",)
    assert request.amendments == QUESTION.amendments
    assert "pypi.org:443 by https: nobody has said anything" in request.reason
    assert network.answers[0].accepted is accepted
    assert network_decisions(bench) == [(decision, "staged")]
    assert bench.items("dynamicToolCall")[0]["status"] == "completed"


def test_what_is_accepted_for_the_session_is_not_asked_again(bench, stage, network):
    bench.set_key("approval_policy", '"on-request"')
    network.questions = [QUESTION]
    stage.reviews.append("acceptForSession")
    play(stage, command("env"), command("env", id_="c2"))

    bench.turn()

    assert len(stage.review_requests) == 1
    assert [answer.accepted for answer in network.answers] == [True, True]


def test_an_accepted_amendment_is_kept_and_holds_at_once(bench, stage, network):
    bench.set_key("approval_policy", '"on-request"')
    network.questions = [QUESTION, QUESTION]
    stage.reviews.append({"decision": "accept", "amendment": ["network_host", "a", "b"]})
    play(stage, command("env"))

    bench.turn()

    kept = [arguments for name, arguments in stage.hook_calls if name == "ferrule_amendment"]
    assert [arguments["amendment"] for arguments in kept] == list(QUESTION.amendments)
    assert len(stage.review_requests) == 1


@pytest.mark.parametrize(
    ("policy", "is_ruled"),
    [
        ('"never"', True),
        ('"never"', False),
        (GRANULAR.format("false", "true"), True),
        (GRANULAR.format("true", "false"), False),
    ],
)
def test_where_the_policy_does_not_allow_asking_the_answer_is_no(
    bench, stage, network, policy, is_ruled
):
    bench.set_key("approval_policy", policy)
    network.questions = [QUESTION._replace(is_ruled=is_ruled)]
    play(stage, command("env"))

    bench.turn()

    assert stage.review_requests == []
    assert not network.answers[0].accepted
    assert "does not allow asking" in network.answers[0].reason
    assert network_decisions(bench) == [("decline", "policy")]


def test_a_reviewer_that_cancels_ends_the_turn(bench, stage, network):
    bench.set_key("approval_policy", '"on-request"')
    network.questions = [QUESTION]
    stage.reviews.append("cancel")
    stage.turns.append([command("sleep", "1000"), DONE])

    bench.turn()

    assert bench.of("turn/completed")[0]["turn"]["status"] == "interrupted"
    assert bench.items("dynamicToolCall")[0]["status"] == "failed"


def test_once_the_turn_has_ended_nobody_is_asked_about_its_commands(bench, stage, network):
    bench.set_key("approval_policy", '"on-request"')
    play(stage, command("env"))
    answers = []

    async def script(session):
        await bench.start(session)
        await bench.until("turn/completed")
        answers.append(await network.requests[0].ask(QUESTION))

    bench.run(script)

    assert not answers[0].accepted
    assert "has ended" in answers[0].reason
    assert stage.review_requests == []


def test_what_was_allowed_and_refused_is_recorded_once(bench, stage, network):
    play(stage, command("env"))

    async def script(session):
        await bench.start(session)
        await bench.until("turn/completed")
        tell = network.requests[0].tell
        for _ in range(2):
            tell(EgressFact("allowed", ACCESS, "a rule allows it", "allow network host:pypi.org"))
            tell(EgressFact("closed", ACCESS, address="1.2.3.4", sent=5, received=7))
        tell(EgressFact("refused", None, "the request cannot be read"))

    session = bench.run(script)

    text = Path(session.thread["path"]).read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    found = [
        line["payload"] for line in lines if line["payload"].get("type") == "network_connection"
    ]
    assert [(one["kind"], one.get("host")) for one in found] == [
        ("allowed", "pypi.org"),
        ("refused", None),
    ]
    assert found[0]["call_id"] == "c1"
    assert found[0]["turn_id"] == bench.of("turn/started")[0]["turn"]["id"]
