"""`ferrule logout` has the issuer revoke the sign-in, and forgets it in any case."""


def test_tokens_are_revoked_and_forgotten(signed_in, issuer):
    refresh = signed_in.stored()["tokens"]["refresh_token"]
    finished = signed_in.home.run("logout")
    assert (finished.returncode, finished.stdout) == (0, "Signed out\n")
    assert issuer.state.revoked == [refresh]
    assert not signed_in.auth_file.exists()
    assert signed_in.home.run("login", "status").returncode == 1


def test_an_issuer_that_revokes_nothing_is_not_asked(person, issuer):
    issuer.state.has_revocation = False
    assert person.sign_in()[0] == 0
    finished = person.home.run("logout")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "Signed out\n", "")
    assert not person.auth_file.exists()


def test_an_issuer_that_fails_is_told_of_and_it_is_forgotten_all_the_same(signed_in, issuer):
    issuer.state.has_revocation = False  # it had one when the person signed in
    finished = signed_in.home.run("logout")
    assert finished.returncode == 0
    assert "the issuer was not told" in finished.stderr
    assert not signed_in.auth_file.exists()


def test_a_key_is_forgotten(person, issuer):
    person.home.run("login", "--with-api-key", stdin="sk-test-0123456789")
    assert person.home.run("logout").stdout == "Signed out\n"
    assert not person.auth_file.exists()
    assert issuer.state.revoked == []


def test_signing_out_twice_is_no_failure(person):
    finished = person.home.run("logout")
    assert (finished.returncode, finished.stdout) == (0, "Not signed in\n")


def test_a_file_that_cannot_be_trusted_is_removed_all_the_same(signed_in, issuer):
    signed_in.auth_file.chmod(0o644)
    finished = signed_in.home.run("logout")
    assert finished.returncode == 0
    assert "removed without asking the issuer" in finished.stderr
    assert not signed_in.auth_file.exists()
    assert issuer.state.revoked == []
