"""What the guardian leaves open goes to a person where a client answers for one."""

import anyio
import pytest

from ferrule.host import LocalHost
from ferrule_hookspecs.host import ConfigRequest, ThreadOptions
from ferrule_testkit.model_items import function_call, message

from .conftest import verdict

OVERRIDES = ('approvals_reviewer="auto_review"', 'approval_policy="on-request"')


@pytest.fixture
def asked(ferrule_home, model_server, tmp_path):
    """Run a turn whose review ends somehow, with a client that answers; returns all it was told."""
    target = tmp_path / "file.txt"

    def run(review, answer, *overrides):
        arguments = {"cmd": f"echo hi > {target}", "sandbox_permissions": "require_escalated"}
        turns = [[function_call("exec_command", arguments)], [message("done")]]
        model_server.play(
            {"turns": turns, "routes": [{"contains": "guardian:", "turns": [review]}]}
        )
        events = []

        async def main(kernel):
            cwd = str(ferrule_home.workspace)
            config = kernel.config(ConfigRequest(cwd=cwd, overrides=(*OVERRIDES, *overrides)))
            session = await kernel.threads.start(ThreadOptions(config, cwd, can_answer=True))
            content = [{"type": "text", "text": "write the file"}]
            params = {"threadId": session.thread["id"], "input": content}
            await session.submit({"id": "1", "method": "turn/start", "params": params})
            with anyio.fail_after(120):
                await _serve(session, answer, events)
            await session.close()

        LocalHost(ferrule_home.path, ferrule_home.environ).run(main)
        return events, target

    return run


async def _serve(session, answer, events):
    async for event in session.events():
        events.append(event)
        if event["method"].endswith("/requestApproval"):
            params = {
                "threadId": session.thread["id"],
                "requestId": event["id"],
                "result": {"decision": answer},
            }
            await session.submit({"id": "2", "method": "serverRequest/answer", "params": params})
        if event["method"] == "turn/completed":
            return


def _of(events, method):
    return [event["params"] for event in events if event["method"] == method]


QUESTION = "item/commandExecution/requestApproval"
OPEN = [
    pytest.param([message(verdict("allow", "critical"))], (), id="critical"),
    pytest.param([message(verdict("escalate"))], (), id="escalate"),
    pytest.param([message("no verdict")], (), id="garbage"),
    pytest.param({"status": 403}, (), id="403"),
    pytest.param({"hang": True}, ("auto_review.timeout_ms=300",), id="slow"),
]


@pytest.mark.parametrize(("review", "overrides"), OPEN)
@pytest.mark.parametrize("answer", ["accept", "decline"])
def test_the_person_decides_what_is_left_open(asked, review, overrides, answer):
    events, target = asked(review, answer, *overrides)

    assert target.exists() is (answer == "accept")
    (question,) = _of(events, QUESTION)
    assert "left it open" in question["reason"]
    (decision,) = [p for p in _of(events, "item/decision") if p["phase"] == "review"]
    assert decision["outcome"]["reviewer"] == "user"
    assert _of(events, "item/autoApprovalReview/completed")


@pytest.mark.parametrize("outcome", ["allow", "deny"])
def test_nobody_is_bothered_with_what_is_decided(asked, outcome):
    events, target = asked([message(verdict(outcome))], "accept")

    assert target.exists() is (outcome == "allow")
    assert not _of(events, QUESTION)
