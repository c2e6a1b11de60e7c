"""R5: a required plugin that cannot be relied on stops the run with exit code and reason.

The whole matrix is in core/tests/plugins/test_plugins_trust.py.
"""

import pytest


@pytest.mark.parametrize(
    ("required", "rules", "reason"),
    [
        ("absent", "", "the required plugin 'absent' is not installed; install it"),
        ("guard", "require_trust = true", "it is untrusted: plugins.require_trust is set"),
    ],
    ids=["missing", "not trusted"],
)
def test_r05_a_required_plugin_that_cannot_be_relied_on_stops_the_run(
    twin, hooks_package, ferrule_home, model_server, required, rules, reason
):
    twin.put(hooks_package("guard", ""))
    ferrule_home.configure(tables=f"[plugins]\nrequired = ['{required}']\n{rules}\n")

    finished = twin.run("exec", "go")

    assert finished.returncode == 1
    assert reason in finished.stderr
    assert model_server.requests == []
