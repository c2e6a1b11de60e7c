"""R13: opinions combine by how strict they are, never by order: deny beats ask beats allow."""

from itertools import permutations

from ferrule_testkit.model_items import function_call, message

JUDGE = """
from ferrule_hookspecs.markers import patient

@hookimpl
@patient(120)
def ferrule_tool_before(call):
    opinion = call.arguments["cmd"].split()[-1].split("-")[{place}]
    opinions = dict(
        allow=Verdict.allow(), ask=Verdict.ask("ask first"), deny=Verdict.deny("never")
    )
    return opinions[opinion]
"""
TOLD = {
    ("allow", "allow", "allow"): "it ran",
    ("allow", "allow", "ask"): "nobody can be asked here",
    ("allow", "ask", "deny"): "never",
}


def test_r13_the_strictest_opinion_counts_in_any_order(
    twin, hooks_package, ferrule_home, model_server
):
    for place, name in enumerate(("aa", "bb", "cc")):
        twin.put(hooks_package(name, JUDGE.format(place=place)))
    calls = {
        f"echo it r''an # {'-'.join(order)}": told
        for opinions, told in TOLD.items()
        for order in sorted(set(permutations(opinions)))
    }
    asked = [
        function_call("exec_command", {"cmd": command}, call_id=f"c{number}")
        for number, command in enumerate(calls)
    ]
    model_server.play([asked, [message("done")]])

    finished = twin.run("exec", "--json", "-a", "on-request", "go")

    assert finished.returncode == 0, finished.stderr
    sent = model_server.requests[-1].body["input"]
    answers = [item["output"] for item in sent if item["type"] == "function_call_output"]
    assert len(answers) == 10
    for (command, told), answer in zip(calls.items(), answers, strict=True):
        assert told in answer, command
        assert ("it ran" in answer) is (told == "it ran"), command
