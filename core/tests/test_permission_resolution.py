"""What a permission profile means on this machine."""

import os

import pytest

from ferrule.environment import command_environment
from ferrule.policy import mode_to_policy, resolve_policy
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.evaluator import decide


@pytest.fixture
def tmp_path(secluded_path):
    """To open a folder within a denied one, all that stands beside it is gone through."""
    return secluded_path


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "ws"
    for name in ("src", "docs/deep", "secrets/open", "home/.ssh", "home/.ferrule", "home/work"):
        (folder.parent / name if name.startswith("home") else folder / name).mkdir(parents=True)
    for name in ("a.env", "src/b.env", "src/main.c", "secrets/x", "docs/d"):
        (folder / name).write_text("x")
    (tmp_path / "home/.ssh/key").write_text("x")
    (tmp_path / "home/.ferrule/auth.json").write_text("x")
    return folder


@pytest.fixture
def resolve(tmp_path, workspace):
    """Resolve the profile `dev` of a configuration given as tables."""

    def resolve(files, cwd=workspace, environ=None, **parts):
        settings = {key: parts.pop(key) for key in list(parts) if key.startswith("sandbox_")}
        options = {key: parts.pop(key) for key in ("extra_roots", "deny_read") if key in parts}
        values = {
            "permissions": {"dev": {"filesystem": files, **parts}},
            "default_permissions": "dev",
            **settings,
        }
        return resolve_policy(
            mode_to_policy(values, None),
            str(cwd),
            environ={"HOME": str(tmp_path / "home"), **(environ or {})},
            home=tmp_path / "home/.ferrule",
            config=values,
            **options,
        )

    return resolve


def allowed(policy, operation, path):
    return decide(policy, operation, str(path)) is None


def test_the_most_exact_entry_counts(resolve, workspace):
    files = {
        ":root": "read",
        ":project_roots": {".": "write", "docs": "read", "secrets": "none", "**/*.env": "none"},
    }
    policy = resolve(files)
    assert policy.mode == "workspace-write"
    assert allowed(policy, "write", workspace / "src/main.c")
    assert allowed(policy, "read", workspace / "docs/d")
    assert not allowed(policy, "write", workspace / "docs/d")
    for name in ("secrets/x", "a.env", "src/b.env"):
        assert not allowed(policy, "read", workspace / name)
        assert not allowed(policy, "write", workspace / name)
    assert allowed(policy, "read", "/usr/bin")
    assert not allowed(policy, "write", workspace / ".git/hooks/pre-commit")


def test_of_two_entries_for_one_place_the_stricter_counts(resolve, workspace):
    files = {":root": "read", ":project_roots": "write", str(workspace): "none"}
    assert not allowed(resolve(files), "read", workspace / "src/main.c")


def test_without_the_root_only_what_is_named_can_be_read(resolve, workspace, tmp_path):
    policy = resolve({":minimal": "read", ":project_roots": "write"})
    assert allowed(policy, "read", "/usr/bin/env")
    assert allowed(policy, "read", workspace / "src/main.c")
    assert not allowed(policy, "read", tmp_path / "home/work")


def test_what_lies_in_a_denied_folder_can_be_opened(resolve, workspace, tmp_path):
    files = {":root": "read", str(tmp_path): "none", ":project_roots": "write"}
    policy = resolve(files)
    assert allowed(policy, "write", workspace / "src/main.c")
    assert allowed(policy, "read", "/usr/bin/env")
    assert not allowed(policy, "read", tmp_path / "home/work")
    (tmp_path / "later").write_text("x")
    assert not allowed(policy, "read", tmp_path / "later")


def test_a_workspace_in_a_writable_temporary_folder_keeps_its_protection(resolve, workspace):
    files = {":root": "read", ":tmpdir": "write", ":project_roots": "write"}
    policy = resolve(files, environ={"TMPDIR": str(workspace.parent)})
    assert allowed(policy, "write", workspace.parent / "x")
    assert not allowed(policy, "write", workspace / ".vscode/tasks.json")


def test_the_whole_machine_may_be_granted_and_the_workspace_keeps_its_protection(
    resolve, workspace, tmp_path
):
    policy = resolve({":root": "write"})
    assert allowed(policy, "write", tmp_path / "new")
    assert not allowed(policy, "write", workspace / ".git/hooks/x")
    assert not allowed(policy, "read", tmp_path / "home/.ssh/key")
    assert not allowed(policy, "write", tmp_path / "home/.ferrule/config.toml")


def test_credentials_are_kept_unless_they_are_named(resolve, tmp_path):
    assert not allowed(resolve({":root": "read"}), "read", tmp_path / "home/.ssh/key")
    assert not allowed(resolve({":root": "read", "~": "read"}), "read", tmp_path / "home/.ssh/key")
    named = {":root": "read", str(tmp_path / "home/.ssh"): "read"}
    assert allowed(resolve(named), "read", tmp_path / "home/.ssh/key")
    own = {":root": "read", str(tmp_path / "home/.ferrule/auth.json"): "read"}
    assert not allowed(resolve(own), "read", tmp_path / "home/.ferrule/auth.json")


def test_a_denied_name_that_is_missing_cannot_come_into_being(resolve, workspace):
    policy = resolve({":root": "read", ":project_roots": {".": "write", "later": "none"}})
    assert not allowed(policy, "create", workspace / "later")
    assert allowed(policy, "create", workspace / "other")


def test_a_denied_link_is_denied_with_what_it_leads_to(resolve, workspace):
    (workspace / "link").symlink_to(workspace / "src/main.c")
    policy = resolve({":root": "read", ":project_roots": {".": "write", "link": "none"}})
    assert not allowed(policy, "read", workspace / "src/main.c")
    assert not allowed(policy, "rename", workspace / "link")


def test_more_folders_count_as_the_workspace(resolve, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "added").mkdir()
    files = {":root": "read", ":workspace_roots": {".": "write", "docs": "none"}}
    roots = {str(tmp_path / "shared"): True, str(tmp_path / "gone"): True}
    policy = resolve(files, workspace_roots=roots, extra_roots=[str(tmp_path / "added")])
    assert allowed(policy, "write", tmp_path / "shared/x")
    assert allowed(policy, "write", tmp_path / "added/x")
    assert not allowed(policy, "write", tmp_path / "added/docs")


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({".": "write", "docs": "read", "docs/deep": "write"}, "cannot open .*docs/deep"),
        ({".": "write", "secrets": "none", "secrets/open": "read"}, "cannot open .*secrets/open"),
        ({".": "write", ".git": "write"}, "is protected in every folder"),
        ({".": "write", "src/main.c": "write", "src": "read"}, "cannot open .*main.c"),
        ({"src/main.c": "write"}, "which is no folder"),
        ({"doc*": "none", "docs/deep": "read"}, "one of its patterns denies it"),
    ],
)
def test_what_cannot_be_enforced_is_an_error(resolve, workspace, entries, words):
    (workspace / ".git").mkdir()
    with pytest.raises(ConfigError, match=words):
        resolve({":project_roots": entries})


def test_a_pattern_that_matches_too_much_is_an_error(resolve, monkeypatch, workspace):
    monkeypatch.setattr("ferrule.path_patterns.MATCH_LIMIT", 2)
    for name in "abc":
        (workspace / f"{name}.key").touch()
    with pytest.raises(ConfigError, match=r"'.*\*\.key' matches more than 2 paths"):
        resolve({":root": "read", ":project_roots": {"*.key": "none"}})


def test_a_pattern_reaches_as_deep_as_it_is_told(resolve, workspace):
    (workspace / "docs/deep/c.env").touch()
    files = {":root": "read", ":project_roots": {"**/*.env": "none"}, "glob_scan_max_depth": 1}
    policy = resolve(files)
    assert not allowed(policy, "read", workspace / "src/b.env")
    assert allowed(policy, "read", workspace / "docs/deep/c.env")


def test_sockets_bounds_and_debugging_reach_the_backend(resolve, tmp_path):
    policy = resolve(
        {":root": "read"},
        network={"unix_sockets": {str(tmp_path / "a.sock"): "allow"}},
        limits={"max_processes": 10, "max_memory": "64M"},
        debugging=True,
    )
    assert policy.unix_sockets == (str(tmp_path / "a.sock"),)
    assert (policy.max_processes, policy.max_memory_bytes) == (10, 64 << 20)
    assert policy.debugging
    assert allowed(policy, "connect_unix", tmp_path / "a.sock")


def test_bounds_of_the_configuration_hold_and_a_profile_can_only_lower_them(resolve):
    policy = resolve(
        {":root": "read"},
        sandbox_max_processes=50,
        sandbox_max_memory="1G",
        sandbox_debugging=True,
        limits={"max_processes": 100, "max_memory": "512M"},
    )
    assert (policy.max_processes, policy.max_memory_bytes) == (50, 512 << 20)
    assert policy.debugging


def test_bounds_hold_in_the_modes_as_well(tmp_path, workspace):
    policy = resolve_policy(
        {"type": "readOnly"},
        str(workspace),
        environ={"HOME": str(tmp_path / "home")},
        home=tmp_path / "home/.ferrule",
        config={"sandbox_max_memory": 1 << 30, "sandbox_deny_read": ["*.env"]},
    )
    assert policy.max_memory_bytes == 1 << 30
    assert not allowed(policy, "read", workspace / "a.env")


def test_an_amount_of_memory_that_is_none_is_an_error(resolve):
    with pytest.raises(ConfigError, match="`sandbox_max_memory`: 'plenty' is no amount"):
        resolve({}, sandbox_max_memory="plenty")


def test_variables_are_left_out_and_set():
    values = {
        "permissions": {
            "dev": {
                "environment": {
                    "exclude": ["CORP_*"],
                    "include_only": ["P*", "A", "ADDED"],
                    "set": {"ADDED": "1"},
                }
            }
        },
        "default_permissions": "dev",
    }
    sandbox = mode_to_policy(values, None)
    environ = {"PATH": os.defpath, "CORP_X": "1", "A": "2", "OTHER": "3"}
    found = command_environment(values, environ, sandbox=sandbox)
    assert (found["PATH"], found["A"], found["ADDED"]) == (os.defpath, "2", "1")
    assert not {"CORP_X", "OTHER"} & set(found)
