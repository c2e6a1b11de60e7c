"""R10: the administrator allows by name, version and hash, blocks, and locks choices.

More cases are in core/tests/plugins/test_plugins_trust.py and core/tests/test_config_layers.py.
"""

import json

import pytest

ADMIN = """
from pathlib import Path
from ferrule.host import LocalHost
LocalHost.admin = Path({path!r})
"""


@pytest.fixture
def administered(twin, tmp_path):
    """Give the twin an administrator's `requirements.toml`; where it lies no variable says."""
    folder = tmp_path / "admin"
    folder.mkdir()
    twin.begin_with(ADMIN.format(path=str(folder)))
    return (folder / "requirements.toml").write_text


def rows_of(twin):
    rows = json.loads(twin.run("plugins", "list", "--json").stdout)["plugins"]
    return {row["name"]: row for row in rows if row["distribution"].startswith("acme-")}


def test_r10_only_what_is_listed_by_name_version_and_hash_loads(
    twin, hooks_package, ferrule_home, administered
):
    for name in ("listed", "other", "older", "more", "banned"):
        twin.put(hooks_package(name, ""))
    found = rows_of(twin)
    listed, other = (found[name]["origin"]["recordHash"] for name in ("listed", "older"))
    administered(
        f"""
[plugins]
allow = [
  {{name = "acme-listed", version = "==1.0", hash = "{listed}"}},
  {{name = "acme-other", hash = "{other}"}},
  "acme-older>=2",
  "acme-banned",
]
block = ["acme-banned"]
require_trust = true
"""
    )
    everything = '["acme-listed", "acme-other", "acme-older", "acme-more", "acme-banned"]'
    ferrule_home.configure(tables=f"[plugins]\nallow = {everything}\nrequire_trust = false\n")

    found = rows_of(twin)

    assert {name: row["state"] for name, row in found.items()} == {
        "listed": "active",
        "other": "untrusted",
        "older": "untrusted",
        "more": "untrusted",
        "banned": "blocked",
    }
    assert "the hash of acme-other is" in found["other"]["reason"]
    assert found["listed"]["review"] == "approved by plugins.allow"


def test_r10_the_choice_of_sandbox_and_reviewer_is_locked(twin, administered, model_server):
    administered(
        'allowed_sandbox_backends = ["bubblewrap"]\nallowed_approvals_reviewers = ["user"]\n'
    )
    for choice in ('sandbox_backend="none"', 'approvals_reviewer="command"'):
        refused = twin.run("exec", "-c", choice, "go")
        assert refused.returncode == 1
        assert "the administrator allows only" in refused.stderr
    assert model_server.requests == []
