"""`compactor = "remote"`: the provider shortens the history, or says no and a summary does."""

import pytest

from ferrule_testkit.model_items import function_call, message

SEALED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"}
MARK = "Sum it up."
REFUSED = {"status": 400, "body": {"error": {"message": "no such item"}}}


@pytest.fixture
def remote_run(model_server, ferrule_home, run_ferrule):
    """Run a turn that is compacted after its call, with answers to the trigger."""

    def run(*triggered):
        ferrule_home.configure(
            top=f'compactor = "remote"\ncompact_prompt = "{MARK}"\n'
            "model_auto_compact_token_limit = 8000"
        )
        call = function_call("exec_command", {"cmd": "echo one"})
        usage = {"input_tokens": 8_990, "output_tokens": 10, "total_tokens": 9_000}
        routes = [
            {"contains": "compaction_trigger", "turns": list(triggered)},
            {"contains": MARK, "turns": [[message("One command was run.")]]},
        ]
        turns = [{"items": [call], "usage": usage}, *triggered[1:], [message("done")]]
        model_server.play({"routes": routes, "turns": turns})
        return run_ferrule("exec", "--json", "Do it.")

    return run


def types(request):
    return [item["type"] for item in request.body["input"]]


def test_the_sealed_history_is_sent_back_from_then_on(model_server, remote_run):
    done = remote_run([SEALED])

    assert done.returncode == 0
    _, trigger, last = model_server.requests
    assert types(trigger)[-1] == "compaction_trigger"
    assert last.body["input"][-1] == SEALED
    assert "function_call" not in types(last)
    assert "exit 0: /bin/bash -lc 'echo one'" in str(last.body["input"])
    assert last.body["input"][:3] == trigger.body["input"][:3]


def test_a_provider_that_refuses_is_told_of_and_the_model_sums_up(model_server, remote_run):
    done = remote_run(REFUSED, REFUSED)

    assert done.returncode == 0
    (warning,) = [item["message"] for item in done.items("error")]
    assert "did not shorten the history itself: no such item" in warning
    paths = [request.path for request in model_server.requests]
    assert paths.count("/v1/responses/compact") == 1
    assert "One command was run." in str(model_server.requests[-1].body["input"][-1])
