"""R1: what only looks at plugins, or has nothing to do with them, runs no code of theirs."""

import pytest

from ferrule_testkit.crowd import CROWD, install_crowd

PROFILE = {"PYTHONPROFILEIMPORTTIME": "1"}  # children that look at new plugins do not heed it
TYPED = "acme_crowd_02"


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("--help",),
        ("plugins", "list"),
        ("config", "explain", "model"),
        ("__complete", "bash", TYPED, "-"),
    ],
    ids=" ".join,
)
def test_r01_none_of_thirty_plugins_is_imported(twin, words):
    names = install_crowd(twin.site, 30)

    for _ in range(2):  # with plugins that nobody has looked at, and with known ones
        run = twin.run(*words, environ=PROFILE)
        imported = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}

        assert run.returncode == 0, run.stderr
        assert {"ferrule"} <= imported
        assert [name for name in sorted(imported) if name.startswith(CROWD)] == []

    if "list" in words:
        assert [name for name in names if name not in run.stdout] == []
    elif words[0] == "--help":
        assert TYPED in run.stdout
    elif words[0] == "__complete":
        assert "--loud" in run.stdout.split()
