"""Laws of the one spelling of hosts, and of what rules decide."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule_network.addresses import Reach
from ferrule_network.host import TargetError, canonical_host, split_authority
from ferrule_network.policy import Policy
from ferrule_network.rule import STRICTNESS, NetworkRule, Target

NAMES = st.from_regex(
    r"[a-z]([a-z0-9]{0,8}[a-z0-9])?(\.[a-z]([a-z0-9]{0,8}[a-z0-9])?){0,3}", fullmatch=True
)
NUMBERS = st.integers(0, 2**32 - 1)
BASES = st.lists(
    st.sampled_from(["{:d}", "0x{:x}", "0X{:X}", "0{:o}", "000{:o}"]), min_size=4, max_size=4
)


@settings(deadline=None)
@given(NUMBERS, BASES, st.integers(1, 4), st.booleans())
def test_every_way_of_writing_an_ipv4_address_is_the_address(number, bases, parts, dot):
    front = [(number >> (24 - 8 * at)) & 255 for at in range(parts - 1)]
    last = number & (2 ** (8 * (5 - parts)) - 1)
    written = ".".join(base.format(part) for base, part in zip(bases, [*front, last], strict=False))
    assert canonical_host(written + "." * dot).address == IPv4Address(number)


@settings(deadline=None)
@given(NUMBERS)
def test_an_ipv4_address_dressed_as_ipv6_is_the_ipv4_address(number):
    mapped = IPv6Address((0xFFFF << 32) + number)
    assert canonical_host(f"[{mapped}]") == canonical_host(str(IPv4Address(number)))


@settings(deadline=None)
@given(st.integers(0, 2**128 - 1))
def test_every_way_of_writing_an_ipv6_address_is_the_address(number):
    address = IPv6Address(number)
    forms = {f"[{address}]", f"[{address.exploded}]", f"[{address.exploded.upper()}]"}
    assert len({canonical_host(form) for form in forms}) == 1


@settings(deadline=None)
@given(NAMES, st.randoms(use_true_random=False), st.booleans())
def test_capitals_percent_encoding_wide_letters_and_a_dot_change_no_name(name, random, dot):
    def write(letter):
        return random.choice(
            [letter, letter.upper(), f"%{ord(letter):02x}", chr(ord(letter) + 0xFEE0)]
        )

    assert canonical_host("".join(map(write, name)) + "." * dot).text == name


@settings(deadline=None)
@given(st.text(max_size=40) | st.text("0123456789abcdefx.:[]%-_@/\\ ", max_size=20))
def test_what_has_a_spelling_has_one(written):
    try:
        host = canonical_host(written)
    except TargetError:
        return
    assert canonical_host(str(host)) == host
    assert canonical_host(str(host).upper()) == host
    assert host.address is not None or set(host.text) <= set(
        "abcdefghijklmnopqrstuvwxyz0123456789-_."
    )


@settings(deadline=None)
@given(st.text(max_size=30))
def test_host_and_port_are_taken_apart_in_one_way_or_refused(written):
    try:
        host, port = split_authority(written)
    except TargetError:
        return
    assert split_authority(f"{host}:{port}") == (host, port)


@pytest.mark.parametrize(
    "written",
    [
        "",
        ".",
        "..",
        "a..b",
        "-a.test",
        "a-.test",
        "a" * 64,
        "a." * 127 + "ab",
        "1.2.3.4.5",
        "a.1",
        "a.0x",
        "256.1.1.1",
        "1.2.3.256",
        "09.1.1.1",
        "[1.2.3.4]",
        "[::1",
        "::1]",
        "[fe80::1%25lo]",
        "xn--a",
    ],
)
def test_what_resolvers_disagree_about_is_no_host(written):
    with pytest.raises(TargetError):
        canonical_host(written)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("bücher.de", "xn--bcher-kva.de"),
        ("XN--BCHER-KVA.de", "xn--bcher-kva.de"),
        ("faß.de", "xn--fa-hia.de"),
    ],
)
def test_names_in_other_scripts_are_what_is_looked_up(written, name):
    assert canonical_host(written).text == name


HOSTS = st.sampled_from(["a.test", "b.a.test", "c.test", "1.1.1.1", "[2606::1]"])
PATTERNS = st.sampled_from(["a.test", "*.a.test", "**", "1.1.1.1", "2606::1", "c.test"])
RULES = st.builds(
    NetworkRule,
    st.sampled_from(["allow", "ask", "deny"]),
    PATTERNS,
    st.sampled_from(["", "http", "https", "socks5_tcp"]),
    st.sampled_from([(), (80,), (443, 8443)]),
)
TARGETS = st.builds(
    Target,
    HOSTS.map(canonical_host),
    st.sampled_from([80, 443, 22]),
    st.sampled_from(["http", "https", "socks5_tcp"]),
    st.sampled_from(["GET", "POST"]),
)


@settings(deadline=None)
@given(st.lists(RULES, max_size=6), TARGETS, st.randoms(use_true_random=False))
def test_the_order_of_rules_does_not_matter(rules, target, random):
    shuffled = random.sample(rules, len(rules))
    decision = Policy(tuple(rules)).judge(target).decision
    assert Policy(tuple(shuffled)).judge(target).decision == decision


@settings(deadline=None)
@given(st.lists(RULES, max_size=6), RULES, TARGETS)
def test_a_rule_that_asks_or_denies_never_widens(rules, more, target):
    before, after = (
        Policy(tuple(found)).judge(target).decision for found in (rules, [*rules, more])
    )
    if more.decision == "deny":
        assert STRICTNESS[after] >= STRICTNESS[before]
    if more.decision == "ask":
        assert after != "allow" or before == "allow"


@settings(deadline=None)
@given(NUMBERS)
def test_an_inner_address_is_inner_in_every_dress(number):
    reach = Reach()
    plain = IPv4Address(number)
    dresses = [IPv6Address((0xFFFF << 32) + number), IPv6Address((0x64FF9B << 96) + number)]
    for dress in dresses:
        assert bool(reach.obstacle(plain)) == bool(reach.obstacle(dress))
    assert reach.obstacle(IPv6Address((0x2002 << 112) + (number << 80)))
