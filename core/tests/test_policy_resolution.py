"""What a policy means on this machine."""

import os
from pathlib import Path

import pytest

from ferrule.policy import mode_to_policy, resolve_policy
from ferrule_hookspecs.errors import ConfigError

PROTECTED = {".git", ".ferrule", ".codex", ".agents", ".aws", ".vscode"}


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def resolve(tmp_path, workspace):
    user_home = tmp_path / "home"
    user_home.mkdir()

    def resolve(values=None, mode="workspace-write", cwd=workspace, environ=None, **options):
        values = values or {
            "sandbox_workspace_write": {"exclude_slash_tmp": True, "exclude_tmpdir_env_var": True}
        }
        environ = {"HOME": str(user_home), **(environ or {})}
        policy = mode_to_policy(values, mode)
        return resolve_policy(
            policy, str(cwd), environ=environ, home=user_home / ".ferrule", **options
        )

    resolve.user_home = user_home
    return resolve


def roots(policy):
    return {root.path: root for root in policy.writable_roots}


def test_read_only_writes_nowhere_and_has_no_network(resolve):
    policy = resolve(mode="read-only")
    assert policy.writable_roots == ()
    assert policy.network is False


@pytest.mark.parametrize("mode", ["danger-full-access", "external-sandbox"])
def test_full_access_is_said_to_be_unconfined(resolve, mode):
    policy = resolve(mode=mode)
    assert (policy.unconfined, policy.network, policy.mode) == (True, True, mode)


def test_the_configured_mode_counts_when_no_other_is_asked_for():
    assert mode_to_policy({"sandbox_mode": "danger-full-access"}, None) == {
        "type": "dangerFullAccess"
    }
    assert mode_to_policy({}, None) == {"type": "readOnly", "networkAccess": False}


def test_an_unknown_mode_is_refused_and_named():
    with pytest.raises(ConfigError, match=r"'anything-goes'.*read-only"):
        mode_to_policy({"sandbox_mode": "anything-goes"}, None)


def test_an_unknown_policy_is_refused_and_named(tmp_path):
    with pytest.raises(ConfigError, match="'allowEverything'"):
        resolve_policy({"type": "allowEverything"}, "/", environ={}, home=tmp_path)  # type: ignore[typeddict-item]


def test_the_workspace_extra_roots_and_temporary_folders_are_writable(resolve, tmp_path, workspace):
    for name in ("configured", "extra", "scratch"):
        (tmp_path / name).mkdir()
    table = {"writable_roots": [str(tmp_path / "configured"), str(tmp_path / "missing")]}
    policy = resolve(
        {"sandbox_workspace_write": table},
        environ={"TMPDIR": str(tmp_path / "scratch")},
        extra_roots=[str(tmp_path / "extra")],
    )
    expected = {str(workspace), *(str(tmp_path / n) for n in ("configured", "extra", "scratch"))}
    assert set(roots(policy)) == {*expected, "/tmp"}


def test_network_access_is_taken_from_the_table(resolve):
    assert resolve({"sandbox_workspace_write": {"network_access": True}}).network is True


def test_a_root_behind_a_link_is_the_folder_it_leads_to(resolve, tmp_path, workspace):
    (tmp_path / "link").symlink_to(workspace)
    policy = resolve(cwd=tmp_path / "link")
    assert policy.cwd == str(workspace)
    assert set(roots(policy)) == {str(workspace)}


def test_missing_protected_names_may_not_come_into_being(resolve, workspace):
    root = roots(resolve())[str(workspace)]
    assert set(root.forbidden) == {str(workspace / name) for name in PROTECTED}
    assert root.read_only == ()


def test_existing_protected_names_are_read_only(resolve, workspace):
    for name in PROTECTED - {".git"}:
        (workspace / name).mkdir()
        (workspace / name / "settings").write_text("x")
    root = roots(resolve())[str(workspace)]
    assert set(root.read_only) == {str(workspace / name) for name in PROTECTED - {".git"}}


def test_an_empty_protected_folder_counts_as_missing(resolve, workspace):
    (workspace / ".codex").mkdir()
    assert str(workspace / ".codex") in roots(resolve())[str(workspace)].forbidden


def test_a_protected_link_and_what_it_leads_to_are_both_protected(resolve, workspace):
    (workspace / "dotfiles").mkdir()
    (workspace / "dotfiles" / "config.toml").write_text("x")
    (workspace / ".codex").symlink_to("dotfiles")
    root = roots(resolve())[str(workspace)]
    assert {str(workspace / ".codex"), str(workspace / "dotfiles")} <= set(root.read_only)


def test_settings_of_nested_projects_are_read_only(resolve, workspace):
    deep = workspace / "packages" / "one" / ".codex"
    deep.mkdir(parents=True)
    (deep / "config.toml").write_text("x")
    assert str(deep) in roots(resolve())[str(workspace)].read_only


def test_a_nested_project_that_appears_later_is_found(resolve, workspace):
    resolve()
    settings = workspace / "new" / ".agents"
    settings.mkdir(parents=True)
    (settings / "skill").write_text("x")
    assert str(settings) in roots(resolve())[str(workspace)].read_only


def test_the_settings_of_ferrule_are_read_only_inside_a_root(workspace):
    home = workspace / "state"
    home.mkdir()
    (home / "config.toml").write_text("")
    policy = resolve_policy({"type": "workspaceWrite"}, str(workspace), environ={}, home=Path(home))
    assert str(home) in roots(policy)[str(workspace)].read_only


@pytest.mark.parametrize("name", [".ssh", ".aws", ".gnupg", ".netrc", ".config/gh"])
def test_credentials_in_the_home_may_not_be_read(resolve, name):
    path = resolve.user_home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir() if "." not in path.name[1:] and name != ".netrc" else path.write_text("secret")
    assert str(path) in resolve(mode="read-only").deny_read


@pytest.mark.parametrize("name", ["auth.json", "mcp-auth"])
def test_the_credentials_of_ferrule_may_not_be_read(resolve, name):
    path = resolve.user_home / ".ferrule" / name
    path.parent.mkdir()
    path.write_text("secret") if "." in name else path.mkdir()
    assert str(path) in resolve().deny_read


def test_patterns_name_more_that_may_not_be_read(resolve, workspace):
    (workspace / "sub" / "deep").mkdir(parents=True)
    (workspace / "sub" / "deep" / "app.env").write_text("secret")
    (workspace / "sub" / "app.txt").write_text("fine")
    policy = resolve(deny_read=["**/*.env", str(workspace / "absent")])
    assert policy.deny_read == (str(workspace / "sub" / "deep" / "app.env"),)


def test_names_that_are_not_utf8_survive(resolve, workspace):
    odd = os.fsdecode(os.fsencode(str(workspace)) + b"/n\xff")
    os.mkdir(odd)
    os.mkdir(odd + "/.git")
    with open(odd + "/.git/HEAD", "w") as file:
        file.write("ref: refs/heads/main\n")
    assert odd + "/.git" in roots(resolve())[str(workspace)].pinned
