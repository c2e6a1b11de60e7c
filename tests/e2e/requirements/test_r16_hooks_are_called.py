"""R16: a hook that exists is called, documented and tested.

That each has a section, a test and a place in the kernel that calls it is checked beside the
contract (hookspecs/tests/test_hooks_documented.py); here a session calls what belongs to each one.
"""

from ferrule_hookspecs import hooks  # noqa: F401 -- fills the contracts
from ferrule_hookspecs.markers import HOOK_CONTRACTS
from ferrule_testkit.model_items import function_call, message

EVERY_SESSION = {
    "ferrule_context_fragments",
    "ferrule_session_start",
    "ferrule_prompt_submit",
    "ferrule_turn_start",
    "ferrule_tools",
    "ferrule_request_before",
    "ferrule_request_after",
    "ferrule_tool_rewrite",
    "ferrule_turn_stop",
    "ferrule_tool_before",
    "ferrule_tool_after",
    "ferrule_turn_end",
    "ferrule_session_end",
    "ferrule_notify",
}


def test_r16_a_session_calls_the_hooks_of_every_session(
    twin, hooks_package, ferrule_home, model_server
):
    source = "import os\n" + "".join(
        f"@hookimpl\ndef {name}():\n"
        f"    with open(os.environ['HEARD'], 'a') as file:\n"
        f"        file.write('{name}\\n')\n"
        for name in HOOK_CONTRACTS
    )
    twin.put(hooks_package("listener", source))
    heard = ferrule_home.path / "heard.txt"
    model_server.play([[function_call("exec_command", {"cmd": "true"})], [message("done")]])

    finished = twin.run("exec", "--json", "go", environ={"HEARD": str(heard)})

    assert finished.returncode == 0, finished.stderr
    assert set(heard.read_text().split()) >= EVERY_SESSION
