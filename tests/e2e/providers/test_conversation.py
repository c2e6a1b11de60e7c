"""One conversation, with everything that can happen in it, is the same over every wire."""

import re

from ferrule_testkit.model_items import freeform_call, function_call, message, reasoning

PATCH = """\
*** Begin Patch
*** Update File: one.txt
@@
-one
+uno
*** Add File: three.txt
+three
*** End Patch"""
STALE_PATCH = PATCH.replace("-one", "-not there").replace("three.txt", "four.txt")
LONG = "yes ferrule | head -c 40000"


def command(cmd, call_id):
    return function_call("exec_command", {"cmd": cmd}, call_id=call_id)


CONVERSATION = (
    [
        reasoning("First I look around."),
        message("Looking."),
        command("echo one > one.txt; cat one.txt", "c1"),
    ],
    [command("cat one.txt", "c2"), command("echo two > two.txt; echo written", "c3")],
    {"items": [], "cut_after": 1},
    [freeform_call("apply_patch", PATCH, call_id="c4")],
    [freeform_call("apply_patch", STALE_PATCH, call_id="c5")],
    [command("echo broken >&2; exit 3", "c6")],
    [function_call("no_such_tool", {}, call_id="c7")],
    {"items": [], "failed": {"code": "rate_limit_exceeded", "message": "try again in 10ms"}},
    [command(LONG, "c8")],
    [message("All done.")],
)
RESUMED = ([command("cat one.txt two.txt three.txt", "c9")], [message("Went on.")])


ASKED = "do everything"
NOW_ASKED = "look at the three files"
OUTPUTS = (
    "Process exited with code 3",
    "no_such_tool",
    "not there",  # what the patch looked for in vain
    "ferrule\\nferrule",
)


def ran(cmd, output, exit_code=0):
    status = "failed" if exit_code else "completed"
    return ("command_execution", cmd, output, exit_code, status)


def patched(*changes, status="completed"):
    return ("file_change", list(changes), status)


AT_ONCE = [
    ran("cat one.txt", "one\n"),
    ran("echo two > two.txt; echo written", "written\n"),
]
THOUGHT = ("reasoning", "First I look around.")
EXPECTED = [
    ("agent_message", "Looking."),
    ran("echo one > one.txt; cat one.txt", "one\n"),
    *AT_ONCE,
    ("error", "Reconnecting... 1/5"),
    patched(("one.txt", "update"), ("three.txt", "add")),
    patched(("four.txt", "add"), ("one.txt", "update"), status="failed"),
    ran("echo broken >&2; exit 3", "broken\n", 3),
    ("tool_call", None),
    ("error", "Reconnecting... 1/5"),
    ran(LONG, "ferrule\n" * 5_000),
    ("agent_message", "All done."),
]


def shown(run):
    """The completed items and the retries, in order, without what differs from run to run."""
    told = [_shown(event) for event in run.events if event["type"] in ("item.completed", "error")]
    start = next((n for n, each in enumerate(told) if each in AT_ONCE), 0)
    if sorted(told[start : start + 2]) == sorted(AT_ONCE):  # either may be first
        told[start : start + 2] = AT_ONCE
    return told


def _shown(event):
    if event["type"] == "error":
        return ("error", re.match(r"Reconnecting\.\.\. \d/\d", event["message"])[0])
    item = event["item"]
    match item["type"]:
        case "command_execution":
            cmd = re.fullmatch(r"\S+ -lc (.*)", item["command"])[1].strip("'")
            return ran(cmd, item["aggregated_output"], item["exit_code"])
        case "file_change":
            changes = sorted(
                (each["path"].split("/")[-1], each["kind"]) for each in item["changes"]
            )
            return patched(*changes, status=item["status"])
        case kind:
            text = item.get("text")
            return (kind, text and text.rstrip())


def test_the_same_happens_over_every_wire(wire, play, heard, ferrule_home):
    play(*CONVERSATION)
    last = ferrule_home.path / "last.txt"
    run = ferrule_home.run("exec", "--json", "-o", str(last), ASKED)
    assert run.returncode == 0, run.stderr
    assert shown(run) == ([] if wire.is_reasoning_raw else [THOUGHT]) + EXPECTED
    files = {file.name: file.read_text() for file in ferrule_home.workspace.glob("*.txt")}
    assert files == {"one.txt": "uno\n", "two.txt": "two\n", "three.txt": "three\n"}
    assert last.read_text() == "All done."
    end = run.events[-1]
    assert end["type"] == "turn.completed"
    assert end["usage"] == {
        "input_tokens": 800,
        "cached_input_tokens": 400,
        "cache_write_input_tokens": 0,
        "output_tokens": 80,
        "reasoning_output_tokens": 0,
    }
    *_, final = heard()
    for text in (ASKED, *OUTPUTS):
        assert text in final
    assert run.survivors == {}


def test_a_resumed_thread_goes_on_over_every_wire(play, heard, ferrule_home):
    play(*CONVERSATION, *RESUMED)
    assert ferrule_home.run("exec", "--json", ASKED).returncode == 0
    run = ferrule_home.run("exec", "resume", "--last", "--json", NOW_ASKED)
    assert shown(run) == [
        ran("cat one.txt two.txt three.txt", "uno\ntwo\nthree\n"),
        ("agent_message", "Went on."),
    ]
    *_, final = heard()
    places = [final.rindex(text) for text in (ASKED, *OUTPUTS[:1], "All done.", NOW_ASKED, "uno")]
    assert places == sorted(places)
