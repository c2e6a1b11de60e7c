"""Permission profiles as clients list, choose and are told them."""

from __future__ import annotations

import pytest

TABLES = """
[permissions.dev]
extends = ":workspace"
description = "for development"
environment = { set = { SAID = "so" } }
[permissions.dev.filesystem.":project_roots"]
"secret" = "none"
"""


@pytest.fixture
def dev(ferrule_home, connect):
    """A client of a server whose configuration has the profile `dev`."""
    ferrule_home.configure(tables=TABLES)
    (ferrule_home.workspace / "secret").write_text("hidden\n")
    return connect()


def test_those_of_the_configuration_are_listed(dev):
    profiles = {each["id"]: each for each in dev.call("permissionProfile/list")["data"]}
    assert profiles["dev"] == {"id": "dev", "description": "for development", "allowed": True}
    assert ":workspace" in profiles


def test_a_thread_begins_with_one_and_is_told_so_in_the_words_of_old_clients_too(dev):
    opened = dev.call("thread/start", permissions="dev")
    assert opened["activePermissionProfile"] == {"id": "dev", "extends": ":workspace"}
    assert opened["sandbox"] == {
        "type": "workspaceWrite",
        "writableRoots": [],
        "networkAccess": False,
        "excludeTmpdirEnvVar": False,
        "excludeSlashTmp": False,
    }


def test_a_thread_changes_to_one_by_its_name_alone(dev, refused):
    thread = dev.call("thread/start")["thread"]["id"]
    dev.call("thread/settings/update", threadId=thread, permissions="dev")
    settings = dev.told("thread/settings/updated")["threadSettings"]
    assert settings["activePermissionProfile"] == {"id": "dev", "extends": ":workspace"}
    with refused("there is no permission profile 'nope'"):
        dev.call("thread/settings/update", threadId=thread, permissions="nope")


def test_a_command_runs_under_one(dev):
    script = ["/bin/sh", "-c", "cat secret; touch new && echo written $SAID"]
    reply = dev.call("command/exec", command=script, permissionProfile="dev")
    assert reply["stdout"] == "written so\n"
    assert "secret" in reply["stderr"]
