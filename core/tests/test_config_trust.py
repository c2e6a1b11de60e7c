"""Trust, what a project's file may set, and the administrator's constraints."""

import pytest

from ferrule.config.load import load_plugin_rules
from ferrule_hookspecs.errors import ConfigError

GRANULAR = {"granular": dict.fromkeys(("sandbox_approval", "rules", "mcp_elicitations"), True)}

GRANULAR_TOML = "{ sandbox_approval = true, rules = true, mcp_elicitations = true }"


class TestTrust:
    def test_an_untrusted_projects_file_is_not_even_parsed(self, setup):
        config = setup.load("this is = = not TOML")
        assert config.is_trusted is False
        assert config.get("sandbox_mode") == "read-only"
        (warning,) = config.warnings
        assert str(setup.file) in warning
        assert "--trust" in warning

    def test_without_a_file_there_is_nothing_to_warn_about(self, setup):
        assert list(setup.load().warnings) == []

    def test_trust_gives_workspace_write_by_default(self, setup):
        setup.user()
        config = setup.load('model = "project"')
        assert config.is_trusted is True
        assert config.get("sandbox_mode") == "workspace-write"
        assert config.get("model") == "project"

    def test_trust_of_the_root_counts_in_every_folder_of_the_project(self, setup):
        setup.user()
        (setup.project / "deep").mkdir()
        assert setup.load(cwd=setup.project / "deep").is_trusted is True

    def test_trust_works_through_a_symlink(self, setup, tmp_path):
        setup.user()
        (tmp_path / "link").symlink_to(setup.project)
        assert setup.load(cwd=tmp_path / "link").is_trusted is True

    def test_a_project_cannot_trust_itself(self, setup):
        setup.user()
        other = setup.project / "vendored"
        (other / ".git").mkdir(parents=True)
        config = setup.load(f'[projects."{other}"]\ntrust_level = "trusted"')
        assert any("`projects` is ignored" in warning for warning in config.warnings)
        assert setup.load(cwd=other).is_trusted is False

    def test_a_git_file_that_points_into_a_trusted_repository_earns_no_trust(self, setup, tmp_path):
        setup.user()
        forged = tmp_path / "forged"
        forged.mkdir()
        (forged / ".git").write_text(f"gitdir: {setup.project}/.git/worktrees/x\n")
        assert setup.load(cwd=forged).is_trusted is False

    def test_trusting_is_remembered_and_keeps_comments(self, setup):
        setup.user("# mine\nmodel = 'm' # why\n", trust=None)
        assert setup.load('review_model = "p"', trust_project=True).get("review_model") == "p"
        text = (setup.home / "config.toml").read_text()
        assert text.startswith("# mine\nmodel = 'm' # why\n")
        assert setup.load().is_trusted is True

    def test_what_is_marked_untrusted_is_not_trusted_by_a_flag(self, setup):
        setup.user(trust="untrusted")
        with pytest.raises(ConfigError, match=r"config.toml:3:1: .* is marked as untrusted"):
            setup.load(trust_project=True)

    def test_an_option_with_a_quoted_key_trusts_for_one_run(self, setup):
        override = f'projects."{setup.project}".trust_level="trusted"'
        assert setup.load(overrides=[override]).is_trusted is True
        assert setup.load().is_trusted is False


class TestNarrowing:
    @pytest.mark.parametrize(
        ("user", "project", "key", "value"),
        [
            ("", 'sandbox_mode = "read-only"', "sandbox_mode", "read-only"),
            ("", 'approval_policy = "untrusted"', "approval_policy", "untrusted"),
            ("", 'web_search = "disabled"', "web_search", "disabled"),
            ('web_search = "live"', 'web_search = "cached"', "web_search", "cached"),
            (
                'sandbox_recipes = ["npm", "docker"]',
                'sandbox_recipes = ["npm"]',
                "sandbox_recipes",
                ["npm"],
            ),
            ("tools.x.enabled = true", "tools.x.enabled = false", "tools.x.enabled", False),
            ("allow_login_shell = true", "allow_login_shell = false", "allow_login_shell", False),
            (
                "sandbox_workspace_write.network_access = true",
                "sandbox_workspace_write.network_access = false",
                "sandbox_workspace_write.network_access",
                False,
            ),
            (
                'sandbox_workspace_write.writable_roots = ["/a", "/b"]',
                'sandbox_workspace_write.writable_roots = ["/a"]',
                "sandbox_workspace_write.writable_roots",
                ["/a"],
            ),
            (
                'shell_environment_policy.exclude = ["A"]',
                'shell_environment_policy.exclude = ["A", "B"]',
                "shell_environment_policy.exclude",
                ["A", "B"],
            ),
            (
                "",
                'shell_environment_policy.inherit = "core"',
                "shell_environment_policy.inherit",
                "core",
            ),
        ],
    )
    def test_narrower_counts(self, setup, user, project, key, value):
        setup.user(user)
        assert setup.load(project).get(key) == value

    @pytest.mark.parametrize(
        ("user", "project", "key"),
        [
            ("", 'sandbox_mode = "danger-full-access"', "sandbox_mode"),
            ("", 'sandbox_mode = "external-sandbox"', "sandbox_mode"),
            ('sandbox_mode = "read-only"', 'sandbox_mode = "workspace-write"', "sandbox_mode"),
            (
                'sandbox_mode = "external-sandbox"',
                'sandbox_mode = "danger-full-access"',
                "sandbox_mode",
            ),
            ("", 'approval_policy = "never"', "approval_policy"),
            ('sandbox_recipes = ["npm"]', 'sandbox_recipes = ["docker"]', "sandbox_recipes"),
            ('approval_policy = "untrusted"', 'approval_policy = "on-request"', "approval_policy"),
            (
                "",
                f"approval_policy.granular = {GRANULAR_TOML}",
                "approval_policy",
            ),
            ("", 'approvals_reviewer = "auto_review"', "approvals_reviewer"),
            ("", 'sandbox_backend = "none"', "sandbox_backend"),
            ("", 'sandbox_accept_gaps = ["protected_paths"]', "sandbox_accept_gaps"),
            ("", 'sandbox_workspace_write.writable_roots = ["/"]', "writable_roots"),
            ("", "sandbox_workspace_write.network_access = true", "network_access"),
            (
                "sandbox_workspace_write.exclude_slash_tmp = true",
                "sandbox_workspace_write.exclude_slash_tmp = false",
                "exclude_slash_tmp",
            ),
            ("", 'notify = ["touch", "x"]', "notify"),
            ("", 'openai_base_url = "http://evil"', "openai_base_url"),
            ("", 'model_provider = "openai"', "model_provider"),
            ("", 'model_providers.evil.base_url = "http://evil"', "model_providers"),
            ("", 'profile = "x"', "profile"),
            ("", 'otel.exporter = "otlp-http"', "otel"),
            ("", 'mcp_servers.x.command = "x"', "mcp_servers"),
            ("", "hooks.dangerously_bypass_trust = true", "hooks"),
            ("", 'hooks.files = ["x.json"]', "hooks"),
            ("", 'hooks.state.x.trusted_hash = "y"', "hooks"),
            ("", 'plugins.allow = ["evil"]', "plugins"),
            ("", 'plugins.disabled = ["guard"]', "plugins"),
            ("", 'shell_environment_policy.set.LD_PRELOAD = "x"', "shell_environment_policy"),
            ("", "shell_environment_policy.ignore_default_excludes = true", "ignore_default"),
            (
                'shell_environment_policy.exclude = ["A"]',
                "shell_environment_policy.exclude = []",
                "exclude",
            ),
            ("tools.x.enabled = false", "tools.x.enabled = true", "tools.x.enabled"),
            ("tools.x = false", "tools.x.enabled = true", "tools.x.enabled"),
            ("", "tools.web_search = true", "tools.web_search"),
            ("", 'web_search = "live"', "web_search"),
            ("", 'permissions.x.extends = ":danger"', "permissions"),
            ("", 'history.persistence = "none"', "history"),
            ("", 'project_root_markers = ["x"]', "project_root_markers"),
            ("", 'model_instructions_file = "/etc/passwd"', "model_instructions_file"),
            ("", 'model_instructions_file = "../../home/x"', "model_instructions_file"),
            ("", 'project_doc_fallback_filenames = ["../x"]', "project_doc_fallback_filenames"),
            ("", "features.anything = true", "features"),
        ],
    )
    def test_wider_is_ignored_with_one_warning_that_names_file_and_key(
        self, setup, user, project, key
    ):
        setup.user(user)
        without = dict(setup.load("").values)
        config = setup.load(project)
        assert dict(config.values) == without
        about = [warning for warning in config.warnings if "is ignored" in warning]
        assert len(about) == 1
        assert about[0].startswith(f"{setup.file}:1:")
        assert key in about[0]

    def test_hooks_are_left_to_their_plugin_which_asks_for_trust_in_each(self, setup):
        setup.user('hooks.Stop = [{hooks = [{command = "mine"}]}]')
        without = dict(setup.load("").values)
        config = setup.load('hooks.Stop = [{hooks = [{command = "theirs"}]}]')
        assert dict(config.values) == without
        assert not [warning for warning in config.warnings if "is ignored" in warning]

    def test_every_key_of_the_file_is_either_known_to_be_harmless_or_checked(self, setup):
        setup.user()
        config = setup.load('model_instructions_file = "prompt.md"\nmodel_verbosity = "low"\n')
        assert config.get("model_instructions_file") == str(setup.file.parent / "prompt.md")
        assert config.get("model_verbosity") == "low"

    def test_an_inner_file_cannot_widen_what_an_outer_one_narrowed(self, setup):
        setup.user()
        inner = setup.project / "inner"
        (inner / ".ferrule").mkdir(parents=True)
        (inner / ".ferrule" / "config.toml").write_text('sandbox_mode = "workspace-write"')
        config = setup.load('sandbox_mode = "read-only"', cwd=inner)
        assert config.get("sandbox_mode") == "read-only"

    def test_the_user_may_still_widen_on_the_command_line(self, setup):
        setup.user()
        config = setup.load('sandbox_mode = "read-only"', flags={"sandbox_mode": "workspace-write"})
        assert config.get("sandbox_mode") == "workspace-write"

    def test_explain_shows_what_was_ignored(self, setup):
        setup.user()
        (statement,) = setup.load('notify = ["x"]').explain("notify")
        assert "ignored" in statement.note


class TestRequirements:
    def test_asking_for_what_is_not_allowed_is_an_error_that_names_both_places(self, setup):
        setup.rules('allowed_sandbox_modes = ["read-only"]')
        with pytest.raises(ConfigError, match=r"-c sandbox_mode=.*only read-only \(.*:1:1\)"):
            setup.load(overrides=["sandbox_mode=danger-full-access"])
        setup.user('approval_policy = "never"')
        setup.rules('allowed_approval_policies = ["on-request"]')
        with pytest.raises(ConfigError, match=r"config.toml:1:1: `approval_policy` is 'never'"):
            setup.load()

    def test_explain_tells_what_the_administrator_allows(self, setup):
        setup.user('approval_policy = "untrusted"')
        setup.rules('allowed_approval_policies = ["untrusted", "on-request"]')
        used, *_, allowed = setup.load().explain("approval_policy")
        assert used.value == "untrusted"
        assert allowed.value == ["untrusted", "on-request"]
        assert "administrator allows" in allowed.note
        assert (allowed.origin.layer, allowed.origin.line) == ("requirements", 1)

    def test_a_plugin_that_only_the_user_allows_is_named(self, setup):
        setup.user('[plugins]\nallow = ["acme", "ferrule-exec"]')
        setup.rules('[plugins]\nallow = ["ferrule-exec==0.1.0"]')
        config = setup.load()
        assert config.get("plugins.allow") == ["ferrule-exec==0.1.0"]
        (warning,) = config.warnings
        assert "names 'acme', which the administrator does not allow" in warning

    def test_a_default_that_is_not_allowed_gives_way_with_a_warning(self, setup):
        setup.user()
        setup.rules('allowed_sandbox_modes = ["read-only"]')
        config = setup.load()
        assert config.get("sandbox_mode") == "read-only"
        assert config.origin("sandbox_mode").layer == "requirements"
        assert len(config.warnings) == 1

    @pytest.mark.parametrize(
        ("rule", "key", "value"),
        [
            ('allowed_approvals_reviewers = ["user"]', "approvals_reviewer", "auto_review"),
            ('allowed_sandbox_backends = ["auto"]', "sandbox_backend", "none"),
            ('allowed_approval_policies = ["on-request"]', "approval_policy", GRANULAR),
            ("allowed_sandbox_gaps = []", "sandbox_accept_gaps", ["missing_names"]),
            ('allowed_recipes = ["npm"]', "sandbox_recipes", ["npm", "docker"]),
            (
                'allowed_sandbox_gaps = ["missing_names"]',
                "sandbox_accept_gaps",
                ["missing_names", "protected_paths"],
            ),
        ],
    )
    def test_reviewers_backends_and_granular_policies_are_constrained_too(
        self, setup, rule, key, value
    ):
        setup.rules(rule)
        with pytest.raises(ConfigError, match="the administrator allows only"):
            setup.load(flags={key: value})

    def test_gaps_that_nobody_accepts_need_no_allowance(self, setup):
        setup.rules("allowed_sandbox_gaps = []")
        assert setup.load().get("sandbox_accept_gaps") == []

    def test_allowed_gaps_may_be_accepted(self, setup):
        setup.rules('allowed_sandbox_gaps = ["missing_names"]')
        flags = {"sandbox_accept_gaps": ["missing_names"]}
        assert setup.load(flags=flags).get("sandbox_accept_gaps") == ["missing_names"]

    def test_writes_everywhere_are_no_gap_that_can_be_accepted(self, setup):
        setup.user('sandbox_accept_gaps = ["filesystem"]\n')
        with pytest.raises(ConfigError, match="sandbox_accept_gaps"):
            setup.load()

    def test_a_constraint_that_is_not_understood_stops_the_run(self, setup):
        setup.rules('allowed_sandbox_mode = ["read-only"]')
        with pytest.raises(ConfigError, match="did you mean `allowed_sandbox_modes`"):
            setup.load()

    def test_an_empty_list_leaves_nothing_and_says_so(self, setup):
        setup.rules("allowed_sandbox_modes = []")
        with pytest.raises(ConfigError, match="leaves no value"):
            setup.load()

    def test_plugin_rules_are_added_to_the_users(self, setup):
        setup.rules(
            "[plugins]\nrequired = ['guard']\nblock = ['bad']\n"
            "allow = [{ name = 'a', version = '1.0' }, 'b']\n"
        )
        setup.user("plugins.allow = ['a', 'evil']\nplugins.block = ['mine']\n")
        plugins = setup.load().get("plugins")
        assert plugins["required"] == ["guard"]
        assert plugins["block"] == ["bad", "mine"]
        assert plugins["allow"] == [{"name": "a", "version": "1.0"}]
        assert load_plugin_rules(setup.home, setup.admin) == plugins

    def test_the_managed_file_overrules_an_option_and_says_so(self, setup):
        (setup.admin / "managed_config.toml").write_text('sandbox_mode = "read-only"\n')
        config = setup.load(flags={"sandbox_mode": "danger-full-access"})
        assert config.get("sandbox_mode") == "read-only"
        assert ["overruled by" in warning for warning in config.warnings] == [True]
