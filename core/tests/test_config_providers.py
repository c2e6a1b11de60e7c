"""Which model provider serves where nobody names one, and which model it is asked for."""

import pytest

from ferrule_hookspecs.errors import ConfigError

WEIGHTS = "models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"


@pytest.fixture
def fetched(setup):
    """A home in which the embedded model's weights lie."""
    file = setup.home / WEIGHTS
    file.parent.mkdir()
    file.touch()
    return setup


def test_the_embedded_model_serves_where_its_weights_are_and_no_key_is_set(fetched):
    config = fetched.load()

    assert config.get("model_provider") == "local"
    assert config.get("model") == "qwen2.5-coder-1.5b-instruct"
    assert config.origin("model_provider").layer == "surroundings"


def test_a_key_keeps_the_embedded_model_away(fetched):
    fetched.environ["OPENAI_API_KEY"] = "sk-something"

    assert fetched.load().get("model_provider") == "openai"


def test_a_configured_provider_keeps_the_embedded_model_away(fetched):
    fetched.user('model_provider = "anthropic"\n')

    assert fetched.load().get("model_provider") == "anthropic"


def test_without_weights_and_key_nothing_is_chosen_silently(setup):
    assert setup.load().get("model_provider") == "openai"


def test_a_provider_brings_its_default_model(setup):
    config = setup.load(flags={"model_provider": "ollama"})

    assert config.get("model") == "gpt-oss:20b"
    assert config.origin("model").layer == "provider"


@pytest.mark.parametrize("place", ["file", "option"])
def test_a_configured_model_beats_the_providers_default(setup, place):
    setup.user('model = "mine"\n' if place == "file" else "")
    overrides = ["model=mine"] if place == "option" else []

    config = setup.load(flags={"model_provider": "ollama"}, overrides=overrides)

    assert config.get("model") == "mine"


def test_oss_means_the_provider_that_the_user_names(setup):
    setup.user('oss_provider = "lmstudio"\n')

    config = setup.load(flags={"model_provider": "oss"})

    assert config.get("model_provider") == "lmstudio"
    assert config.get("model") == "openai/gpt-oss-20b"


def test_oss_means_ollama_where_nobody_names_one(setup):
    assert setup.load(flags={"model_provider": "oss"}).get("model_provider") == "ollama"


def test_a_user_changes_one_key_of_a_built_in_provider(setup):
    setup.user('[model_providers.ollama]\nbase_url = "http://gpu:11434/v1"\n')

    config = setup.load()

    assert config.get("model_providers.ollama.base_url") == "http://gpu:11434/v1"
    assert config.get("model_providers.ollama.wire_api") == "chat"


def test_an_unknown_provider_is_named_with_those_that_are_known(setup):
    with pytest.raises(ConfigError, match=r"no model provider `olama`; did you mean `ollama`\?"):
        setup.load(flags={"model_provider": "olama"})


def test_the_administrator_says_which_providers_may_be_used(setup):
    setup.rules('allowed_model_providers = ["anthropic", "ollama"]')

    with pytest.raises(ConfigError, match=r"`model_provider` is 'openai'.*anthropic, ollama"):
        setup.load(flags={"model_provider": "openai"})
    assert setup.load(flags={"model_provider": "oss"}).get("model_provider") == "ollama"


@pytest.mark.parametrize("is_fetched", [True, False])
def test_a_provider_that_nobody_chose_gives_way_to_the_first_allowed_one(fetched, is_fetched):
    (fetched.home / WEIGHTS).touch() if is_fetched else (fetched.home / WEIGHTS).unlink()
    fetched.rules('allowed_model_providers = ["anthropic"]')

    config = fetched.load()

    assert config.get("model_provider") == "anthropic"
    assert config.get("model") == "claude-sonnet-5-5"
    assert any("`model_provider` is 'anthropic'" in warning for warning in config.warnings)
