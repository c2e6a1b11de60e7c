"""R9: who is asked to trust a plugin reads publisher, contents, what it provides and asks for."""

import re

MANIFEST = """\
guards = true

[capabilities]
read = ["~/.config/acme"]
hosts = ["tickets.acme.example"]
environment = ["ACME_TOKEN"]
"""
JUDGE = """
@hookimpl
def ferrule_tool_before(call):
    return Verdict.allow()
"""
WORDS = """\
acme-guard 1.0 by Acme Corp, installed in SITE/acme_guard-1.0.dist-info,
runs in the process of Ferrule, with all of your rights and unconfined, and
  - may judge a tool call before it runs, and refuse (ferrule_tool_before)
  - asks to read ~/.config/acme
  - asks to talk to tickets.acme.example
  - asks to be given the variables ACME_TOKEN
  - guards: what it judges is refused where it cannot be used
What runs in the process of Ferrule is not held to what it asks for.
An approval covers this version and its contents, sha256:HASH.
Nobody has approved it yet.
"""


def test_r09_trust_names_publisher_contents_and_what_a_plugin_provides_and_asks_for(
    twin, hooks_package, ferrule_home
):
    twin.put(hooks_package("guard", JUDGE, manifest=MANIFEST))

    asked = twin.run("plugins", "trust", "guard")  # nobody can answer here

    told = asked.stdout.replace(str(twin.site), "SITE")
    assert re.sub(r"sha256:[0-9a-f]{64}", "sha256:HASH", told) == WORDS
    assert (asked.returncode, "say it with --yes" in asked.stderr) == (1, True)
    assert not (ferrule_home.path / "approved-plugins.json").exists()
