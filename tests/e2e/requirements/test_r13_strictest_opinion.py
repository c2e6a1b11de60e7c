"""R13: opinions combine by how strict they are, never by order: deny beats ask beats allow."""

import pytest

from ferrule_testkit.model_items import function_call, message

OPINIONS = {
    "allow": "Verdict.allow()",
    "ask": "Verdict.ask('ask first')",
    "deny": "Verdict.deny('never')",
}
SOURCE = """
from pathlib import Path

@hookimpl
def ferrule_tool_before(call, turn):
    said = Path(turn.cwd, "said.txt").read_text().split()
    return {{"allow": {allow}, "ask": {ask}, "deny": {deny}}}[said[{place}]]
"""


@pytest.fixture
def judges(twin, hooks_package):
    """Three plugins, the first to the third by name, each with an opinion of its own."""
    for place, name in enumerate(("aa", "bb", "cc")):
        twin.put(hooks_package(name, SOURCE.format(place=place, **OPINIONS)))
    return twin


@pytest.mark.parametrize(
    ("opinions", "told"),
    [
        (("allow", "allow", "allow"), "it ran"),
        (("allow", "ask", "allow"), "nobody can be asked here"),
        (("allow", "ask", "deny"), "never"),
    ],
    ids=["allow", "ask", "deny"],
)
def test_r13_the_strictest_opinion_counts_in_any_order(
    judges, ferrule_home, model_server, opinions, told
):
    for order in sorted({opinions, opinions[::-1]}):
        (ferrule_home.workspace / "said.txt").write_text(" ".join(order))
        model_server.play(
            [[function_call("exec_command", {"cmd": "echo it r''an"})], [message("done")]]
        )
        finished = judges.run("exec", "--json", "-a", "on-request", "go")
        assert finished.returncode == 0, finished.stderr
        answer = model_server.requests[-1].body["input"][-1]["output"]
        assert told in answer
        assert ("it ran" in answer) is (told == "it ran")
