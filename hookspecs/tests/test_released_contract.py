"""The contract is frozen: what changes it since the last release has to be said first."""

from __future__ import annotations

import importlib.util
import json
import shutil

import pytest


@pytest.fixture(scope="module")
def contract(workspace):
    """What compares the contract with the released one."""
    spec = importlib.util.spec_from_file_location(
        "contract", workspace / ".ci" / "release" / "contract.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copy(workspace, contract, tmp_path):
    """A copy of the contract as if it had just been released, and no changelog."""
    (tmp_path / "changelog.d").mkdir()
    shutil.copy(workspace / "hookspecs" / "api.json", tmp_path)
    contract.move_on(tmp_path, "0.4.2")
    return tmp_path


@pytest.fixture
def change(copy, contract):
    """Change the contract by a function; returns what has not been told."""

    def call(edit, *fragments):
        file = copy / "api.json"
        api = json.loads(file.read_text())
        edit(api)
        file.write_text(json.dumps(api))
        for name in fragments:
            (copy / "changelog.d" / name).write_text("ferrule-hookspecs: it is so.\n")
        return contract.untold(copy, copy / "changelog.d")

    return call


def test_what_changed_since_the_last_release_has_been_said(workspace, contract):
    assert contract.untold(workspace / "hookspecs", workspace / "docs" / "changelog.d") == ""


def without_argument(api):
    hook = api["hooks"]["ferrule_models"]
    hook["signature"] = hook["signature"].replace(", model: str | None", "")


def without_member(api):
    del api["modules"]["tools"]["Tool"]["members"]["run"]


def other_type(api):
    members = api["modules"]["plugins"]["PluginContext"]["members"]
    members["cwd"] = members["cwd"].replace("str", "Path")


def one_more_to_give(api):
    members = api["modules"]["plugins"]["Runtime"]["members"]
    members["start"] = members["start"].replace("name: str", "name: str, where: str")


def without_name(api):
    api["names"].remove("Tool")


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (without_argument, "hooks.ferrule_models.model"),
        (without_member, "modules.tools.Tool.run"),
        (other_type, "modules.plugins.PluginContext.cwd"),
        (one_more_to_give, "modules.plugins.Runtime.start"),
        (without_name, "names.Tool"),
    ],
)
def test_what_breaks_plugins_needs_a_removal_fragment_and_a_minor_version(
    change, contract, copy, edit, named
):
    fault = change(edit, "more.feature.md")
    assert fault.startswith(f"the contract of 0.4.2 was broken: {named}. Keep what was there")
    assert change(lambda api: None, "gone.removal.md") == ""
    assert contract.version_fault(copy, "0.4.3").startswith("0.4.3 must be a new minor version")
    assert contract.version_fault(copy, "0.5.0") == ""
    contract.move_on(copy, "1.2.0")
    edit_again = json.loads((copy / "api.json").read_text())
    edit_again["names"].remove("ToolCall")
    (copy / "api.json").write_text(json.dumps(edit_again))
    assert contract.version_fault(copy, "1.3.0").startswith("1.3.0 must be a new major version")
    assert contract.version_fault(copy, "2.0.0") == ""


def new_hook(api):
    api["hooks"]["ferrule_more"] = api["hooks"]["ferrule_tools"]


def new_argument(api):
    hook = api["hooks"]["ferrule_tools"]
    hook["signature"] = hook["signature"].replace("PluginContext)", "PluginContext, more: str)")


def new_field(api):
    api["modules"]["plugins"]["PluginContext"]["members"]["more"] = "str = ''"


def new_optional_parameter(api):
    members = api["modules"]["plugins"]["Runtime"]["members"]
    members["start"] = members["start"].replace("name: str", "name: str, *, where: str=''")


def new_option(api):
    api["modules"]["manifest"]["Isolation"] = "Literal['none', 'process', 'machine']"


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (new_hook, "hooks.ferrule_more, hooks.ferrule_more.context"),
        (new_argument, "hooks.ferrule_tools.more"),
        (new_field, "modules.plugins.PluginContext.more"),
        (new_optional_parameter, "modules.plugins.Runtime.start"),
        (new_option, "modules.manifest.Isolation"),
    ],
)
def test_what_is_new_needs_a_fragment_that_names_the_contract(change, contract, copy, edit, named):
    fault = change(edit)
    assert fault.startswith(f"the contract of 0.4.2 has grown: {named}. Say so in a fragment")
    assert change(lambda api: None, "more.feature.md") == ""
    assert contract.version_fault(copy, "0.4.3") == ""


def test_an_option_that_is_no_longer_there_breaks_plugins(change):
    def edit(api):
        api["modules"]["manifest"]["Isolation"] = "Literal['process']"

    fault = change(edit, "more.feature.md")
    assert "modules.manifest.Isolation" in fault


def test_what_is_deprecated_is_told_and_waits_for_a_minor_version(change, contract, copy):
    def deprecate(*arguments):
        said = dict.fromkeys(arguments, "since 0.5, use more; gone in 0.6")
        return lambda api: api["hooks"]["ferrule_models"].update(deprecated=said)

    fault = change(deprecate("model"))
    assert "has grown: hooks.ferrule_models.model, deprecated. Say so in a fragment" in fault
    assert change(lambda api: None, "more.feature.md") == ""
    assert contract.version_fault(copy, "0.4.3").startswith("0.4.3 must be a new minor version")
    assert contract.version_fault(copy, "0.5.0") == ""
    contract.move_on(copy, "1.2.0")
    assert change(deprecate("model", "context")) == ""
    assert contract.version_fault(copy, "1.2.1").startswith("1.2.1 must be a new minor version")
    assert contract.version_fault(copy, "1.3.0") == ""
    contract.move_on(copy, "1.3.0")
    assert change(lambda api: api["hooks"]["ferrule_models"].pop("deprecated")) == ""
    assert contract.version_fault(copy, "1.3.1") == ""
