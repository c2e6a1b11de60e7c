"""Only the right token lets a request in, and every other thing is refused the same way."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time

import jwt
import pytest

from ferrule_hookspecs.errors import FerruleError

SECRET = b"0123456789abcdef0123456789abcdef"
TOKEN = "c0ffee" * 8
NOW = int(time.time())  # of the collection, which a whole run begins with
DAY = 86_400


def encoded(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.fixture
def capability(gate, secret_file):
    options = {"ws-auth": "capability-token", "ws-token-file": secret_file(TOKEN.encode() + b"\n")}
    return gate(options=options)


@pytest.fixture
def signed(gate, secret_file):
    def make(**options):
        return gate(
            options={
                "ws-auth": "signed-bearer-token",
                "ws-shared-secret-file": secret_file(SECRET),
                **options,
            }
        )

    return make


def test_the_right_capability_token_lets_in(capability, knock):
    assert capability.judge(knock(TOKEN)) is None


def test_its_hash_is_enough_for_the_server(gate, knock):
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    asking = gate(options={"ws-auth": "capability-token", "ws-token-sha256": digest})

    assert asking.judge(knock(TOKEN)) is None
    assert asking.judge(knock(digest)).status == 401


@pytest.mark.parametrize(
    "values",
    [
        [],
        [""],
        ["Bearer"],
        ["Bearer "],
        [TOKEN],
        [f"Basic {TOKEN}"],
        [f"Bearer {TOKEN}x"],
        [f"Bearer {TOKEN[:-1]}"],
        [f"Bearer {TOKEN.upper()}"],
        [f"Bearer {TOKEN}", f"Bearer {TOKEN}"],
        [f"Bearer {TOKEN}, Bearer {TOKEN}"],
        ["Bearer \udcff\udcfe"],
        ["Bearer " + "x" * 1_000_000],
    ],
    ids=lambda values: repr(values)[:40],
)
def test_anything_else_is_refused_without_a_word_of_why(capability, knock, values):
    refusal = capability.judge(knock(authorization=values))

    assert refusal == (401, "Unauthorized\n")


def test_without_a_token_nothing_is_said_of_hosts_and_origins(capability, knock):
    assert capability.judge(knock(host="evil.example", origin="http://evil.example")).status == 401


def test_with_a_token_hosts_and_origins_still_count(capability, knock):
    assert capability.judge(knock(TOKEN, host="evil.example")).status == 403
    assert capability.judge(knock(TOKEN, origin="http://evil.example")).status == 403


def test_a_signed_token_lets_in_until_it_expires(signed, knock):
    right = jwt.encode({"exp": NOW + DAY}, SECRET, "HS256")
    within_the_skew = jwt.encode({"exp": int(time.time()) - 5}, SECRET, "HS256")

    assert signed().judge(knock(right)) is None
    assert signed().judge(knock(within_the_skew)) is None
    assert signed(**{"ws-max-clock-skew-seconds": "0"}).judge(knock(within_the_skew)).status == 401


NESTED = f"{encoded({'alg': 'HS256'})}.{'[' * 3000}.x"
WRONG = {
    "expired": jwt.encode({"exp": NOW - 600}, SECRET, "HS256"),
    "without an end": jwt.encode({"sub": "x"}, SECRET, "HS256"),
    "not yet valid": jwt.encode({"exp": NOW + 2 * DAY, "nbf": NOW + DAY}, SECRET, "HS256"),
    "made in the future": jwt.encode({"exp": NOW + 2 * DAY, "iat": NOW + DAY}, SECRET, "HS256"),
    "of another secret": jwt.encode({"exp": NOW + DAY}, SECRET[::-1], "HS256"),
    "of another algorithm": jwt.encode({"exp": NOW + DAY}, SECRET * 2, "HS512"),
    "unsigned": jwt.encode({"exp": NOW + DAY}, None, "none"),
    "unsigned, by hand": f"{encoded({'alg': 'none'})}.{encoded({'exp': NOW + DAY})}.",
    "without a signature": jwt.encode({"exp": NOW + DAY}, SECRET, "HS256").rsplit(".", 1)[0] + ".",
    "with an end that is no number": jwt.encode({"exp": "soon"}, SECRET, "HS256"),
    "huge": jwt.encode({"exp": NOW + DAY, "x": "x" * 100_000}, SECRET, "HS256"),
    "deeply nested": NESTED,
    "not a token": "a.b.c",
    "binary": "\x00\xff.\x00.\x00",
    "dots": "." * 5000,
}


@pytest.mark.parametrize("token", WRONG.values(), ids=WRONG.keys())
def test_a_token_is_refused_that_is(signed, knock, token):
    assert signed().judge(knock(token)) == (401, "Unauthorized\n")


@pytest.mark.parametrize(
    ("claims", "lets_in"),
    [
        ({"iss": "me", "aud": "ferrule"}, True),
        ({"iss": "me", "aud": ["other", "ferrule"]}, True),
        ({"iss": "me", "aud": "other"}, False),
        ({"iss": "you", "aud": "ferrule"}, False),
        ({"iss": "me"}, False),
        ({"aud": "ferrule"}, False),
    ],
    ids=["right", "one of several", "audience", "issuer", "no audience", "no issuer"],
)
def test_issuer_and_audience_are_asked_for_where_they_are_given(signed, knock, claims, lets_in):
    asking = signed(**{"ws-issuer": "me", "ws-audience": "ferrule"})
    token = jwt.encode({"exp": NOW + DAY, **claims}, SECRET, "HS256")

    assert (asking.judge(knock(token)) is None) is lets_in


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ws-token-file": "f"}, "--ws-token-file needs --ws-auth capability-token"),
        ({"ws-issuer": "f"}, "--ws-issuer needs --ws-auth signed-bearer-token"),
        ({"ws-auth": "none"}, "takes capability-token or signed-bearer-token"),
        ({"ws-auth": "capability-token"}, "needs either --ws-token-file"),
        ({"ws-auth": "signed-bearer-token"}, "needs --ws-shared-secret-file"),
        ({"ws-auth": "capability-token", "ws-token-sha256": "ab"}, "64 hexadecimal digits"),
        ({"ws-auth": "capability-token", "ws-issuer": "x"}, "--ws-issuer does not go with"),
        ({"ws-auth": "capability-token", "ws-token-file": "/nowhere"}, "cannot read the token"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_options_that_do_not_fit_are_named(gate, options, said):
    with pytest.raises(FerruleError, match=said):
        gate(options=options)


def test_a_clock_skew_without_bounds_is_refused(signed):
    with pytest.raises(FerruleError, match="from 0 to 600"):
        signed(**{"ws-max-clock-skew-seconds": "999999"})


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes there")
def test_a_secret_that_others_can_read_is_none(gate, secret_file):
    options = {"ws-auth": "capability-token", "ws-token-file": secret_file(TOKEN.encode(), 0o640)}

    with pytest.raises(FerruleError, match=r"others can read the token.*chmod 600"):
        gate(options=options)


@pytest.mark.parametrize("content", [b"", b" \n", b"short", b"x" * 100_000])
def test_a_token_that_can_be_guessed_is_refused(gate, secret_file, content):
    options = {"ws-auth": "capability-token", "ws-token-file": secret_file(content)}

    with pytest.raises(FerruleError, match=r"guessed|far too long"):
        gate(options=options)


def test_a_short_shared_secret_is_refused(gate, secret_file):
    options = {
        "ws-auth": "signed-bearer-token",
        "ws-shared-secret-file": secret_file(b"x" * 31),
    }

    with pytest.raises(FerruleError, match="at least 32 bytes"):
        gate(options=options)
