"""What a manifest opens for the process of its tools, and what nobody opens."""

import os
import sys

import pytest

from ferrule.entry import Entry
from ferrule.isolation.boundary import boundary_of, network_within
from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.manifest import Capabilities, Manifest
from ferrule_hookspecs.plugins import PluginContext


@pytest.fixture
def bounded(tmp_path):
    """Make the boundary of a plugin that asks for something."""
    folder = tmp_path.resolve()
    user, home, work, site = (folder / name for name in ("user", "user/.ferrule", "work", "site"))
    for each in (user, home, work, site, user / ".ssh", user / ".aws"):
        each.mkdir()
    for each in (user / ".netrc", home / "auth.json"):
        each.touch()
    environ = {"HOME": str(user), "PATH": "/bin", "ACME_KEY": "k", "OTHER_KEY": "o"}

    def make(config=None, **asked):
        asks = {key: tuple(value) for key, value in asked.items()}
        manifest = Manifest(isolation="process", capabilities=Capabilities(**asks))
        entry = Entry(
            "ferrule.tools", "t", "t:T", "acme", "1", "/x", roots=(str(site),), manifest=manifest
        )
        # What lies in a temporary folder can be changed by commands, and the tests lie there.
        own = {"exclude_slash_tmp": True, "exclude_tmpdir_env_var": True}
        config = {"sandbox_workspace_write": own, **(config or {})}
        return boundary_of(entry, PluginContext(home, config, str(work), environ=environ))

    make.user, make.home, make.site, make.work = user, home, site, work
    return make


def closed(boundary, path):
    return str(path) in boundary.policy.deny_read


def test_without_a_word_nothing_is_written_and_credentials_are_closed(bounded):
    made = bounded()

    assert made.policy.mode == "read-only"
    assert (made.policy.writable_roots, made.policy.network, made.policy.unconfined) == (
        (),
        False,
        False,
    )
    for name in (".ssh", ".aws", ".netrc", ".ferrule/auth.json"):
        assert closed(made, bounded.user / name)
    assert made.environment == {"HOME": str(bounded.user), "PATH": "/bin"}
    assert made.hosts == ()


def test_a_place_of_credentials_is_opened_by_its_very_name_alone(bounded):
    made = bounded(read=["~/.netrc", "~/"])

    assert not closed(made, bounded.user / ".netrc")
    assert closed(made, bounded.user / ".ssh")


def test_what_the_user_or_ferrule_closes_stays_closed_and_that_is_said(bounded):
    netrc, auth = bounded.user / ".netrc", bounded.home / "auth.json"
    made = bounded({"sandbox_deny_read": [str(netrc)]}, read=["~/.netrc", "~/.ferrule/auth.json"])

    assert closed(made, netrc)
    assert closed(made, auth)
    assert [text.split()[4].rstrip(",") for text in made.kept] == [str(netrc), str(auth)]


def test_folders_to_write_are_made_and_variables_given(bounded):
    made = bounded(write=["~/.cache/acme"], environment=["ACME_KEY", "UNSET"])

    cache = bounded.user / ".cache" / "acme"
    assert cache.is_dir()
    assert [root.path for root in made.policy.writable_roots] == [str(cache)]
    assert made.environment["ACME_KEY"] == "k"
    assert {"OTHER_KEY", "UNSET"}.isdisjoint(made.environment)


@pytest.mark.parametrize(
    "place",
    [
        "/",
        "~/",
        "~/.ssh",
        "~/.ssh/more",
        "~/.ferrule",
        "~/.ferrule/x",
        "SITE",
        "SITE/ferrule",
        "PREFIX/more",
        "PATH/more",
    ],
)
def test_a_folder_by_which_it_could_get_out_is_refused(bounded, monkeypatch, place):
    folder = bounded.user / "checkout"
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    for name, where in {"SITE": bounded.site, "PREFIX": sys.prefix, "PATH": folder}.items():
        place = place.replace(name, str(where))

    with pytest.raises(PluginError, match="it asks to change"):
        bounded(write=[place])


def test_a_link_does_not_lead_to_what_is_refused(bounded):
    os.symlink(bounded.user / ".ssh", bounded.user / "harmless")

    with pytest.raises(PluginError, match="it asks to change"):
        bounded(write=["~/harmless"])


def test_a_link_in_a_folder_of_its_own_opens_no_credentials(bounded):
    cache = bounded.user / ".cache" / "acme"
    cache.mkdir(parents=True)
    os.symlink(bounded.user / ".ssh", cache / "keys")
    made = bounded(read=["~/.cache/acme/keys"], write=["~/.cache/acme"])

    assert closed(made, bounded.user / ".ssh")
    assert made.kept


@pytest.mark.parametrize("holder", ["own", "workspace"])
def test_a_link_that_it_may_have_made_moves_no_folder(bounded, holder):
    own = bounded.user / ".cache" if holder == "own" else bounded.work
    own.mkdir(exist_ok=True)
    (bounded.user / "project").mkdir()
    os.symlink(bounded.user / "project", own / "data")

    with pytest.raises(PluginError, match="is a link that others than the user may have made"):
        bounded(write=["~/.cache", str(own / "data")])


def test_a_link_of_the_user_leads_where_it_leads(bounded):
    (bounded.user / "disk").mkdir()
    os.symlink(bounded.user / "disk", bounded.user / ".cache")

    made = bounded(write=["~/.cache/acme", "~/.cache/acme/more"])

    disk = bounded.user / "disk" / "acme"
    assert [root.path for root in made.policy.writable_roots] == [str(disk)]


def test_a_repository_that_a_folder_is_a_worktree_of_is_not_opened(bounded):
    folder, git = bounded.user / "acme", bounded.user / "project" / ".git"
    admin = git / "worktrees" / "acme"
    for each in (folder, admin):
        each.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main")
    (admin / "commondir").write_text("../..")
    (admin / "gitdir").write_text(str(folder / ".git"))
    (folder / ".git").write_text(f"gitdir: {admin}")

    made = bounded(write=["~/acme"])

    assert [root.path for root in made.policy.writable_roots] == [str(folder)]


def test_of_the_users_network_what_restricts_counts_and_what_opens_does_not():
    table = {
        "unknown": "ask",
        "presets": ["python"],
        "credentials": [{"host": "a.example"}],
        "local_addresses": ["10.0.0.1"],
        "rules": [
            "allow network host:b.example",
            "\tallow\tnetwork host:c.example",
            "deny\tnetwork host:d.a.example",
            "'deny' network host:e.a.example",
            "ask network host:a.example",
        ],
    }

    network = network_within({"network": table}, ["*.a.example:8443"])["network"]

    assert network == {
        "unknown": "deny",
        "local_addresses": ["10.0.0.1"],
        "only_hosts": ["*.a.example"],
        "rules": [*table["rules"][2:], "allow network host:*.a.example port:8443"],
    }


def test_hosts_outside_of_the_bounds_of_the_administrator_stay_closed():
    table = {"only_hosts": ["a.example"]}

    network = network_within({"network": table}, ["a.example", "b.example"])["network"]

    assert network["only_hosts"] == ["a.example"]
