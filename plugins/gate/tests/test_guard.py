"""Pages in a browser do not get in by their origin, nor by a name that leads here."""

from __future__ import annotations

import pytest

from ferrule_hookspecs.errors import ConfigError, FerruleError

TOKEN = "c0ffee" * 8


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:4500", "127.0.0.1", "127.8.8.8:1", "localhost", "LOCALHOST:1", "[::1]:80", "[::1]"],
)
def test_the_names_of_this_machine_are_known(gate, knock, host):
    assert gate().judge(knock(host=host)) is None


@pytest.mark.parametrize(
    "host",
    [
        None, "", ":80", "evil.example", "evil.example:4500", "127.0.0.1.evil.example",
        "localhost.evil.example", "x@localhost", "localhost/evil", "0.0.0.0:1", "192.168.1.1",
        "localhost:x", "[::1", "[::ffff:10.0.0.1]", "127.0.0.1:99999", "a" * 5000,
    ],
)  # fmt: skip
def test_no_other_host_is(gate, knock, host):
    assert gate().judge(knock(host=host)).status == 403


def test_two_hosts_are_none(gate, knock):
    assert gate().judge(knock(host=["localhost", "localhost"])).status == 403


def test_a_listed_host_is_known(gate, knock):
    listed = gate(allowed_hosts=["Build.example"])

    assert listed.judge(knock(host="build.EXAMPLE:4500")) is None
    assert listed.judge(knock(host="evil.example")).status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://127.0.0.1:4500"])
def test_an_origin_is_refused_unless_it_is_listed(gate, knock, origin):
    assert gate().judge(knock(origin=origin)).status == 403


def test_a_listed_origin_gets_in_and_its_neighbours_do_not(gate, knock):
    listed = gate(allowed_origins=["http://localhost:3000"])

    assert listed.judge(knock(origin="http://localhost:3000")) is None
    assert listed.judge(knock()) is None
    for other in ("http://localhost:3001", "https://localhost:3000", "http://localhost:3000.evil"):
        assert listed.judge(knock(origin=other)).status == 403
    assert listed.judge(knock(origin=["http://localhost:3000"] * 2)).status == 403


@pytest.mark.parametrize("origin", ["*", "localhost:3000", "http://x/", "null", "http://x?y"])
def test_a_listed_origin_that_never_matches_is_an_error(gate, origin):
    with pytest.raises(ConfigError, match=r"transports\.x\.allowed_origins"):
        gate(allowed_origins=[origin])


@pytest.mark.parametrize("url", ["ws://0.0.0.0:0", "ws://[::]:0", "ws://192.168.1.5:80"])
def test_what_others_can_reach_needs_authentication(gate, url):
    with pytest.raises(FerruleError, match="nobody would be asked for a token: add --ws-auth"):
        gate(url)


def test_with_authentication_the_address_reached_is_a_name_too(gate, knock, secret_file):
    options = {"ws-auth": "capability-token", "ws-token-file": secret_file(TOKEN.encode())}
    reachable = gate("ws://0.0.0.0:0", options)

    assert reachable.judge(knock(TOKEN, "10.1.2.3:80", local_address="10.1.2.3")) is None
    assert reachable.judge(knock(TOKEN, "10.9.9.9:80", local_address="10.1.2.3")).status == 403
    assert reachable.judge(knock(TOKEN, "evil.example", local_address="10.1.2.3")).status == 403
