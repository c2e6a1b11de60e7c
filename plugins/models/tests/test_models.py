"""What is known about models: the built-in catalogue, files that override it, and who shows it."""

import json
import os

import anyio
import pytest

from ferrule_hookspecs import PluginContext
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.models import ModelPrices
from ferrule_models.hooks import ferrule_models
from ferrule_testkit.model_items import function_call, message


@pytest.fixture
def ask(tmp_path):
    """Ask the catalogue of a home, given what `model_catalog_json` names."""

    def asked(model=None, **config):
        return list(anyio.run(ferrule_models, PluginContext(tmp_path, config), model))

    asked.home = tmp_path
    return asked


def write(file, *entries):
    file.write_text(json.dumps({"models": list(entries)}))
    return str(file)


def test_the_built_in_catalogue_knows_limits_and_prices(ask):
    (info,) = ask("gpt-5.5")

    assert info.provider == "openai"
    assert info.context_window == 272_000
    assert info.prices == ModelPrices(input=5.0, output=30.0, cached_input=0.5)


@pytest.mark.parametrize("name", ["gpt-5.5-2026-04-23", "openai/gpt-5.5", "gpt-5.5:latest"])
def test_a_dated_or_vendored_name_means_the_same_model(ask, name):
    (info,) = ask(name)

    assert info.name == name
    assert info.context_window == 272_000


def test_a_name_that_only_begins_like_a_known_one_is_not_taken_for_it(ask):
    assert ask("gpt-5.5-whatever") == []


def test_the_file_of_the_home_comes_before_the_built_in_one(ask):
    write(ask.home / "models.json", {"slug": "gpt-5.5", "context_window": 1000})

    assert [info.context_window for info in ask("gpt-5.5")] == [1000, 272_000]


def test_the_configured_file_comes_first_and_may_have_the_form_of_codex(ask):
    path = write(
        ask.home / "catalog.json",
        {
            "slug": "mine",
            "display_name": "Mine",
            "shell_type": "disabled",
            "apply_patch_tool_type": "freeform",
            "truncation_policy": {"mode": "bytes", "limit": 2000},
            "supports_parallel_tool_calls": False,
            "supported_reasoning_levels": [{"effort": "low", "description": "quick"}],
            "default_reasoning_level": "low",
            "priority": 1,
        },
    )

    (info,) = ask("mine", model_catalog_json=path)

    assert info.disabled_tools == ("exec_command", "write_stdin")
    assert info.freeform_tools
    assert info.tool_output_tokens == 500
    assert not info.parallel_tool_calls
    assert (info.reasoning_efforts, info.default_effort) == (("low",), "low")
    assert info.source == path


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "it is not JSON"),
        ("[]", 'it must be {"models": [...]}'),
        ('{"models": [1]}', "entry 1: it must be a table"),
        ('{"models": [{"name": "x"}]}', "entry 1: `slug`, the model's name, is missing"),
        (
            '{"models": [{"slug": "x", "context_window": "big"}]}',
            'entry 1 (x): `context_window` is "big"; it must be a number',
        ),
        (
            '{"models": [{"slug": "x", "prices": {"input": 1}}]}',
            "entry 1 (x): `prices` is",
        ),
        (
            '{"models": [{"slug": "x", "tool_calls": "psychic"}]}',
            '`tool_calls` is "psychic"; it must be "native" or "text"',
        ),
    ],
)
def test_a_broken_file_is_named_with_the_entry(ask, text, complaint):
    file = ask.home / "models.json"
    file.write_text(text)

    with pytest.raises(ConfigError) as raised:
        ask()

    assert str(file) in str(raised.value)
    assert complaint in str(raised.value)


def test_list_shows_every_model_and_marks_the_chosen_one(run_ferrule, ferrule_home):
    write(ferrule_home.path / "models.json", {"slug": "mine", "prices": {"input": 1, "output": 2}})

    shown = run_ferrule("models", "list", "-c", "model_provider=openai", "-c", "model=gpt-5")

    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert [line.split() for line in lines if " mine " in line] == [
        ["any", "mine", "-", "1", "1", "2"]
    ]
    assert [line.split()[:3] for line in lines if line.startswith("*")] == [
        ["*", "openai", "gpt-5"]
    ]


def test_list_is_json_for_programs_and_can_be_narrowed(run_ferrule):
    shown = run_ferrule("models", "list", "--json", "--provider", "anthropic")

    assert {entry["provider"] for entry in json.loads(shown.stdout)} == {"anthropic"}


def test_an_unknown_provider_or_model_is_named_with_a_mend(run_ferrule):
    provider = run_ferrule("models", "list", "--provider", "antropic")
    model = run_ferrule("models", "show", "gpt-5.6-lunar")

    assert (provider.returncode, model.returncode) == (1, 1)
    assert "no model provider 'antropic'; did you mean 'anthropic'?" in provider.stderr
    assert "did you mean 'gpt-5.6-luna'?" in model.stderr


def test_show_tells_where_the_facts_come_from(run_ferrule, ferrule_home):
    path = write(ferrule_home.path / "models.json", {"slug": "mine"})

    assert path in run_ferrule("models", "show", "mine").stdout


def test_a_run_and_a_thread_tell_what_they_cost(run_ferrule, ferrule_home, model_server):
    entry = {
        "slug": "priced",
        "prices": {"input": 10, "cached_input": 1, "output": 100},
    }
    write(ferrule_home.path / "models.json", entry)
    model_server.play([[message("one")], [message("two")]])

    first = run_ferrule("exec", "--json", "-m", "priced", "go").events[-1]
    second = run_ferrule("exec", "resume", "--last", "--json", "-m", "priced", "go").events[-1]

    # 100 tokens read of which 50 were cached, 10 written
    cost = (50 * 10 + 50 * 1 + 10 * 100) / 1_000_000
    assert first["cost_usd"] == first["thread_cost_usd"] == pytest.approx(cost)
    assert second["cost_usd"] == pytest.approx(cost)
    assert second["thread_cost_usd"] == pytest.approx(2 * cost)


def test_the_summary_for_people_names_the_cost(run_ferrule, ferrule_home, model_server):
    entry = {"slug": "priced", "prices": {"input": 1000, "output": 1000}}
    write(ferrule_home.path / "models.json", entry)
    model_server.play([[message("one")]])

    assert "(about $0.1100)" in run_ferrule("exec", "-m", "priced", "go").stderr


def test_no_cost_is_told_where_no_price_is_known(run_ferrule, model_server):
    model_server.play([[message("one")]])

    assert "cost_usd" not in run_ferrule("exec", "--json", "-m", "unheard-of", "go").events[-1]


def test_a_price_of_another_provider_does_not_count(run_ferrule, model_server):
    model_server.play([[message("one")]])

    assert "cost_usd" not in run_ferrule("exec", "--json", "-m", "gpt-5.5", "go").events[-1]


def test_tools_the_model_may_not_call_are_not_offered(run_ferrule, ferrule_home, model_server):
    write(ferrule_home.path / "models.json", {"slug": "quiet", "shell_type": "disabled"})
    model_server.play([[function_call("exec_command", {"cmd": "echo hi"})], [message("done")]])

    run = run_ferrule("exec", "--json", "-m", "quiet", "go")

    offered = [tool.get("name") for tool in model_server.requests[0].body["tools"]]
    assert "exec_command" not in offered
    assert "unsupported call: exec_command" in run.stdout


def test_a_catalogue_that_changes_is_read_again(ask):
    file = ask.home / "models.json"
    write(file, {"slug": "own", "context_window": 1000})
    (before,) = ask("own")

    write(file, {"slug": "own", "context_window": 2000})

    assert (before.context_window, ask("own")[0].context_window) == (1000, 2000)


def test_a_catalogue_that_is_a_pipe_keeps_nobody_waiting(ask):
    pipe = ask.home / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(ConfigError, match="it is not a file"):
        ask("own", model_catalog_json=str(pipe))
