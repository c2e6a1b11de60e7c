"""Which layer wins, and that every value knows where it comes from."""

from pathlib import Path

import pytest

from ferrule.config.load import load_config
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigRequest


def test_without_any_file_the_defaults_are_filled_in(setup):
    config = setup.load()
    assert config.get("model") == "gpt-5.5"
    assert config.get("approval_policy") == "on-request"
    assert config.get("sandbox_mode") == "read-only"
    assert config.get("sandbox_backend") == "auto"
    assert config.get("store") == "jsonl"
    assert config.get("tools.update_plan.enabled") is False
    assert config.get("nothing.here", "fallback") == "fallback"
    assert config.values["model_provider"] == "openai"
    assert config.get("model_providers.openai.base_url") == "https://api.openai.com/v1"
    assert config.get("model_providers.openai.env_key") == "OPENAI_API_KEY"
    assert list(config.warnings) == []


def test_each_layer_beats_the_ones_below_it(setup):
    steps = [
        ("defaults", lambda: {}),
        ("system", lambda: (setup.admin / "config.toml").write_text('model = "system"')),
        ("user", lambda: (setup.home / "config.toml").write_text('model = "user"\n')),
        ("profile", lambda: (setup.home / "p.config.toml").write_text('model = "profile"')),
        ("project", lambda: (setup.user(), setup.project_file('model = "project"'))),
        ("-c", lambda: None),
        ("flag", lambda: None),
        ("managed", lambda: (setup.admin / "managed_config.toml").write_text('model = "managed"')),
    ]
    options: dict = {}
    for name, write in steps:
        write()
        if name == "profile":
            options["profile"] = "p"
        if name == "-c":
            options["overrides"] = ["model=first", "model=-c"]
        if name == "flag":
            options["flags"] = {"model": "flag"}
        config = setup.load(**options)
        assert config.get("model") == {"defaults": "gpt-5.5"}.get(name, name)
        assert config.origin("model").layer == name


def test_tables_mix_and_lists_replace(setup):
    (setup.admin / "config.toml").write_text(
        'notify = ["a", "b"]\n[features]\none = true\ntwo = true\n'
    )
    (setup.home / "config.toml").write_text('notify = ["c"]\n[features]\ntwo = false\n')
    config = setup.load()
    assert config.get("features") == {"one": True, "two": False}
    assert config.get("notify") == ["c"]


def test_the_project_file_nearest_to_the_working_directory_wins(setup):
    setup.user()
    setup.project_file('model = "root"\nreview_model = "root"\n')
    inner = setup.project / "a" / "b"
    (inner / ".ferrule").mkdir(parents=True)
    (inner / ".ferrule" / "config.toml").write_text('model = "inner"\n')
    config = setup.load(cwd=str(inner))
    assert config.get("model") == "inner"
    assert config.get("review_model") == "root"
    assert config.project_root == str(setup.project)
    assert setup.load().get("model") == "root"


@pytest.mark.parametrize(
    ("folders", "model"),
    [([".codex"], "codex"), ([".codex", ".ferrule"], "ferrule")],
    ids=["only .codex", "both"],
)
def test_codex_folder_counts_only_without_a_ferrule_folder(setup, folders, model):
    setup.user()
    for folder in folders:
        setup.project_file(f'model = "{folder[1:]}"', folder)
    assert setup.load().get("model") == model


def test_the_users_own_homes_are_never_project_files(setup):
    user_home = Path(setup.environ["HOME"])
    for folder in (".codex", ".ferrule"):
        (user_home / folder).mkdir(parents=True)
        (user_home / folder / "config.toml").write_text('model = "not a project"')
        config = setup.load(cwd=str(user_home))
        assert config.get("model") == "gpt-5.5"
        assert list(config.warnings) == []


def test_ignore_user_leaves_only_the_users_file_out(setup):
    (setup.admin / "config.toml").write_text('review_model = "system"')
    (setup.home / "config.toml").write_text("this is not TOML")
    config = setup.load(ignore_user=True)
    assert config.get("model") == "gpt-5.5"
    assert config.get("review_model") == "system"


@pytest.mark.parametrize("name", ["nope", "../home/p", ""])
def test_an_unknown_profile_is_an_error_that_lists_the_known_ones(setup, name):
    (setup.home / "work.config.toml").write_text("")
    with pytest.raises(ConfigError, match=r"no profile .*work"):
        setup.load(profile=name)


@pytest.mark.parametrize(
    "text", ['profile = "a"', '[profiles.a]\nmodel = "x"'], ids=["profile", "profiles"]
)
def test_legacy_profiles_say_what_to_do(setup, text):
    (setup.home / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"config.toml:1:\d+: .*--profile"):
        setup.load()


def test_openai_address_comes_from_key_then_variable(setup):
    setup.environ["OPENAI_BASE_URL"] = "http://variable/v1"
    assert setup.load().get("model_providers.openai.base_url") == "http://variable/v1"
    config = setup.load(overrides=["openai_base_url=http://key/v1"])
    assert config.get("model_providers.openai.base_url") == "http://key/v1"


def test_the_built_in_provider_cannot_be_redefined(setup):
    with pytest.raises(ConfigError, match=r"-c model_providers.openai.*openai_base_url"):
        setup.load(overrides=['model_providers.openai={base_url="http://x"}'])


def test_a_provider_nobody_described_is_an_error_that_names_the_option(setup):
    with pytest.raises(ConfigError, match=r"-c model_provider=nope: no model provider `nope`"):
        setup.load(overrides=["model_provider=nope"])


def test_a_provider_gets_its_name_and_wire_api(setup):
    config = setup.load(overrides=['model_providers.x={base_url="http://x"}'])
    assert config.get("model_providers.x.wire_api") == "responses"
    assert config.get("model_providers.x.name") == "x"


def test_origin_names_file_and_line(setup):
    file = setup.home / "config.toml"
    file.write_text('# a comment\n\nmodel = "m"\n[tools]\nupdate_plan = { enabled = true }\n')
    config = setup.load(overrides=["model_verbosity=low"])
    origin = config.origin("tools.update_plan.enabled")
    assert (origin.layer, origin.file, origin.line) == ("user", str(file), 5)
    assert config.origin("model").line == 3
    assert config.origin("model_verbosity").layer == "-c"
    assert config.origin("store").layer == "defaults"
    assert config.origin("oss_provider").layer == "unset"


def test_explain_shows_every_layer_the_deciding_one_first(setup):
    (setup.home / "config.toml").write_text('model = "user"')
    statements = setup.load(flags={"model": "flag"}).explain("model")
    assert [(s.origin.layer, s.value) for s in statements] == [
        ("flag", "flag"),
        ("user", "user"),
        ("defaults", "gpt-5.5"),
    ]


def test_paths_are_relative_to_their_file_and_options_to_the_working_directory(setup):
    for key in ("model_instructions_file", "experimental_compact_prompt_file"):
        (setup.home / "config.toml").write_text(f'{key} = "base.md"')
        assert setup.load().get(key) == str(setup.home / "base.md")
    flags = {"sandbox_workspace_write.writable_roots": ["out", "/abs"]}
    config = setup.load(flags=flags)
    expected = [str(setup.project / "out"), "/abs"]
    assert config.get("sandbox_workspace_write.writable_roots") == expected


def test_what_a_caller_hands_over_stays_as_it_is(setup):
    flags = {"sandbox_workspace_write": {"writable_roots": ["out"]}}
    setup.load(flags=flags)
    assert flags == {"sandbox_workspace_write": {"writable_roots": ["out"]}}


def test_an_unreadable_file_is_an_error(setup):
    (setup.home / "config.toml").mkdir()
    with pytest.raises(ConfigError, match=r"config.toml: the configuration cannot be read"):
        setup.load()


def test_the_administrators_folder_cannot_be_moved_by_the_environment(setup):
    environ = {**setup.environ, "FERRULE_ADMIN": str(setup.admin), "ETC": str(setup.admin)}
    (setup.admin / "config.toml").write_text('model = "not from here"')
    request = ConfigRequest(cwd=str(setup.project))
    assert load_config(request, home=setup.home, environ=environ).get("model") == "gpt-5.5"
