"""Named permission profiles: what a configuration may say, and which of two wishes counts."""

import pytest

from ferrule.permission_profiles import read_profile
from ferrule.policy import mode_to_policy
from ferrule_hookspecs.errors import ConfigError

CODEX = """\
default_permissions = "dev"
[permissions.dev]
extends = ":workspace"
description = "for development"
workspace_roots = { "/srv/shared" = true, "/srv/other" = false }
[permissions.dev.filesystem]
":tmpdir" = "deny"
"/srv/data/**" = "read"
glob_scan_max_depth = 6
[permissions.dev.filesystem.":workspace_roots"]
"**/*.env" = "none"
"secrets" = "none"
"docs" = "read"
[permissions.dev.network]
enabled = true
unix_sockets = { "/run/a.sock" = "allow", "/run/b.sock" = "deny" }
[permissions.dev.network.domains]
"example.com" = "allow"
"**.example.org" = "allow"
"bad.example.org" = "deny"
[permissions.dev.environment]
exclude = ["CORP_*"]
[permissions.dev.limits]
max_processes = 64
max_memory = "2G"
"""


def entries(profile):
    return {entry["path"]: entry["access"] for entry in profile["entries"]}


def test_a_profile_is_read_with_what_it_extends(setup):
    setup.user(CODEX)
    profile = mode_to_policy(setup.load().values, None)
    assert profile["type"] == "permissionProfile"
    assert (profile["id"], profile["extends"]) == ("dev", ":workspace")
    assert entries(profile) == {
        ":root": "read",
        ":project_roots": "write",
        ":slash_tmp": "write",
        ":tmpdir": "none",
        "/srv/data": "read",
        ":project_roots/**/*.env": "none",
        ":project_roots/secrets": "none",
        ":project_roots/docs": "read",
    }
    assert profile["workspaceRoots"] == ["/srv/shared"]
    assert profile["globScanMaxDepth"] == 6
    assert profile["unixSockets"] == ["/run/a.sock"]
    assert (profile["maxProcesses"], profile["maxMemoryBytes"]) == (64, 2 << 30)


def test_hosts_become_rules_of_the_managed_network_and_nothing_else_is_open(setup):
    setup.user(CODEX)
    profile = mode_to_policy(setup.load().values, None)
    assert profile["networkAccess"] is False
    assert profile["networkRules"] == [
        "allow network host:example.com",
        "allow network host:example.org",
        "allow network host:*.example.org",
        "deny network host:bad.example.org",
    ]


def test_a_network_without_hosts_is_the_network():
    values = {"permissions": {"dev": {"network": {"enabled": True}}}}
    assert read_profile(values, "dev")["networkAccess"] is True
    values = {"permissions": {"dev": {"network": {"domains": {"x": "allow"}}}}}
    profile = read_profile(values, "dev")
    assert (profile["networkAccess"], profile["networkRules"]) == (False, [])


@pytest.mark.parametrize(
    ("name", "expected"),
    [(":read-only", "readOnly"), (":workspace", "workspaceWrite")],
)
def test_built_in_profiles_are_the_modes(setup, name, expected):
    setup.user()
    config = setup.load(flags={"default_permissions": name})
    assert mode_to_policy(config.values, None)["type"] == expected


class TestWhatMakesNoSense:
    """One sentence, with the file and the line."""

    @pytest.mark.parametrize(
        ("text", "line", "words"),
        [
            ('[permissions.dev]\nextend = "x"', 2, "unknown configuration key"),
            ('[permissions.dev]\nextends = ":nope"', 2, "cannot extend ':nope'"),
            (
                '[permissions.dev]\nextends = "b"\n[permissions.b]\nextends = "dev"',
                4,
                "in a circle: dev -> b -> dev",
            ),
            ('[permissions.dev.filesystem]\n":roots" = "read"', 2, "no place ':roots'"),
            ('[permissions.dev.filesystem]\n"src" = "read"', 2, "must be absolute"),
            ('[permissions.dev.filesystem]\n":root" = "all"', 2, "must be one of `read`"),
            ('[permissions.dev.filesystem]\n"/a/*.x" = "read"', 2, "can only be denied"),
            ('[permissions.dev.filesystem.":root"]\n"usr" = "read"', 1, "has no entries below"),
            (
                '[permissions.dev.filesystem.":project_roots"]\n"../x" = "write"',
                2,
                "must be a path below",
            ),
            ("[permissions.dev.filesystem]\nglob_scan_max_depth = 0", 2, "not below 1"),
            ('[permissions.dev.network]\ndomains = { "x" = "ask" }', 2, "`allow`, `deny`"),
            ('[permissions.dev.network]\nmode = "limited"\nenabled = true', 2, "needs `domains`"),
            ('[permissions.dev.limits]\nmax_memory = "much"', 2, "no amount of memory"),
            ('default_permissions = "dve"\n[permissions.dev]', 1, "no permission profile 'dve'"),
        ],
    )
    def test_is_refused_where_it_stands(self, setup, text, line, words):
        setup.user(text)
        with pytest.raises(ConfigError) as caught:
            setup.load()
        message = str(caught.value).splitlines()[0]
        assert message.startswith(f"{setup.home / 'config.toml'}:{line}:")
        assert words in message

    def test_of_an_administrator_it_names_his_file(self, setup):
        setup.user()
        setup.rules('[permissions.corp.filesystem]\n":roots" = "read"')
        with pytest.raises(ConfigError, match=r"requirements\.toml:2:1: there is no place"):
            setup.load()


class TestModeOrProfile:
    """Both say what commands may do, so only one of them can count."""

    def test_both_in_one_place_is_an_error_that_names_both(self, setup):
        setup.user('sandbox_mode = "read-only"\ndefault_permissions = "dev"\n[permissions.dev]')
        with pytest.raises(ConfigError, match=r"toml:2:1: `default_permissions`.*toml:1:1\) both"):
            setup.load()

    def test_the_higher_place_decides(self, setup):
        setup.user('default_permissions = "dev"\n[permissions.dev]')
        profile = setup.load()
        assert profile.get("sandbox_mode") is None
        assert profile.get("default_permissions") == "dev"
        mode = setup.load(flags={"sandbox_mode": "workspace-write"})
        assert mode.get("default_permissions") is None
        assert mode.get("sandbox_mode") == "workspace-write"

    def test_a_project_can_choose_and_change_neither(self, setup):
        setup.user('default_permissions = "dev"\n[permissions.dev]\nextends = ":read-only"')
        setup.project_file(
            'sandbox_mode = "read-only"\ndefault_permissions = ":workspace"\n'
            '[permissions.dev.filesystem]\n":root" = "write"'
        )
        config = setup.load()
        assert config.get("default_permissions") == "dev"
        assert entries(mode_to_policy(config.values, None)) == {":root": "read"}
        assert len([text for text in config.warnings if "is ignored" in text]) == 3

    def test_a_project_may_keep_more_from_being_read_and_not_less(self, setup):
        setup.user('sandbox_deny_read = ["*.key"]')
        setup.project_file('sandbox_deny_read = ["*.pem"]')
        assert setup.load().get("sandbox_deny_read") == ["*.key"]
        setup.project_file('sandbox_deny_read = ["*.pem", "*.key"]')
        assert setup.load().get("sandbox_deny_read") == ["*.pem", "*.key"]


class TestAdministrator:
    """`requirements.toml` says which profiles there are to choose from."""

    CORP = 'allowed_permission_profiles = ["corp"]\n[permissions.corp]\nextends = ":workspace"\n'

    def test_a_profile_that_is_not_allowed_is_refused(self, setup):
        setup.user('default_permissions = "own"\n[permissions.own]')
        setup.rules(self.CORP)
        with pytest.raises(
            ConfigError, match=r"toml:1:1: `default_permissions` is 'own', but.*corp"
        ):
            setup.load()

    def test_a_mode_is_refused_unless_its_profile_is_allowed(self, setup):
        setup.user('sandbox_mode = "workspace-write"')
        setup.rules(self.CORP)
        with pytest.raises(ConfigError, match=r"`sandbox_mode` is 'workspace-write', but.*corp"):
            setup.load()
        setup.rules(self.CORP.replace('["corp"]', '["corp", ":workspace"]'))
        config = setup.load()
        assert config.get("sandbox_mode") == "workspace-write"
        assert config.allowed["sandbox_mode"] == ("workspace-write",)

    def test_what_nobody_asked_for_gives_way_to_the_first_that_is_allowed(self, setup):
        setup.user()
        setup.rules(self.CORP)
        config = setup.load()
        assert config.get("default_permissions") == "corp"
        assert config.origin("default_permissions").layer == "requirements"
        assert config.allowed["default_permissions"] == ("corp",)
        assert config.allowed["sandbox_mode"] == ()

    def test_the_administrators_default_counts_without_any_other_rule(self, setup):
        setup.user()
        setup.rules('default_permissions = "corp"\n[permissions.corp]')
        assert setup.load().get("default_permissions") == "corp"
        setup.user('sandbox_mode = "read-only"')
        assert setup.load().get("sandbox_mode") == "read-only"

    def test_the_administrators_definition_cannot_be_changed_by_others(self, setup):
        setup.user('[permissions.corp.filesystem]\n"/" = "write"')
        setup.rules(self.CORP)
        config = setup.load()
        assert "/" not in entries(mode_to_policy(config.values, None))
        assert any("is the administrator's" in text for text in config.warnings)

    def test_a_name_without_a_profile_is_an_error(self, setup):
        setup.user()
        setup.rules('allowed_permission_profiles = ["corp"]')
        with pytest.raises(ConfigError, match=r"requirements.toml:1:1: there is no.*'corp'"):
            setup.load()

    def test_a_table_of_names_is_understood_as_well(self, setup):
        setup.user('default_permissions = "b"\n[permissions.b]')
        setup.rules('allowed_permission_profiles = { ":read-only" = true, b = false }')
        with pytest.raises(ConfigError, match="allows only the permission profiles :read-only"):
            setup.load()

    def test_a_profile_that_writes_is_held_to_the_allowed_modes(self, setup):
        setup.user('default_permissions = "own"\n[permissions.own]\nextends = ":workspace"')
        setup.rules('allowed_sandbox_modes = ["read-only"]')
        with pytest.raises(ConfigError, match="'own' counts as workspace-write"):
            setup.load()
