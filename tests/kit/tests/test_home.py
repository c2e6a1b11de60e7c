"""The temporary home, and finding what a program left behind."""

import subprocess
import sys
import tomllib

from ferrule_testkit.processes import survivors


def test_the_configuration_points_at_the_scripted_model(ferrule_home, model_server):
    ferrule_home.configure(provider="stream_max_retries = 2")
    config = tomllib.loads((ferrule_home.path / "config.toml").read_text())
    provider = config["model_providers"]["scripted"]
    assert provider["base_url"] == model_server.base_url
    assert provider["stream_max_retries"] == 2
    assert provider["env_key"] in ferrule_home.environ


def test_the_callers_own_settings_do_not_reach_the_run(monkeypatch, tmp_path):
    from ferrule_testkit.home import make_home

    monkeypatch.setenv("OPENAI_API_KEY", "real")
    monkeypatch.setenv("FERRULE_HOME", "/real")
    monkeypatch.setenv("XDG_CACHE_HOME", "/real")
    home = make_home(tmp_path / "x", "http://127.0.0.1:1/v1")
    assert not {"OPENAI_API_KEY", "XDG_CACHE_HOME"} & home.environ.keys()
    assert home.environ["FERRULE_HOME"] == str(home.path)


def test_survivors_are_found_by_their_environment():
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"MARK": "survivor-test-7f3a"}
    ) as process:
        found = survivors("survivor-test-7f3a")
        process.communicate(b"\n")
    assert list(found) == [process.pid]
    assert "input()" in found[process.pid]
    assert survivors("survivor-test-7f3a") == {}
