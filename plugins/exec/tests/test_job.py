"""What a run takes from its configuration before anything starts."""

from __future__ import annotations

import os

import pytest

from ferrule.config.load import Places, read_config
from ferrule.host import LocalHost
from ferrule_exec.arguments import parse
from ferrule_exec.job import prepare


class AdministeredHost(LocalHost):
    """A host with an administrator's folder beside its home."""

    def config(self, request):
        return read_config(request, Places(self.home, self.environ, self.home.parent / "admin"))


@pytest.fixture
def job(tmp_path, written):
    """Prepare a run; returns it and what was said."""
    for name in ("home", "admin", "work/.git"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    def make(*words, user="", admin="", managed=""):
        (tmp_path / "home" / "config.toml").write_text(user)
        (tmp_path / "admin" / "requirements.toml").write_text(admin)
        (tmp_path / "admin" / "managed_config.toml").write_text(managed)
        host = AdministeredHost(tmp_path / "home", dict(os.environ))
        said = written("said")
        arguments = parse([*words, "-C", str(tmp_path / "work"), "go"])
        return prepare(arguments, host, said.stream), said

    return make


@pytest.mark.parametrize(
    ("settings", "policy"),
    [
        ({}, "never"),
        ({"user": 'approval_policy = "never"'}, "never"),
        ({"admin": 'allowed_approval_policies = ["untrusted", "on-request"]'}, "on-request"),
        ({"managed": 'approval_policy = "untrusted"'}, "untrusted"),
        (
            {"user": 'approval_policy = "on-request"\napprovals_reviewer = "command"'},
            "on-request",
        ),
    ],
    ids=["nothing", "the same", "not allowed", "managed", "another reviewer"],
)
def test_without_a_word_nobody_is_asked_unless_the_configuration_decides(job, settings, policy):
    made, said = job(**settings)

    assert made.config.get("approval_policy") == policy
    assert "does not count" not in said.text


def test_a_policy_that_does_not_count_is_named(job):
    made, said = job(user='approval_policy = "untrusted"')

    assert made.config.get("approval_policy") == "never"
    assert '`approval_policy = "untrusted"` of' in said.text


def test_a_policy_that_was_asked_for_counts(job):
    made, said = job("-a", "untrusted", user='approval_policy = "on-request"')

    assert made.config.get("approval_policy") == "untrusted"
    assert "does not count" not in said.text
