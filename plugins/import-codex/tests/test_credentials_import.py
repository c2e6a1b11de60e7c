"""A stored API key comes over when that is asked for; tokens never do."""

from __future__ import annotations

import json
import stat

import pytest

KEY = "sk-not-a-real-key-123"
WANTED = "--with-credentials"


@pytest.fixture
def bring_auth(bare_home, fresh_ferrule, bring):
    """Import a home with an `auth.json`; returns its finding and where it would be."""

    def run(auth, *options):
        (bare_home / "auth.json").write_text(json.dumps(auth))
        report = bring(bare_home, *options)
        assert KEY not in json.dumps(report)
        (finding,) = [each for each in report["findings"] if each["name"] == "auth.json"]
        return finding, fresh_ferrule.path / "auth.json"

    return run


def test_a_key_comes_over_when_it_is_asked_for(bring_auth):
    finding, place = bring_auth({"OPENAI_API_KEY": KEY}, WANTED)
    assert finding["status"] == "secret"
    assert json.loads(place.read_text()) == {"auth_mode": "apikey", "OPENAI_API_KEY": KEY}
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


@pytest.mark.parametrize("options", [(), (WANTED, "--dry-run")], ids=["unasked", "dry run"])
def test_nothing_is_written_otherwise(bring_auth, options):
    finding, place = bring_auth({"OPENAI_API_KEY": KEY}, *options)
    assert finding["status"] == ("secret" if options else "left")
    assert not place.exists()


def test_tokens_are_left(bring_auth):
    auth = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": {"access_token": KEY}}
    finding, place = bring_auth(auth, WANTED)
    assert finding["status"] == "left"
    assert "ferrule login" in finding["note"]
    assert not place.exists()


def test_a_sign_in_of_ones_own_is_kept(bring_auth, fresh_ferrule):
    own = fresh_ferrule.path / "auth.json"
    own.write_text('{"OPENAI_API_KEY": "sk-mine-0"}')
    own.chmod(0o600)
    finding, place = bring_auth({"OPENAI_API_KEY": KEY}, WANTED, "--overwrite")
    assert finding["status"] == "kept"
    assert "sk-mine-0" in place.read_text()


@pytest.mark.parametrize("auth", ["x", [], {"OPENAI_API_KEY": 5}, {}], ids=repr)
def test_what_holds_no_key_is_left(bring_auth, auth):
    finding, place = bring_auth(auth, WANTED)
    assert finding["status"] == "left"
    assert not place.exists()
