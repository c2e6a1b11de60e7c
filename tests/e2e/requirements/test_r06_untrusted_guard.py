"""R6: a guard that is skipped for lack of trust is announced, and what it judges is denied."""

from ferrule_testkit.model_items import function_call, message

JUDGE = """
@hookimpl
def ferrule_tool_before(call):
    return Verdict.allow()
"""


def test_r06_what_an_untrusted_guard_would_have_judged_is_denied_and_announced(
    twin, hooks_package, ferrule_home, model_server
):
    twin.put(hooks_package("guard", JUDGE, manifest="guards = true\n"))
    ferrule_home.configure(tables="[plugins]\nrequire_trust = true\n")
    call = function_call("exec_command", {"cmd": "touch made"})
    model_server.play([[call], [message("done")], [call], [message("done")]])

    refused = twin.run("exec", "--json", "go")

    told = "\n".join(item["message"] for item in refused.items("error"))
    assert "it is untrusted: plugins.require_trust is set and nobody approved acme-guard" in told
    assert "guards and cannot be used" in str(model_server.requests[1].body["input"])
    assert not (ferrule_home.workspace / "made").exists()

    assert twin.run("plugins", "trust", "guard", "--yes").returncode == 0
    assert twin.run("exec", "--json", "go").returncode == 0
    assert (ferrule_home.workspace / "made").exists()
