"""`config/*`: what is read, what may be written, and what is kept from clients."""

from __future__ import annotations

import tomllib

import pytest


@pytest.fixture
def file(ferrule_home):
    return ferrule_home.path / "config.toml"


def test_the_configuration_comes_with_its_origins(client, file):
    read = client.call("config/read", includeLayers=True)
    assert read["config"]["model"] == "gpt-5.5"
    assert read["origins"]["model"]["name"] == {"type": "user", "file": str(file), "profile": None}
    [user] = [layer for layer in read["layers"] if layer["name"]["type"] == "user"]
    assert user["version"] == read["origins"]["model"]["version"]
    assert user["config"]["sandbox_mode"] == "workspace-write"


def test_options_of_the_server_are_told_as_flags_of_the_session(connect):
    read = connect("-c", "model=other").call("config/read")
    assert read["config"]["model"] == "other"
    assert read["origins"]["model"]["name"] == {"type": "sessionFlags"}


def test_another_folder_has_another_configuration(client, ferrule_home, tmp_path, file):
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".ferrule").mkdir()
    (project / ".ferrule" / "config.toml").write_text('model = "of-the-project"\n')
    assert client.call("config/read", cwd=str(project))["config"]["model"] == "gpt-5.5"

    key = f'projects."{project}".trust_level'
    client.call("config/value/write", keyPath=key, value="trusted", mergeStrategy="replace")
    read = client.call("config/read", cwd=str(project))
    assert read["config"]["model"] == "of-the-project"
    folder = str(project / ".ferrule")
    assert read["origins"]["model"]["name"] == {"type": "project", "dotCodexFolder": folder}
    assert client.call("config/read")["config"]["model"] == "gpt-5.5"


def test_values_and_keys_that_clients_do_not_know_are_told_as_ones_they_do(connect):
    config = connect("-c", 'approval_policy="on-failure"').call("config/read")["config"]
    assert config["approval_policy"] == "on-request"


def test_keys_written_in_the_clear_are_not_told(client, ferrule_home):
    ferrule_home.configure(
        provider='experimental_bearer_token = "s3cret"\n'
        'http_headers = { Authorization = "s3cret", X-Team = "blue" }',
        tables='[mcp_servers.one]\ncommand = "x"\nenv = { API_KEY = "s3cret", MODE = "fast" }\n'
        '[plugins.settings.gone]\ntoken = "s3cret"',
    )
    read = client.call("config/read", includeLayers=True)
    assert "s3cret" not in str(read)
    assert read["config"]["model_providers"]["scripted"]["http_headers"] == {"X-Team": "blue"}
    assert read["config"]["mcp_servers"]["one"]["env"] == {"MODE": "fast"}
    assert read["config"]["plugins"]["settings"] == {"gone": {"token": "(set)"}}


def test_a_written_value_counts_at_once_and_comments_stay(client, file):
    file.write_text("# mine\n" + file.read_text())
    written = client.call(
        "config/value/write", keyPath="model", value="gpt-5.5-mini", mergeStrategy="replace"
    )
    assert written["status"] == "ok"
    assert written["filePath"] == str(file)
    read = client.call("config/read")
    assert read["config"]["model"] == "gpt-5.5-mini"
    assert read["origins"]["model"]["version"] == written["version"]
    assert file.read_text().startswith("# mine\n")


def test_a_batch_is_written_whole_or_not_at_all(client, file, refused):
    before = file.read_text()
    edits = [
        {"keyPath": "features.a", "value": True, "mergeStrategy": "upsert"},
        {"keyPath": "model", "value": 5, "mergeStrategy": "replace"},
    ]
    with refused("Invalid configuration: .*model") as refusal:
        client.call("config/batchWrite", edits=edits)
    assert refusal.value.data == {"config_write_error_code": "configValidationError"}
    assert file.read_text() == before

    edits[1] = {"keyPath": "tools", "value": {"web_search": False}, "mergeStrategy": "upsert"}
    client.call("config/batchWrite", edits=edits, reloadUserConfig=True)
    values = tomllib.loads(file.read_text())
    assert values["features"] == {"a": True}
    assert values["tools"] == {"web_search": False}


def test_what_was_changed_meanwhile_is_not_overwritten(client, refused):
    write = {"keyPath": "model_reasoning_effort", "value": "low", "mergeStrategy": "replace"}
    first = client.call("config/value/write", **write)
    client.call(
        "config/value/write", **{**write, "value": "high"}, expectedVersion=first["version"]
    )
    with refused("Configuration was modified since last read") as refusal:
        client.call("config/value/write", **write, expectedVersion=first["version"])
    assert refusal.value.data == {"config_write_error_code": "configVersionConflict"}


def test_a_value_that_does_not_count_is_written_and_said(connect, file):
    client = connect("-c", "model=flag")
    written = client.call(
        "config/value/write", keyPath="model", value="mine", mergeStrategy="replace"
    )
    assert written["status"] == "okOverridden"
    assert written["overriddenMetadata"]["effectiveValue"] == "flag"
    assert tomllib.loads(file.read_text())["model"] == "mine"


def test_a_secret_that_counts_instead_is_not_told_however_its_key_is_written(connect):
    client = connect("-c", 'plugins.settings.gone.token="s3cret"')
    written = client.call(
        "config/value/write",
        keyPath="plugins.settings.gone . 'token'",
        value="mine",
        mergeStrategy="replace",
    )
    assert written["overriddenMetadata"]["effectiveValue"] == "(set)"


@pytest.mark.parametrize("path", ["/etc/ferrule/requirements.toml", "other.toml"])
def test_no_other_file_is_written(client, tmp_path, refused, path):
    with refused("Only writes to the user config are allowed") as refusal:
        client.call(
            "config/value/write",
            keyPath="model",
            value="x",
            mergeStrategy="replace",
            filePath=str(tmp_path / path),
        )
    assert refusal.value.data == {"config_write_error_code": "configLayerReadonly"}


def test_without_an_administrator_there_are_no_requirements(client):
    assert client.call("configRequirements/read") == {"requirements": None}
