"""Configuration: what is accepted comes over with its comments, nothing gets wider unasked."""

from __future__ import annotations

import json
import tomllib

import pytest


@pytest.fixture
def config(bare_home, fresh_ferrule, bring, statuses):
    """Import a `config.toml`; returns what was written and what became of each key."""

    def config(text, *options, own=None):
        (bare_home / "config.toml").write_text(text)
        target = fresh_ferrule.path / "config.toml"
        if own is not None:
            target.write_text(own)
        report = bring(bare_home, *options)
        found = statuses(report, "config") | statuses(report, "mcp")
        return (target.read_text() if target.exists() else ""), found

    return config


def test_no_sandbox_comes_over_only_when_asked_for(config):
    text = 'sandbox_mode = "danger-full-access"\napproval_policy = "never"\n'
    written, found = config(text)
    assert "sandbox_mode" not in written
    assert found["sandbox_mode"] == "danger"
    assert found["approval_policy"] == "danger"
    written, found = config(text, "--allow-dangerous")
    assert tomllib.loads(written)["sandbox_mode"] == "danger-full-access"
    assert found["sandbox_mode"] == "danger"


def test_no_sandbox_in_a_profile_is_kept_out_as_well(config, bare_home, fresh_ferrule):
    profile = 'sandbox_mode = "danger-full-access"\nmodel = "m"\n'
    (bare_home / "wild.config.toml").write_text(profile)
    _, found = config('[profiles.old]\nsandbox_mode = "danger-full-access"\nmodel = "n"\n')
    assert found["wild.config.toml: sandbox_mode"] == "danger"
    assert found["profiles.old.sandbox_mode"] == "danger"
    for name, model in (("wild", "m"), ("old", "n")):
        written = (fresh_ferrule.path / f"{name}.config.toml").read_text()
        assert tomllib.loads(written) == {"model": model}


@pytest.mark.parametrize(
    ("profile", "mode"),
    [
        (":read-only", "read-only"),
        (":workspace", "workspace-write"),
        (":danger-full-access", "workspace-write"),
        ("careful", "read-only"),
    ],
)
def test_a_permission_profile_becomes_nothing_wider(config, profile, mode):
    text = f'default_permissions = "{profile}"\n[permissions.careful]\nextends = ":read-only"\n'
    written, found = config(text)
    assert tomllib.loads(written) == {"sandbox_mode": mode}
    assert found["default_permissions"] == "left"
    assert found["permissions.careful.extends"] == "left"


def test_what_codex_dropped_works_here(config):
    written, found = config(
        'approval_policy = "untrusted"\n'
        '[model_providers.local]\nname = "l"\nbase_url = "http://127.0.0.1:1/v1"\n'
        'wire_api = "chat"\n'
    )
    values = tomllib.loads(written)
    assert values["approval_policy"] == "untrusted"
    assert values["model_providers"]["local"]["wire_api"] == "chat"
    assert found["approval_policy"] == "restored"
    assert found["model_providers.local.wire_api"] == "restored"


def test_keys_that_are_unknown_or_wrong_are_left_out_and_the_rest_comes_over(config):
    written, found = config(
        'model = "m"\nnonsense = 1\nmodel_context_window = "many"\nnotify = ["a"]\n'
        '[features]\nweb = true\nodd = "x"\n[tui]\ntheme = "dark"\n'
        '[mcp_servers.one]\ncommand = "c"\nfrobnicate = 1\n'
        "[model_providers.openai]\nname = 'mine'\n"
    )
    assert tomllib.loads(written) == {
        "model": "m",
        "notify": ["a"],
        "features": {"web": True},
        "tui": {"theme": "dark"},
        "mcp_servers": {"one": {"command": "c"}},
    }
    left = {name for name, status in found.items() if status == "left"}
    assert left == {
        "nonsense",
        "model_context_window",
        "features.odd",
        "mcp_servers.one.frobnicate",
        "model_providers.openai.name",
    }


def test_a_provider_that_is_not_described_is_not_chosen(config):
    written, found = config('model = "m"\nmodel_provider = "bedrock"\n')
    assert tomllib.loads(written) == {"model": "m"}
    assert found["model_provider"] == "left"


def test_what_is_there_wins_and_comments_stay(config):
    own = '# mine\nmodel = "own"  # best\n\n[tools.view_image]\nenabled = false\n'
    theirs = 'model = "m"\nmodel_verbosity = "low"\n[tools.update_plan]\nenabled = true\n'
    written, found = config(theirs, own=own)
    assert "# mine" in written
    assert "# best" in written
    assert tomllib.loads(written) == {
        "model": "own",
        "model_verbosity": "low",
        "tools": {"view_image": {"enabled": False}, "update_plan": {"enabled": True}},
    }
    assert found["model"] == "kept"
    assert found["model_verbosity"] == "taken"


def test_overwriting_keeps_the_former_file(config, fresh_ferrule):
    written, found = config('model = "m"\n', "--overwrite", own='model = "own"\n')
    assert tomllib.loads(written) == {"model": "m"}
    assert (fresh_ferrule.path / "config.toml.backup-1").read_text() == 'model = "own"\n'
    assert found["config.toml"] == "changed"


@pytest.mark.parametrize("options", [(), ("--overwrite",)], ids=["kept", "overwritten"])
def test_entries_are_never_mixed(config, options):
    own = '[mcp_servers.one]\nurl = "http://own/"\n'
    theirs = '[mcp_servers.one]\ncommand = "c"\n[mcp_servers.one.env]\nKEY = "secret"\n'
    written, _ = config(theirs, *options, own=own)
    one = tomllib.loads(written)["mcp_servers"]["one"]
    assert one == (
        {"command": "c", "env": {"KEY": "secret"}} if options else {"url": "http://own/"}
    )


def test_relative_paths_lead_to_where_they_led(config, bare_home):
    written, found = config(
        'model_instructions_file = "prompt.md"\n[[skills.config]]\npath = "x"\nenabled = true\n'
    )
    values = tomllib.loads(written)
    assert values["model_instructions_file"] == str(bare_home / "prompt.md")
    assert values["skills"]["config"] == [{"path": str(bare_home / "x"), "enabled": True}]
    assert found["model_instructions_file"] == "changed"


def test_old_profiles_become_files(config, fresh_ferrule):
    written, found = config(
        'profile = "fast"\nmodel = "m"\n[profiles.fast]\nmodel = "small"\n'
        '[profiles."../x"]\nmodel = "bad"\n'
    )
    assert tomllib.loads(written) == {"model": "m"}
    assert tomllib.loads((fresh_ferrule.path / "fast.config.toml").read_text()) == {
        "model": "small"
    }
    assert found["profile"] == "changed"
    assert found['profiles."../x"'] == "left"
    assert not (fresh_ferrule.path.parent / "x.config.toml").exists()


def test_secrets_in_variables_are_told_of(bare_home, bring, fresh_ferrule):
    (bare_home / "config.toml").write_text('model = "m"\n')
    (finding,) = [
        each
        for each in bring(bare_home)["findings"]
        if each["name"] == "shell_environment_policy.ignore_default_excludes"
    ]
    assert finding["status"] == "changed"


def test_secrets_are_named_but_not_shown(bare_home, bring, fresh_ferrule):
    (bare_home / "config.toml").write_text(
        '[model_providers.p]\nname = "p"\nbase_url = "http://127.0.0.1:1"\n'
        'experimental_bearer_token = "sekret-value"\n[model_providers.p.http_headers]\n'
        'X-Key = "sekret-value"\n[mcp_servers.m]\nurl = "http://127.0.0.1:1"\n'
        'bearer_token = "sekret-value"\n'
    )
    report = bring(bare_home)
    told = {each["name"]: each["status"] for each in report["findings"]}
    assert told["model_providers.p.experimental_bearer_token"] == "secret"
    assert told["model_providers.p.http_headers.X-Key"] == "secret"
    assert told["mcp_servers.m.bearer_token"] == "left"
    assert "sekret" not in json.dumps(report)
    assert (fresh_ferrule.path / "config.toml").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text", ["model = ", 'model = "a"\nmodel = "b"\n', "\x00", "é".encode("latin-1")]
)
def test_a_file_that_is_no_toml_is_a_failure_and_changes_nothing(
    bare_home, bring, fresh_ferrule, text
):
    (bare_home / "config.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    report = bring(bare_home)
    assert not report["ok"]
    assert not (fresh_ferrule.path / "config.toml").exists()


def test_an_own_file_that_is_no_toml_is_left_alone(bare_home, fresh_ferrule):
    (bare_home / "config.toml").write_text('model = "m"\n')
    (fresh_ferrule.path / "config.toml").write_text("model = ")
    done = fresh_ferrule.run("import", "codex", str(bare_home))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert (fresh_ferrule.path / "config.toml").read_text() == "model = "


def test_every_key_of_a_large_configuration_is_told_of(config):
    text = (
        'model = "m"\nreview_model = "r"\npersonality = "friendly"\nlog_dir = "/x"\n'
        'chatgpt_base_url = "https://x"\npreferred_auth_method = "apikey"\n'
        "[analytics]\nenabled = false\n[shell_environment_policy]\ninherit = 'core'\n"
        "ignore_default_excludes = true\nset = { A = 'b' }\n"
        "[sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = ['/y']\n"
        "[hooks]\nStop = []\n[notice]\nhide = true\n[agents]\nmax_threads = 3\n"
        "[agents.reviewer]\ndescription = 'd'\nconfig_file = 'agents/r.toml'\n"
        "[windows]\nsandbox = 'elevated'\n[memories]\nx = 1\n"
    )
    written, found = config(text)
    values = tomllib.loads(text)

    def leaves(table, path=()):
        for key, value in table.items():
            if isinstance(value, dict) and value:
                yield from leaves(value, (*path, key))
            else:
                yield ".".join((*path, key))

    assert set(leaves(values)) <= set(found)
    assert found["sandbox_workspace_write.network_access"] == "danger"
    assert found["hooks.Stop"] == "left"
    assert "hooks" not in tomllib.loads(written)


def test_what_an_installed_part_reads_is_simply_taken(config):
    _, found = config(
        'review_model = "r"\ncompact_prompt = "short"\nservice_tier = "flex"\n'
        'web_search = "live"\nproject_doc_max_bytes = 9\npersonality = "friendly"\n'
        "model_post_turn_compact_threshold_percent = 50\n"
        "[agents]\nmax_threads = 3\n[goals]\nmax_goal_token_budget = 5\n"
        "[skills]\nmax_context_tokens = 100\n"
    )
    waiting = {name for name, status in found.items() if status == "waiting"}
    assert waiting == {"personality", "model_post_turn_compact_threshold_percent"}


def test_instructions_that_a_part_reads_are_simply_taken(bare_home, bring):
    (bare_home / "AGENTS.md").write_text("Say please.\n")
    told = {each["name"]: each["status"] for each in bring(bare_home)["findings"]}
    assert told["AGENTS.md"] == "taken"


def test_the_command_alone_lists_what_can_be_imported(ferrule_home):
    done = ferrule_home.run("import")
    assert done.returncode == 0
    assert "codex" in done.stdout
    assert "sessions" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--only", "sesions"), "sesions"),
        (("--since", "yesterday"), "2026-01-31"),
    ],
)
def test_options_that_make_no_sense_are_refused(bare_home, ferrule_home, options, words):
    done = ferrule_home.run("import", "codex", str(bare_home), *options)
    assert done.returncode == 1
    assert words in done.stderr


def test_a_home_that_is_not_there_is_named(ferrule_home, tmp_path):
    done = ferrule_home.run("import", "codex", str(tmp_path / "nowhere"))
    assert done.returncode == 1
    assert "nowhere" in done.stderr
