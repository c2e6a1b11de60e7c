"""`ferrule login --with-api-key`: the key comes by standard input and is never shown."""

import stat

import pytest

from ferrule_testkit.model_items import message

KEY = "sk-test-0123456789abcdef"


def test_a_key_is_stored_as_codex_stores_it(person):
    finished = person.home.run("login", "--with-api-key", stdin=f"{KEY}\n")
    assert finished.returncode == 0, finished.stderr
    assert person.stored() == {"auth_mode": "apikey", "OPENAI_API_KEY": KEY}
    assert stat.S_IMODE(person.auth_file.stat().st_mode) == 0o600


def test_a_stored_key_reaches_the_model(person, model_server):
    person.home.run("login", "--with-api-key", stdin=KEY)
    model_server.play([[message("hello")]])
    finished = person.home.run("exec", "--json", "hi")
    assert finished.returncode == 0, finished.stderr
    assert model_server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_no_part_of_the_key_is_shown_stored_elsewhere_or_handed_to_children(person, model_server):
    from ferrule_testkit.model_items import function_call

    outputs = [person.home.run("login", "--with-api-key", stdin=KEY)]
    outputs.append(person.home.run("login", "status"))
    look = f"env; cat {person.auth_file}; true"
    model_server.play(
        [
            [function_call("exec_command", {"cmd": look})],
            {"status": 400, "body": {"error": {"message": f"bad key {KEY}"}}},
        ]
    )
    outputs.append(person.home.run("exec", "--json", "hi"))
    outputs.append(person.home.run("login", "--with-api-key", stdin=f"{KEY} {KEY}"))
    for finished in outputs:
        assert "0123456789" not in finished.stdout + finished.stderr
    for path in person.home.path.rglob("*"):
        if path.is_file() and path != person.auth_file:
            assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", "no API key came on standard input"),
        ("  \n", "no API key came on standard input"),
        ("sk-a\nsk-b\n", "give the bare key alone"),
        ("export KEY=sk-a b", "give the bare key alone"),
        ("x" * 9000, "give the bare key alone"),
    ],
    ids=["nothing", "blank", "two lines", "a command", "too long"],
)
def test_what_is_no_key_is_refused(person, typed, words):
    finished = person.home.run("login", "--with-api-key", stdin=typed)
    assert finished.returncode == 1
    assert words in finished.stderr
    assert not person.auth_file.exists()


def test_there_is_no_option_that_takes_the_key(person):
    finished = person.home.run("login", "--with-api-key", KEY, stdin="")
    assert finished.returncode != 0
    assert not person.auth_file.exists()


def test_status_says_where_it_is_and_fails_without_one(person):
    nobody = person.home.run("login", "status")
    assert (nobody.returncode, nobody.stdout) == (1, "Not signed in\n")
    person.home.run("login", "--with-api-key", stdin=KEY)
    somebody = person.home.run("login", "status")
    assert somebody.returncode == 0
    assert somebody.stdout == f"Signed in with an API key, kept in {person.auth_file}\n"


def test_a_variable_that_counts_before_it_is_named(person):
    environ = {"OPENAI_API_KEY": "sk-other-0123456789"}
    finished = person.home.run("login", "--with-api-key", stdin=KEY, environ=environ)
    assert "OPENAI_API_KEY is set" in finished.stderr
    assert "sk-other" not in finished.stderr


@pytest.mark.parametrize(
    ("forced", "arguments"),
    [("chatgpt", ["--with-api-key"]), ("api", []), ("api", ["--device-auth"])],
)
def test_only_the_way_that_is_required_is_open(person, issuer, forced, arguments):
    top = f'forced_login_method = "{forced}"'
    person.home.configure(top=top, tables=issuer.login_table())
    finished = person.home.run("login", *arguments, stdin=KEY)
    assert finished.returncode != 0
    assert f"forced_login_method = '{forced}'" in finished.stderr
    assert not person.auth_file.exists()
