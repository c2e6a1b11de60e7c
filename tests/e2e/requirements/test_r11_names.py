"""R11: a clash of names disables the newcomer only, says so, and one line of configuration decides.

Every order of installation is tried in core/tests/plugins/test_plugins_trust.py.
"""

import json
from dataclasses import replace

BOX = "class Box:\n    def __init__(self, context): ...\n"


def test_r11_a_stranger_does_not_take_the_name_of_a_part_of_ours_unless_one_line_says_so(
    twin, hooks_package, ferrule_home
):
    box = hooks_package("box", BOX)
    twin.put(replace(box, points={"ferrule.sandboxes:none": "acme_box:Box"}))

    def states():
        rows = json.loads(twin.run("plugins", "list", "--json").stdout)["plugins"]
        held = [row for row in rows if (row["group"], row["name"]) == ("ferrule.sandboxes", "none")]
        return {row["distribution"]: (row["state"], row["reason"]) for row in held}

    found = states()
    assert found["ferrule-sandbox-none"][0] == "active"
    state, reason = found["acme-box"]
    line = 'plugins.overrides = {"ferrule.sandboxes:none" = "acme-box"}'
    assert (state, f"to use acme-box instead, set {line}" in reason) == ("clash", True)

    ferrule_home.configure(top=line)

    found = states()
    assert (found["acme-box"][0], found["ferrule-sandbox-none"][0]) == ("active", "clash")
