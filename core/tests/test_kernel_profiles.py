"""Permission profiles in sessions: chosen, changed and kept by their name."""

import pytest

from ferrule_hookspecs.errors import FerruleError

PROFILES = """
[permissions.dev]
extends = ":workspace"
[permissions.dev.filesystem.":project_roots"]
"secret" = "none"
[permissions.look]
extends = ":read-only"
"""
DEV = {"default_permissions": "dev"}
OPEN = {
    "type": "permissionProfile",
    "id": "look",
    "entries": [{"path": ":root", "access": "write"}],
}


@pytest.fixture
def home(bench):
    """A configuration with two profiles."""
    path = bench.host.home / "config.toml"
    path.write_text(path.read_text() + PROFILES)
    return bench


async def nothing(session):
    return None


def policy_of(session):
    return session.facts.sandbox_policy


def test_a_session_runs_under_the_profile_it_was_opened_with(home):
    session = home.run(nothing, flags=DEV)
    assert (policy_of(session)["type"], policy_of(session)["id"]) == ("permissionProfile", "dev")
    assert session.facts.sandbox_mode == "workspace-write"


def test_the_model_is_told_what_the_profile_says(home, stage):
    home.turn(flags=DEV)
    told = str(stage.requests[0].input)
    assert "permission profile dev" in told
    assert ":project_roots/secret: none" in told


def test_a_client_names_a_profile_and_cannot_say_what_it_is(home):
    async def script(session):
        await home.perform(session, "thread/settings/update", sandboxPolicy=OPEN)

    session = home.run(script)
    assert policy_of(session)["id"] == "look"
    assert policy_of(session)["entries"] == [{"path": ":root", "access": "read"}]
    assert session.facts.sandbox_mode == "read-only"


def test_a_profile_that_is_not_there_is_refused(home):
    async def script(session):
        wanted = {"type": "permissionProfile", "id": "nope"}
        with pytest.raises(FerruleError, match="no permission profile 'nope'"):
            await home.perform(session, "thread/settings/update", sandboxPolicy=wanted)

    home.run(script)


def test_a_thread_goes_on_under_its_profile_as_it_is_written_by_then(home):
    first = home.run(nothing, flags=DEV)
    path = home.host.home / "config.toml"
    path.write_text(path.read_text().replace('"secret"', '"hidden"'))
    again = home.run(nothing, resume=first.thread["id"], inherits=True)
    entries = {entry["path"] for entry in policy_of(again)["entries"]}
    assert ":project_roots/hidden" in entries
    assert ":project_roots/secret" not in entries


def test_a_thread_whose_profile_is_gone_goes_on_as_configured_and_says_so(home):
    first = home.run(nothing, flags=DEV)
    home.configure("")
    again = home.run(nothing, resume=first.thread["id"], inherits=True)
    assert policy_of(again)["type"] == "workspaceWrite"
    assert any("no permission profile 'dev'" in each["message"] for each in home.of("warning"))


def test_the_administrator_says_which_may_be_chosen(home, rules):
    rules('allowed_permission_profiles = ["look", ":workspace"]')

    async def script(session):
        for policy in ({"type": "permissionProfile", "id": "dev"}, {"type": "dangerFullAccess"}):
            with pytest.raises(FerruleError, match="the administrator allows only"):
                await home.perform(session, "thread/settings/update", sandboxPolicy=policy)
        wanted = {"type": "permissionProfile", "id": "look"}
        await home.perform(session, "thread/settings/update", sandboxPolicy=wanted)

    assert policy_of(home.run(script))["id"] == "look"


def test_profiles_are_listed_with_what_may_be_chosen(home, rules):
    rules('allowed_permission_profiles = ["look", ":workspace"]')
    found = []

    async def main(kernel):
        found.extend(kernel.permission_profiles(home.options(kernel).config))

    home.host.run(main)
    assert {facts.id: facts.is_allowed for facts in found} == {
        ":read-only": False,
        ":workspace": True,
        ":danger-full-access": False,
        "dev": False,
        "look": True,
    }
