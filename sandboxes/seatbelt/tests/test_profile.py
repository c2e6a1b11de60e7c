"""What stands in a profile, whatever the paths of a policy are made of."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule_hookspecs.errors import PolicyUnenforceableError
from ferrule_hookspecs.sandbox import Door, ResolvedPolicy, WritableRoot
from ferrule_sandbox_seatbelt.profile import make_profile
from ferrule_testkit.access_table import ODD_NAMES
from ferrule_testkit.seatbelt_profile import ProfileReader, parse

LETTERS = st.text(
    st.one_of(
        st.sampled_from("\"'\\()[]{}|^$.*+?#;% \n\t/=-aZ"),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    ),
    min_size=1,
    max_size=40,
)
NAMES = LETTERS.map(lambda text: text.replace("/", "_")).filter(
    lambda text: text not in (".", "..")
)


def policy_of(name, kind):
    """A policy in which an arbitrary name plays a part."""
    place = f"/Users/me/work/{name}"
    parts = {
        "root": (WritableRoot(place),),
        "read_only": (WritableRoot("/Users/me/work", (place,)),),
        "forbidden": (WritableRoot("/Users/me/work", (), (place,)),),
        "pinned": (WritableRoot("/Users/me/work", (), (), (place,)),),
    }
    denied = (place,) if kind == "deny_read" else ()
    return ResolvedPolicy("workspace-write", "/Users/me/work", parts.get(kind, ()), denied)


def read(policy, scratch=None):
    text, parameters = make_profile(policy, scratch)
    return ProfileReader(text, dict(parameters))


def shape(nodes):
    """A profile without its texts."""
    return [shape(node) if isinstance(node, list) else type(node).__name__ for node in nodes]


KINDS = ("root", "read_only", "forbidden", "pinned", "deny_read")


@pytest.mark.parametrize("kind", KINDS)
@given(name=NAMES)
def test_no_path_changes_what_a_profile_is_made_of(kind, name):
    plain = parse(make_profile(policy_of("plain", kind)).text)
    odd = parse(make_profile(policy_of(name, kind)).text)

    assert shape(odd) == shape(plain)


@given(name=NAMES, other=NAMES)
def test_a_root_grants_its_own_name_and_no_other(name, other):
    profile = read(policy_of(name, "root"))

    assert profile.allows("file-write-data", f"/Users/me/work/{name}/x")
    assert profile.allows("file-write-data", f"/Users/me/work/{other}/x") == (name == other)


@pytest.mark.parametrize("kind", ["read_only", "forbidden", "deny_read"])
@given(name=NAMES, other=NAMES)
def test_an_exception_holds_for_its_own_name_and_no_other(kind, name, other):
    profile = read(policy_of(name, kind))
    operation = "file-read-data" if kind == "deny_read" else "file-write-create"
    is_same = other == name or fold(other) == fold(name)

    assert not profile.allows(operation, f"/Users/me/work/{name}")
    assert not profile.allows(operation, f"/Users/me/work/{name}/x")
    assert profile.allows(operation, f"/Users/me/work/{other}") != is_same
    assert profile.allows(operation, f"/Users/me/work/{name}x")


def fold(name):
    """What is one name for the profile: letters of ASCII in any case."""
    return "".join(each.lower() if each.isascii() else each for each in name)


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("kind", ["root", "pinned"])
def test_paths_that_are_granted_stand_in_no_text(kind, name):
    text, parameters = make_profile(policy_of(name, kind))

    assert f"/Users/me/work/{name}" in dict(parameters).values()
    assert f"/work/{name}" not in text


@pytest.mark.parametrize("written", [".VSCODE", ".vsCode", ".vscode"])
def test_a_missing_name_cannot_come_into_being_in_other_letters(written):
    """The usual file system of macOS takes them for one name."""
    profile = read(policy_of(".vscode", "forbidden"))

    assert not profile.allows("file-write-create", f"/Users/me/work/{written}")
    assert not profile.allows("file-write-data", f"/Users/me/work/{written}/tasks.json")
    assert profile.allows("file-write-create", f"/Users/me/work/{written}-other")


def test_credentials_are_unreadable_in_other_letters_too():
    profile = read(policy_of(".ssh", "deny_read"))

    assert not profile.allows("file-read-data", "/users/ME/work/.SSH/id_rsa")
    assert profile.allows("file-read-metadata", "/Users/me/work/.ssh")


def test_a_link_among_unreadable_places_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "keys").symlink_to("real")
    profile = read(ResolvedPolicy("read-only", "/", deny_read=(str(tmp_path / "keys"),)))

    assert not profile.allows("file-read-data", os.path.realpath(tmp_path / "real" / "key"))


def test_a_folder_on_the_way_to_something_protected_keeps_its_name():
    """Under another name, what lies in it would be another path."""
    root = WritableRoot("/w", ("/w/a/b/.git/hooks",), ("/w/c/.vscode",))
    policy = ResolvedPolicy("workspace-write", "/w", (root,), ("/w/d/secret",))
    profile = read(policy)

    for folder in ("/w", "/w/a", "/w/a/b", "/w/a/b/.git", "/w/c", "/w/d"):
        assert not profile.allows("file-write-unlink", folder)
        assert profile.allows("file-write-create", f"{folder}/new")
    assert profile.allows("file-write-unlink", "/w/a/b/other")


def test_set_user_id_bits_and_mounts_are_granted_nowhere():
    profile = read(policy_of("x", "root"))

    for operation in ("file-write-setugid", "file-mount", "file-link", "network-outbound"):
        assert not profile.allows(operation, "/Users/me/work/x/program")


@pytest.mark.parametrize("network", [False, True])
def test_the_network_is_there_only_when_it_is_on(network):
    policy = ResolvedPolicy("read-only", "/w", network=network)
    names = {name for rule in read(policy).rules for name in rule.operations}

    assert ("network-outbound" in names) == network
    assert ("network-bind" in names) == network


def test_a_door_is_the_only_way_out_where_the_network_is_off():
    policy = ResolvedPolicy("read-only", "/w")
    door = Door(4711, lambda descriptor: None)

    text = make_profile(policy, door=door).text

    assert text.count("network") == 1
    assert '(allow network-outbound (remote ip "localhost:4711"))' in text
    assert make_profile(policy._replace(network=True), door=door).text.count("localhost") == 0


def test_local_services_are_out_of_reach_with_the_network_too():
    profile = read(ResolvedPolicy("read-only", "/w", network=True))

    assert profile.allows("network-outbound", "/private/var/run/mDNSResponder")
    assert not profile.allows("network-outbound", "/var/run/docker.sock")


def test_everything_is_denied_by_default():
    profile = read(ResolvedPolicy("read-only", "/w"))

    assert profile.rules[0] == ("deny", ("default",), ())
    assert [rule for rule in profile.rules[1:] if rule.decision != "allow"] == []
    for operation in ("file-write-data", "file-write-create", "file-write-unlink"):
        assert not profile.allows(operation, "/w/x")
    assert profile.allows("file-write-data", "/dev/null")


def test_terminals_of_others_can_be_neither_read_nor_written():
    profile = read(ResolvedPolicy("read-only", "/w"))

    assert not profile.allows("file-read-data", "/dev/ttys003")
    assert not profile.allows("file-write-data", "/dev/ttys003")


def test_only_the_private_folder_may_be_written_in_read_only():
    profile = read(ResolvedPolicy("read-only", "/w"), "/private/var/folders/x/scratch")

    assert profile.allows("file-write-create", "/private/var/folders/x/scratch/tmp")
    assert not profile.allows("file-write-create", "/private/var/folders/x/other")


def test_a_path_that_is_not_text_is_refused():
    with pytest.raises(PolicyUnenforceableError, match="not UTF-8"):
        make_profile(ResolvedPolicy("read-only", "/w", deny_read=("/w/\udcff",)))
