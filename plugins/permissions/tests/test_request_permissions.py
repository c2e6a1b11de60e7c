"""The tool `request_permissions`: what it accepts, and what it asks the kernel for."""

from types import SimpleNamespace

import pytest

from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.permissions import AdditionalPermissions
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.tools import ToolCall
from ferrule_permissions.tool import RequestPermissions

SANDBOX = SimpleNamespace(policy=SimpleNamespace(cwd="/work"))


@pytest.fixture
def tool(tmp_path):
    return RequestPermissions(PluginContext(tmp_path, {}, str(tmp_path)))


def required(tool, permissions, **more):
    arguments = tool.normalize({"permissions": permissions, **more})
    return tool.requirement(ToolCall("c", tool.name, arguments, "{}", "function"), SANDBOX)


def test_it_is_offered_only_where_it_is_switched_on(tool, tmp_path):
    config = {"features": {"request_permissions_tool": True}}

    assert not tool.is_enabled()
    assert RequestPermissions(PluginContext(tmp_path, config, str(tmp_path))).is_enabled()


def test_paths_are_relative_to_the_folder_of_the_turn(tool):
    files = {"read": ["/etc/x"], "write": ["out/../build", "/opt"]}

    requirement = required(tool, {"file_system": files, "network": {"enabled": True}}, reason="why")

    assert requirement.permissions == AdditionalPermissions(
        True, ("/etc/x",), ("/work/build", "/opt")
    )
    assert (requirement.kind, requirement.reason, requirement.lasting) == ("skip", "why", True)


@pytest.mark.parametrize(
    ("permissions", "place"),
    [
        pytest.param(None, "`permissions`", id="none"),
        pytest.param({}, "asks for nothing", id="empty"),
        pytest.param({"network": {"enabled": False}}, "asks for nothing", id="off"),
        pytest.param({"network": True}, "`permissions.network` must be an object", id="network"),
        pytest.param({"network": {"enabled": "yes"}}, "true or false", id="flag"),
        pytest.param({"disk": {}}, "without 'disk'", id="unknown"),
        pytest.param({"file_system": {"write": "/"}}, "a list of paths", id="text"),
        pytest.param({"file_system": {"write": [1]}}, "a list of paths", id="number"),
        pytest.param({"file_system": {"write": ["a\0b"]}}, "a list of paths", id="nul"),
    ],
)
def test_what_makes_no_sense_is_named(tool, permissions, place):
    with pytest.raises(ToolArgumentError, match="failed to parse function arguments") as error:
        tool.normalize({"permissions": permissions})

    assert place in str(error.value)
