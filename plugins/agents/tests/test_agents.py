"""Agents as a model uses them, in `ferrule exec`."""

import base64
import json
import math


def collab_calls(run):
    return [(item["tool"], item["status"]) for item in run.items("collab_tool_call")]


def test_an_agent_works_on_its_task_and_its_report_is_read(play, say):
    play.script(
        [say.spawn("TASK-A")],
        [say.wait()],
        [say.text("all done")],
        **{"TASK-A": [[say.text("found it")]]},
    )

    run = play.run()

    assert run.returncode == 0, run.stderr
    spawned = json.loads(play.answer("call_spawn"))
    states = {spawned["agent_id"]: {"completed": "found it"}}
    assert json.loads(play.answer("call_wait")) == {"status": states, "timed_out": False}
    assert play.told() == [{"agent_id": spawned["agent_id"], "status": {"completed": "found it"}}]
    assert collab_calls(run) == [("spawn_agent", "completed"), ("wait", "completed")]
    assert not run.survivors


def test_an_agent_is_told_what_it_is_and_cannot_start_others_by_default(play, say):
    play.script(
        [say.spawn("TASK-A", agent_type="explorer", reasoning_effort="low")],
        [say.wait()],
        [say.text("ok")],
        **{"TASK-A": [[say.spawn("more", call_id="call_more")], [say.text("ok")]]},
    )
    play.run()

    first, second = (request.body for request in play.of("TASK-A"))
    assert "find something out" in json.dumps(first["input"][1])
    assert first["reasoning"]["effort"] == "low"
    assert second["input"][-1]["output"] == "unsupported call: spawn_agent"


def test_agents_may_start_agents_as_deep_as_the_configuration_says(play, say):
    play.configure(tables="[agents]\nmax_depth = 2\n")
    play.script(
        [say.spawn("TASK-A")],
        [say.wait()],
        [say.text("ok")],
        **{
            "TASK-A": [
                [say.spawn("TASK-B", call_id="b")],
                [say.wait(call_id="wait_b")],
                [say.text("A")],
            ],
            "TASK-B": [[say.spawn("TASK-C", call_id="c")], [say.text("B")]],
        },
    )
    play.run()

    assert play.answer("c") == "unsupported call: spawn_agent"
    assert list(json.loads(play.answer("call_wait"))["status"].values()) == [{"completed": "A"}]


def test_one_agent_too_many_is_refused_with_what_to_do(play, say):
    play.configure(tables="[agents]\nmax_threads = 1\n")
    play.script(
        [say.spawn("TASK-A")],
        [say.wait()],
        [say.spawn("TASK-B", call_id="second")],
        [say.call("close_agent", {"target": say.AGENT_ID}, call_id="close")],
        [say.spawn("TASK-C", call_id="third")],
        [say.wait(call_id="again")],
        [say.text("ok")],
        **{"TASK-A": [[say.text("A")]], "TASK-C": [[say.text("C")]]},
    )
    run = play.run()

    assert "agent thread limit reached: 1 agents are open" in play.answer("second")
    assert json.loads(play.answer("close")) == {"previous_status": {"completed": "A"}}
    assert "agent_id" in play.answer("third")
    assert ("spawn_agent", "failed") in collab_calls(run)


def test_an_agent_goes_on_with_more_input_and_after_it_was_closed(play, say):
    target = {"target": say.AGENT_ID}
    play.script(
        [say.spawn("TASK-A")],
        [say.wait()],
        [say.call("send_input", {**target, "message": "and more"}, call_id="send")],
        [say.wait(call_id="second")],
        [say.call("close_agent", target, call_id="close")],
        [say.call("send_input", {**target, "message": "x"}, call_id="closed")],
        [say.call("resume_agent", {"id": say.AGENT_ID}, call_id="resume")],
        [say.call("send_input", {**target, "message": "at last"}, call_id="third")],
        [say.wait(call_id="third_wait")],
        [say.text("ok")],
        **{"TASK-A": [[say.text("the 1st")], [say.text("the 2nd")], [say.text("3rd")]]},
    )
    play.run()

    assert "the 2nd" in play.answer("second")
    assert "resume_agent" in play.answer("closed")
    assert json.loads(play.answer("resume")) == {"status": {"completed": None}}
    assert "3rd" in play.answer("third_wait")
    last = json.dumps(play.of("TASK-A")[-1].body["input"])
    said = ("the 1st", "and more", "the 2nd", "at last")
    assert sorted(said, key=last.index) == list(said)


def test_an_agent_that_was_started_in_an_earlier_run_can_be_reopened(play, say):
    play.script(
        [say.spawn("TASK-A", agent_type="worker")],
        [say.wait()],
        [say.text("ok")],
        **{"TASK-A": [[say.text("before")]]},
    )
    first = play.run()
    agent_id = json.loads(play.answer("call_spawn"))["agent_id"]
    target = {"target": agent_id}
    play.script(
        [say.call("resume_agent", {"id": agent_id}, call_id="resume")],
        [say.call("send_input", {**target, "message": "go on"}, call_id="send")],
        [say.wait(agent_id, call_id="wait_again")],
        [say.text("ok")],
        **{"TASK-A": [[say.text("after")]]},
    )
    play.run("resume", first.events[0]["thread_id"])

    assert "after" in play.answer("wait_again")
    again = json.dumps(play.of("TASK-A")[-1].body["input"])
    assert again.index("before") < again.index("go on")


def test_an_agent_that_fails_is_told_with_the_reason(play, say):
    play.script(
        [say.spawn("TASK-A")],
        [say.wait()],
        [say.text("ok")],
        **{"TASK-A": [{"status": 400, "body": {"error": {"message": "no such thing"}}}]},
    )
    play.run()

    (state,) = json.loads(play.answer("call_wait"))["status"].values()
    assert "no such thing" in state["errored"]


def test_what_makes_no_sense_is_answered_in_words(play, say):
    calls = {
        "both": say.call("spawn_agent", {"message": "a", "items": [{"text": "b"}]}, call_id="both"),
        "none": say.call("spawn_agent", {}, call_id="none"),
        "role": say.spawn("x", call_id="role", agent_type="wizard"),
        "field": say.call("wait_agent", {"targets": ["x"], "until": 3}, call_id="field"),
        "target": say.call("close_agent", {"target": "nobody"}, call_id="target"),
        "nobody": say.wait("nobody", call_id="nobody"),
        "zero": say.call("wait_agent", {"targets": ["x"], "timeout_ms": 0}, call_id="zero"),
        "nan": say.call("wait_agent", {"targets": ["x"], "timeout_ms": math.nan}, call_id="nan"),
        "foreign": say.call("resume_agent", {"id": "nobody"}, call_id="foreign"),
    }
    play.script(list(calls.values()), [say.text("ok")])
    play.run()

    answers = {name: play.answer(name) for name in calls}
    assert "not both" in answers["both"]
    assert "must not be empty" in answers["none"]
    assert "use one of default, explorer, worker" in answers["role"]
    assert "unknown field `until`" in answers["field"]
    assert "no open agent 'nobody'" in answers["target"]
    assert json.loads(answers["nobody"])["status"] == {"nobody": "not_found"}
    assert "greater than zero" in answers["zero"]
    assert "greater than zero" in answers["nan"]
    assert "has started no thread nobody" in answers["foreign"]


def test_files_of_a_task_are_read_where_the_session_may_read(play, say):
    workspace = play.home.workspace
    for name in ("picture.png", "SKILL.md", "secret"):
        (workspace / name).write_text(f"the text of {name}")
    play.configure(top=f'sandbox_deny_read = ["{workspace}/secret"]\n')

    def spawn(call_id, *items):
        return say.call("spawn_agent", {"items": list(items)}, call_id=call_id)

    task = {"type": "text", "text": "TASK-A"}
    image = {"type": "local_image", "path": "picture.png"}
    skill = {"type": "skill", "name": "mend", "path": str(workspace / "SKILL.md")}
    play.script(
        [
            spawn("image", task, {"type": "local_image", "path": f"{workspace}/secret"}),
            spawn("skill", task, {"type": "skill", "name": "x", "path": f"{workspace}/secret"}),
            spawn("gone", task, {"type": "local_image", "path": "gone.png"}),
            spawn("call_spawn", task, image, skill),
        ],
        [say.wait()],
        [say.text("ok")],
        **{"TASK-A": [[say.text("ok")]]},
    )
    play.run()

    assert "secret cannot be given to an agent" in play.answer("image")
    assert "secret cannot be given to an agent" in play.answer("skill")
    assert "gone.png cannot be read" in play.answer("gone")
    (request,) = play.of("TASK-A")
    assert "the text of SKILL.md" in json.dumps(request.body["input"])
    data = base64.b64encode(b"the text of picture.png").decode()
    assert f"data:image/png;base64,{data}" in json.dumps(request.body["input"])


def test_a_role_of_the_user_sets_what_its_agents_are(play, say):
    (play.home.path / "tester.toml").write_text(
        'model = "gpt-5.4"\nsandbox_mode = "read-only"\n'
        'developer_instructions = "BE A TESTER"\napprovals_reviewer = "user"\n'
    )
    play.configure(
        tables='[agents.tester]\ndescription = "writes tests"\nconfig_file = "tester.toml"\n'
        'nickname_candidates = ["Tess"]\n'
    )
    patch = {"cmd": "echo x > made.txt"}
    play.script(
        [say.spawn("TASK-A", agent_type="tester", model="gpt-5.5")],
        [say.wait()],
        [say.text("ok")],
        **{"TASK-A": [[say.call("exec_command", patch, call_id="write")], [say.text("ok")]]},
    )
    play.run()

    request = play.of("TASK-A")[0].body
    assert request["model"] == "gpt-5.4"
    assert "BE A TESTER" in json.dumps(request["input"])
    assert json.loads(play.answer("call_spawn"))["nickname"] == "Tess"
    assert not (play.home.workspace / "made.txt").exists()


def test_a_role_whose_file_is_missing_is_no_agent(play, say):
    play.configure(tables='[agents.tester]\nconfig_file = "gone.toml"\n')
    play.script([say.spawn("TASK-A", agent_type="tester")], [say.text("ok")])
    play.run()
    assert "gone.toml cannot be read" in play.answer("call_spawn")


def test_an_agent_may_begin_with_the_conversation(play, say):
    play.script(
        [say.text("a thought"), say.spawn("TASK-A", fork_context=True)],
        [say.wait()],
        [say.text("ok")],
        **{"TASK-A": [[say.text("ok")]]},
    )
    play.run()
    known = json.dumps(play.of("TASK-A")[0].body["input"])
    assert known.index('"go"') < known.index("a thought") < known.index("TASK-A")
    assert "call_spawn" not in known


def test_without_agents_there_are_no_tools_for_them(play, say):
    play.configure(tables="[agents]\nenabled = false\n")
    play.script([say.spawn("TASK-A")], [say.text("ok")])
    play.run()
    assert play.answer("call_spawn") == "unsupported call: spawn_agent"


def test_agents_stand_apart_in_lists_of_threads(play, say):
    play.script(
        [say.spawn("TASK-A", agent_type="worker")],
        [say.wait()],
        [say.text("ok")],
        **{"TASK-A": [[say.text("ok")]]},
    )
    root = play.run().events[0]["thread_id"]
    listed = play.home.run("threads", "list", "--json").stdout
    assert root in listed
    assert json.loads(play.answer("call_spawn"))["agent_id"] not in listed


def test_hooks_of_agents_know_which_one_and_in_which_role(play, say):
    for event in ("SubagentStart", "SubagentStop"):
        hook = {"type": "command", "command": f"cat > {play.home.path}/{event}.told"}
        play.hooks[event] = [{"matcher": "worker", "hooks": [hook]}]
    play.write_hooks()
    play.script(
        [say.spawn("TASK-A", agent_type="worker")],
        [say.wait()],
        [say.text("ok")],
        **{"TASK-A": [[say.text("my report")]]},
    )
    root = play.run().events[0]["thread_id"]

    agent_id = json.loads(play.answer("call_spawn"))["agent_id"]
    facts = {"session_id": root, "agent_id": agent_id, "agent_type": "worker"}
    start, stop = (
        json.loads((play.home.path / f"{event}.told").read_text()) for event in play.hooks
    )
    assert facts.items() <= start.items()
    assert facts.items() <= stop.items()
    assert stop["last_assistant_message"] == "my report"
