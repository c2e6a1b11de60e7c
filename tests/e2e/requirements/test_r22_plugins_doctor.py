"""R22: the doctor tells of each plugin one state, its times, clashes and the mend.

The golden output with a plugin in every state is in core/tests/plugins/test_plugins_doctor.py.
"""

import json

from ferrule_testkit.model_items import function_call, message

JUDGE = """
@hookimpl
def ferrule_tool_before(call):
    return Verdict.allow()
"""


def test_r22_the_doctor_knows_how_long_the_hooks_of_past_sessions_took(
    twin, hooks_package, model_server
):
    twin.put(hooks_package("guard", JUDGE))
    twin.put(hooks_package("broken", "raise ValueError('no licence')\n"))
    call = function_call("exec_command", {"cmd": "true"})
    model_server.play([[call], [call], [message("done")]])
    assert twin.run("exec", "--json", "go").returncode == 0

    examined = twin.run("doctor", "plugins", "--json")

    assert examined.returncode == 1
    rows = {row["name"]: row for row in json.loads(examined.stdout)["plugins"]}
    (time,) = rows["guard"]["hooks"]
    assert (time["hook"], time["calls"]) == ("ferrule_tool_before", 2)
    assert rows["guard"]["importMs"] > 0
    assert rows["broken"]["state"] == "broken"
    assert rows["broken"]["mend"].endswith("--no-plugin broken")
