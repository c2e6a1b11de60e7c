"""`ferrule config` and `ferrule completion`, as a person uses them."""

import json
import sys

import pytest


def test_set_get_and_unset(ferrule):
    assert ferrule("config", "set", "model", "gpt-x").returncode == 0
    assert ferrule("config", "get", "model").stdout == "gpt-x\n"
    assert ferrule("config", "unset", "model").returncode == 0
    assert ferrule("config", "get", "model").stdout == "gpt-5.5\n"
    again = ferrule("config", "unset", "model")
    assert (again.returncode, str(ferrule.file) in again.stderr) == (1, True)


def test_a_file_that_is_wrong_can_be_mended(ferrule):
    ferrule.file.parent.mkdir(exist_ok=True)
    ferrule.file.write_text('sandbox_mode = "bogus"\n')
    assert ferrule("config", "get", "sandbox_mode").returncode == 1
    run = ferrule("config", "set", "sandbox_mode", "read-only")
    assert (run.returncode, run.stderr) == (0, "")
    assert ferrule("config", "get", "sandbox_mode").stdout == "read-only\n"


def test_what_is_no_text_is_printed_as_json(ferrule):
    ferrule("config", "set", "notify", '["a", "b"]')
    assert json.loads(ferrule("config", "get", "notify").stdout) == ["a", "b"]
    assert json.loads(ferrule("config", "get", "history").stdout) == {"persistence": "save-all"}


def test_a_profile_can_be_edited(ferrule):
    ferrule("config", "set", "model", "base")
    (ferrule.file.parent / "p.config.toml").write_text("")
    ferrule("config", "-p", "p", "set", "model", "profile")
    assert ferrule("config", "get", "model").stdout == "base\n"
    assert ferrule("-p", "p", "config", "get", "model").stdout == "profile\n"


def test_a_key_that_is_not_set_says_so(ferrule):
    run = ferrule("config", "get", "oss_provider")
    assert run.returncode == 1
    assert run.stderr == "error: `oss_provider` is not set; `ferrule config set` sets it\n"
    assert ferrule("config", "explain", "oss_provider").stdout == "oss_provider is not set\n"


def test_explain_for_people(ferrule):
    ferrule("config", "set", "model", "mine")
    run = ferrule("-c", "model=option", "config", "explain", "model")
    assert run.stdout == (
        'model = "option"\n'
        '  -c: "option" (in effect)\n'
        f'  user, {ferrule.file}:1: "mine" (overruled)\n'
        '  defaults: "gpt-5.5" (overruled)\n'
    )


def test_explain_for_programs(ferrule):
    ferrule("config", "set", "model", "mine")
    facts = json.loads(ferrule("config", "explain", "model", "--json").stdout)
    assert facts["origin"] == {"layer": "user", "file": str(ferrule.file), "line": 1}
    assert [layer["layer"] for layer in facts["layers"]] == ["user", "defaults"]


def test_schema_is_json(ferrule):
    schema = json.loads(ferrule("config", "schema").stdout)
    assert schema["properties"]["model"]["type"] == "string"
    assert schema["properties"]["tool_output_token_limit"]["minimum"] == 0


def complete(ferrule, *words):
    listed = " ".join(f"'{word}'" for word in words)
    run = ferrule.bash(
        f"source <({sys.executable} -m ferrule completion bash)\n"
        f"COMP_WORDS=(ferrule {listed}); COMP_CWORD={len(words)}\n"
        "$(complete -p ferrule | sed 's/.*-F \\([^ ]*\\).*/\\1/') ferrule\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert run.stderr == ""
    return run.stdout.split()


class TestCompletionInBash:
    def test_commands(self, ferrule):
        assert complete(ferrule, "con") == ["config"]
        assert {"config", "exec", "plugins"} <= set(complete(ferrule, ""))

    def test_options_before_the_command(self, ferrule):
        assert complete(ferrule, "--sa") == ["--safe-mode"]

    def test_options_of_a_raw_command(self, ferrule):
        assert complete(ferrule, "exec", "--sk") == ["--skip-git-repo-check"]
        assert complete(ferrule, "--safe-mode", "exec", "res") == ["resume"]

    def test_sub_commands_and_options_of_a_typer_app(self, ferrule):
        assert set(complete(ferrule, "config", "s")) == {"set", "schema"}
        assert complete(ferrule, "config", "explain", "--j") == ["--json"]
        assert complete(ferrule, "completion", "z") == ["zsh"]

    def test_profiles(self, ferrule):
        ferrule.file.parent.mkdir()
        (ferrule.file.parent / "work.config.toml").write_text("")
        assert complete(ferrule, "exec", "-p", "") == ["work"]

    def test_nothing_fits(self, ferrule):
        assert complete(ferrule, "exec", "some-file") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script_that_asks_for_it(ferrule, shell):
    run = ferrule("completion", shell)
    assert run.returncode == 0
    assert f"__complete {shell}" in run.stdout


@pytest.mark.parametrize("key", ["", "a..b"])
def test_unsetting_what_is_no_key_is_an_error_that_shows_it(ferrule, key):
    finished = ferrule("config", "unset", key)
    assert finished.returncode != 0
    assert f"{key!r}" in finished.stderr
    assert "is not a key" in finished.stderr
