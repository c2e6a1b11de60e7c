"""Where a sign-in is kept: a file of the user's own, or the keyring of the system."""

import os
import stat
import sys
import textwrap
from pathlib import Path

import pytest

KEY = "sk-test-0123456789abcdef"
BACKEND = """
import json, os, pathlib
from keyring.backend import KeyringBackend

class Drawer(KeyringBackend):
    priority = 1

    @property
    def _place(self):
        return pathlib.Path(os.environ["DRAWER"])

    def _all(self):
        return json.loads(self._place.read_text()) if self._place.exists() else {}

    def get_password(self, service, username):
        if os.environ.get("DRAWER_IS_LOCKED"):
            raise RuntimeError("locked")
        return self._all().get(f"{service}/{username}")

    def set_password(self, service, username, password):
        if os.environ.get("DRAWER_IS_LOCKED"):
            raise RuntimeError(f"cannot store {password}")
        self._place.write_text(json.dumps({**self._all(), f"{service}/{username}": password}))

    def delete_password(self, service, username):
        left = self._all()
        del left[f"{service}/{username}"]
        self._place.write_text(json.dumps(left))
"""


@pytest.fixture
def drawer(person, tmp_path, issuer):
    """A keyring that keeps what it is given in a file; returns the file."""
    (tmp_path / "drawer.py").write_text(textwrap.dedent(BACKEND))
    place = tmp_path / "drawer.json"
    person.home.environ.update(
        PYTHON_KEYRING_BACKEND="drawer.Drawer", PYTHONPATH=str(tmp_path), DRAWER=str(place)
    )
    return place


def _store(person, issuer, store):
    top = f'cli_auth_credentials_store = "{store}"'
    person.home.configure(
        top=top, provider="requires_openai_auth = true", tables=issuer.login_table()
    )


def test_the_keyring_holds_the_secrets_and_the_file_none(person, issuer, drawer, model_server):
    from ferrule_testkit.model_items import message

    _store(person, issuer, "keyring")
    code, said = person.sign_in()
    assert code == 0, said
    assert "in the keyring of this system" in said
    assert person.stored() == {"auth_mode": "chatgpt", "kept_in": "keyring"}
    assert issuer.state.access_tokens[0] in drawer.read_text()

    model_server.play([[message("hello")]])
    assert person.home.run("exec", "hi").returncode == 0
    sent = model_server.requests[0].headers["authorization"]
    assert sent == f"Bearer {issuer.state.access_tokens[0]}"


def test_signing_out_empties_the_keyring(person, issuer, drawer):
    _store(person, issuer, "keyring")
    person.sign_in()
    assert person.home.run("logout").stdout == "Signed out\n"
    assert drawer.read_text() == "{}"
    assert not person.auth_file.exists()


def test_a_file_in_the_place_of_the_keyring_empties_it(person, issuer, drawer):
    _store(person, issuer, "keyring")
    person.sign_in()
    _store(person, issuer, "file")
    person.home.run("login", "--with-api-key", stdin=KEY)
    assert drawer.read_text() == "{}"
    assert person.stored()["OPENAI_API_KEY"] == KEY


def test_a_keyring_that_was_asked_for_is_never_replaced_by_a_file(person, issuer, drawer):
    _store(person, issuer, "keyring")
    environ = {"DRAWER_IS_LOCKED": "1"}
    finished = person.home.run("login", "--with-api-key", stdin=KEY, environ=environ)
    assert finished.returncode == 1
    assert "the keyring cannot be used: it answered RuntimeError" in finished.stderr
    assert KEY not in finished.stderr
    assert not person.auth_file.exists()


def test_auto_says_when_it_falls_back_to_a_file(person, issuer, drawer):
    _store(person, issuer, "auto")
    environ = {"DRAWER_IS_LOCKED": "1"}
    finished = person.home.run("login", "--with-api-key", stdin=KEY, environ=environ)
    assert finished.returncode == 0
    assert f"so the sign-in is kept in {person.auth_file}" in finished.stderr
    assert person.stored()["OPENAI_API_KEY"] == KEY


def test_auto_takes_a_keyring_that_works(person, issuer, drawer):
    _store(person, issuer, "auto")
    finished = person.home.run("login", "--with-api-key", stdin=KEY)
    assert finished.stderr == ""
    assert KEY in drawer.read_text()
    assert KEY not in person.auth_file.read_text()


def test_a_machine_without_a_keyring_is_told(person, issuer):
    _store(person, issuer, "keyring")
    person.home.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    finished = person.home.run("login", "--with-api-key", stdin=KEY)
    assert finished.returncode == 1
    assert "there is no keyring here" in finished.stderr


def test_a_command_cannot_keep_it_in_memory(person, issuer):
    _store(person, issuer, "ephemeral")
    finished = person.home.run("login", "--with-api-key", stdin=KEY)
    assert finished.returncode == 1
    assert "keeps nothing beyond this command" in finished.stderr


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604])
def test_a_file_that_others_can_read_is_not_used(person, model_server, mode):
    person.home.run("login", "--with-api-key", stdin=KEY)
    person.auth_file.chmod(mode)
    for arguments in (["login", "status"], ["exec", "hi"]):
        finished = person.home.run(*arguments)
        assert finished.returncode == 1
        said = finished.stdout + finished.stderr
        assert f"{person.auth_file} is open to other users (mode {mode:o})" in said
    assert model_server.requests == []


def test_a_link_is_neither_followed_nor_written_through(person, tmp_path):
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(f'{{"OPENAI_API_KEY": "{KEY}"}}')
    elsewhere.chmod(0o600)
    person.auth_file.symlink_to(elsewhere)
    before = elsewhere.read_text()
    for arguments, stdin in ((["login", "status"], None), (["login", "--with-api-key"], "sk-x")):
        finished = person.home.run(*arguments, stdin=stdin)
        assert finished.returncode == 1
        assert "is a link, which is not followed" in finished.stderr
    assert elsewhere.read_text() == before


@pytest.mark.root
@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="gives a file away")
def test_a_file_of_another_user_is_not_used(person):
    person.home.run("login", "--with-api-key", stdin=KEY)
    os.chown(person.auth_file, 12345, 12345)
    finished = person.home.run("login", "status")
    assert finished.returncode == 1
    assert "belongs to another user" in finished.stderr


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00" * 40], ids=repr)
def test_a_damaged_file_is_told_and_can_be_replaced(person, text):
    person.auth_file.write_text(text)
    person.auth_file.chmod(0o600)
    finished = person.home.run("login", "status")
    assert finished.returncode == 1
    assert f"{person.auth_file} is damaged" in finished.stderr
    assert person.home.run("login", "--with-api-key", stdin=KEY).returncode == 0
    assert person.stored()["OPENAI_API_KEY"] == KEY


def test_a_home_that_cannot_be_written_keeps_what_it_had(person):
    person.home.run("login", "--with-api-key", stdin=KEY)
    before = person.auth_file.read_bytes()
    environ = {"FERRULE_HOME": str(person.auth_file)}
    finished = person.home.run("login", "--with-api-key", stdin="sk-new-1", environ=environ)
    assert finished.returncode != 0
    assert "Traceback" not in finished.stderr
    assert person.auth_file.read_bytes() == before


def test_nothing_else_is_left_behind(person):
    before = set(person.home.path.iterdir())
    person.home.run("login", "--with-api-key", stdin=KEY)
    new = {path.name for path in set(person.home.path.iterdir()) - before}
    assert {"auth.json", "auth.json.lock"} <= new
    assert not [name for name in new if name.startswith(".auth-")]
    for name in ("auth.json", "auth.json.lock"):
        assert stat.S_IMODE(Path(person.home.path, name).stat().st_mode) == 0o600
