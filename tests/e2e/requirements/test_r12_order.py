"""R12: the order of plugins is declared, the same everywhere, and shown.

A hundred orders of installation and circles are tried in core/tests/plugins/test_plugins_trust.py.
"""

JUDGE = "@hookimpl\ndef ferrule_tool_before(call):\n    return Verdict.allow()\n"


def test_r12_the_order_is_what_plugins_declare_and_is_shown_with_their_wishes(twin, hooks_package):
    for name, order in {
        "alpha": "{'after': 'beta'}",
        "beta": "{}",
        "zeta": "{'outermost': True}",
    }.items():
        twin.put(hooks_package(name, f"{JUDGE}FERRULE_ORDER = {order}\n"))

    shown = twin.run("plugins", "order", "ferrule_tool_before")

    theirs = [line for line in shown.stdout.splitlines() if "acme-" in line]
    assert theirs == [
        "zeta  (acme-zeta 1.0)  outermost",
        "beta  (acme-beta 1.0)",
        "alpha  (acme-alpha 1.0)  after beta",
    ]
