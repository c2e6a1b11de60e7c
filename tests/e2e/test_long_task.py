"""A task of 300 calls over 9 compactions: nothing is lost, nothing is done twice."""

import json
from hashlib import sha256

import pytest

from ferrule_testkit.long_task import MARK, SETTINGS, LongTask, is_checkpoint, shared_bytes
from ferrule_testkit.model_items import function_call, message

TASK = LongTask(responses=100, window=11)
OVERFLOW = {"items": [], "failed": {"code": "context_length_exceeded", "message": "Too long."}}
REFUSED = {"status": 500, "body": {"error": {"message": "down"}}}
NOTHING = [message("")]
FAULTS = {
    "none": [],
    "overflows": [OVERFLOW],
    "fails with HTTP 500": [REFUSED],
    "returns nothing": [NOTHING],
}


def faulty(fault):
    """Summaries of which the second, the fourth and the fifth attempt do not come to one."""
    first, second, *others = TASK.summaries()
    return [first, *fault, second, *fault, *fault, *others]


@pytest.fixture
def long_run(model_server, ferrule_home, run_ferrule):
    """Run the task; returns the run and the bodies of its requests."""

    def run(checkpoints):
        provider = "request_max_retries = 0\nstream_max_retries = 0"
        ferrule_home.configure(top=SETTINGS, provider=provider)
        model_server.play(TASK.script(checkpoints))
        prompt = "Do all the steps.\nConstraint: never twice."
        done = run_ferrule("exec", "--json", prompt, timeout=500)
        return done, [request.body for request in model_server.requests]

    return run


def texts(body):
    """The texts of the messages of a request, whole."""
    messages = [item for item in body["input"] if item["type"] == "message"]
    return [part["text"] for item in messages for part in item["content"]]


def ledger_of(body):
    """The ledger a request begins with, None where its history was never shortened."""
    return next((text for text in texts(body) if text.startswith("<ledger>")), None)


def answered(bodies):
    """How many calls stood in the history before each request, compacted away or not."""
    seen = set()
    for body in bodies:
        seen |= {item["call_id"] for item in body["input"] if item["type"].endswith("_output")}
        yield set(seen)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_nothing_is_lost_and_nothing_is_done_twice(long_run, ferrule_home, fault):
    done, bodies = long_run(faulty(fault))

    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.items("agent_message")[-1]["text"] == "All steps are done."
    log = (ferrule_home.workspace / "steps.log").read_text().split()
    assert log == [f"step-{number}" for number in range(TASK.responses)]
    events = done.items("context_compaction")
    assert sum("error" not in event for event in events) >= 5
    check_ledgers(bodies, ferrule_home.workspace)
    check_shape(bodies)


def check_ledgers(bodies, workspace):
    """Every ledger names every call that is no longer in the history it begins."""
    for body, seen in zip(bodies, answered(bodies), strict=True):
        present = {item["call_id"] for item in body["input"] if "call_id" in item}
        gone = seen - present
        if not gone or is_checkpoint(body):  # which is trimmed where it did not fit
            continue
        ledger = ledger_of(body)
        assert "- Constraint: never twice." in ledger
        for call_id in gone:
            kind, number = call_id.split("_")
            if kind == "log":
                assert f"exit 0: /bin/bash -lc 'echo step-{number} >> steps.log'" in ledger
            else:
                path = workspace / f"part_{number}.txt"
                held = sha256(path.read_bytes()).hexdigest()[:12]
                assert f"- {path}: added, read (sha256 {held})\n" in ledger


def check_shape(bodies):
    """Each request begins with the bytes of the first; calls and outputs are in pairs."""
    prefix = json.dumps([bodies[0]["tools"], *bodies[0]["input"][:3]])
    for body in bodies:
        assert json.dumps([body["tools"], *body["input"][:3]]) == prefix
        calls = [i["call_id"] for i in body["input"] if i["type"].endswith("call")]
        outputs = [i["call_id"] for i in body["input"] if i["type"].endswith("output")]
        assert sorted(calls) == sorted(outputs)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_requests_begin_with_the_bytes_of_the_one_before(long_run):
    """Between two compactions a provider's cache of prefixes serves all that was sent before."""
    _, bodies = long_run(TASK.summaries())

    assert sum(map(is_checkpoint, bodies)) == TASK.compactions
    before = None
    for body, shares in zip(bodies, shared_bytes(bodies), strict=True):
        if before is not None and not is_checkpoint(before):
            assert body["input"][: len(before["input"])] == before["input"]
            assert shares.shared >= len(json.dumps([before["tools"], *before["input"]])) - 1
        before = body


@pytest.mark.timeout(300)
def test_a_resumed_thread_has_its_ledger_and_compacts_before_its_turn(
    model_server, ferrule_home, run_ferrule
):
    task = LongTask(responses=3, window=9)
    ferrule_home.configure(top=SETTINGS)
    script = task.script(task.summaries())
    script["turns"][-1]["usage"]["total_tokens"] = 200_000
    model_server.play(script)
    assert run_ferrule("exec", "--json", "Begin.").returncode == 0

    task_two = [[message("Still here.")]]
    model_server.play({"routes": script["routes"], "turns": task_two})
    done = run_ferrule("exec", "resume", "--last", "--json", "Go on.")

    assert [item["type"] for item in done.items()] == ["context_compaction", "agent_message"]
    last = model_server.requests[-1].body
    assert all(f"step-{number} >> steps.log" in ledger_of(last) for number in range(3))
    assert "Begin." in texts(last)
    assert texts(last)[-1] == "Go on."
    assert not [item for item in last["input"] if item["type"].endswith("call")]


@pytest.fixture
def hooked_run(model_server, ferrule_home, run_ferrule):
    """Run a short task whose compaction hooks of hooks.json write down; `before` is a program."""

    def run(before):
        ferrule_home.configure(top=SETTINGS)
        log = ferrule_home.workspace / "hooks.log"
        program = f"cat >> {log}; echo >> {log}"
        hooks = {
            "PreCompact": [{"hooks": [{"type": "command", "command": before or program}]}],
            "PostCompact": [{"hooks": [{"type": "command", "command": program}]}],
        }
        (ferrule_home.path / "hooks.json").write_text(json.dumps({"hooks": hooks}))
        task = LongTask(responses=2, window=2)
        model_server.play(task.script(task.summaries()))
        done = run_ferrule("exec", "--json", "--dangerously-bypass-hook-trust", "Do the steps.")
        assert done.returncode == 0, done.stderr
        lines = log.read_text().splitlines() if log.exists() else []
        return done, [json.loads(line) for line in lines if line]

    return run


def test_hooks_of_hooks_json_run_around_a_compaction(hooked_run):
    done, (before, after) = hooked_run("")

    assert len(done.items("context_compaction")) == 1
    assert (before["hook_event_name"], before["trigger"]) == ("PreCompact", "auto")
    assert after["hook_event_name"] == "PostCompact"
    assert after["compact_summary"].startswith("Note 0")


def test_a_hook_keeps_the_history(hooked_run):
    stop = json.dumps({"continue": False, "stopReason": "not now"})
    done, calls = hooked_run(f"echo '{stop}'")

    assert done.items("context_compaction") == []
    assert calls == []
    assert "not now" in done.items("error")[-1]["message"]


def test_a_prompt_that_does_not_fit_is_cut_and_its_turn_goes_on(
    model_server, ferrule_home, run_ferrule
):
    ferrule_home.configure(top=SETTINGS)
    routes = [{"contains": MARK, "turns": [OVERFLOW, [message("Nothing is done yet.")]]}]
    model_server.play({"routes": routes, "turns": [OVERFLOW, [message("It fits now.")]]})
    prompt = "Begin of it. " + "word " * 100_000 + "End of it."
    done = run_ferrule("exec", "--json", "-", stdin=prompt)

    assert done.items("agent_message")[-1]["text"] == "It fits now."
    whole, trimmed, shorter, last = [request.body for request in model_server.requests]
    assert prompt in str(whole["input"])
    assert all("tokens are left out here" in str(each["input"]) for each in (trimmed, shorter))
    (kept,) = [text for text in texts(last) if text.startswith("Begin of it.")]
    assert kept.endswith("End of it.")
    assert 70_000 < len(kept) < 90_000


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["responses", "chat", "anthropic"])
def test_every_provider_can_be_asked_for_a_summary(model_server, ferrule_home, run_ferrule, wire):
    ferrule_home.configure(top=SETTINGS, wire_api=wire)
    usage = {"input_tokens": 110_000, "output_tokens": 50, "total_tokens": 110_050}
    commands = [
        {"items": [function_call("exec_command", {"cmd": "echo one"}, call_id="one")]},
        [function_call("exec_command", {"cmd": "echo two"}, call_id="two")],
    ]
    commands[0]["usage"] = usage
    routes = [{"contains": MARK, "turns": [[message("One command was run.")]]}]
    model_server.play({"routes": routes, "turns": [*commands, [message("Both are done.")]]})
    done = run_ferrule("exec", "--json", "Run both.")

    types = [item["type"] for item in done.items()]
    command, *rest = types
    assert rest == ["context_compaction", command, "agent_message"]
    first, checkpoint, *_, last = [request.body for request in model_server.requests]
    assert checkpoint["tools"] == first["tools"]
    said = str(last.get("input") or last["messages"])
    assert "exit 0: /bin/bash -lc 'echo one'" in said
    assert "One command was run." in said
