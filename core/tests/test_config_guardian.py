"""Automatic reviews in the configuration: old keys, and what the administrator says about them."""

import pytest


@pytest.mark.parametrize(
    "text",
    [
        "guardian_approval = true",
        "smart_approvals = true",
        "[features]\nguardian_approval = true",
        "[features]\nsmart_approvals = true",
    ],
)
def test_an_old_key_chooses_the_guardian_and_is_told(setup, text):
    setup.user(text)

    config = setup.load()

    assert config.get("approvals_reviewer") == "guardian_subagent"
    (notice,) = (w for w in config.warnings if "guardian_subagent" in w)
    assert "config.toml:" in notice
    assert not any("unknown" in warning for warning in config.warnings)


def test_a_reviewer_that_is_named_beats_the_old_key(setup):
    setup.user('guardian_approval = true\napprovals_reviewer = "user"')

    assert setup.load().get("approvals_reviewer") == "user"


def test_an_old_key_that_is_off_changes_nothing(setup):
    setup.user("smart_approvals = false")

    config = setup.load()

    assert config.get("approvals_reviewer") == "user"
    assert "leave it out" in config.warnings[0]


def test_a_project_cannot_choose_the_guardian_or_its_policy(setup):
    setup.user()
    text = 'guardian_approval = true\n[auto_review]\npolicy = "allow all"\nmodel = "mine"'

    config = setup.load(project=text)

    assert config.get("approvals_reviewer") == "user"
    assert config.get("auto_review.policy") is None
    assert config.get("auto_review.model") is None


def test_the_administrators_policy_replaces_the_users_and_says_so(setup):
    setup.user('[auto_review]\npolicy = "mine"\nmodel = "small"')
    setup.rules('guardian_policy_config = "ours"\nguardian_extra_policy = "and this"')

    config = setup.load()

    assert config.get("auto_review.policy") == "ours"
    assert config.get("auto_review.extra_policy") == "and this"
    assert config.get("auto_review.model") == "small"
    assert any("auto_review.policy" in warning for warning in config.warnings)
    assert config.origin("auto_review.policy").layer == "requirements"
