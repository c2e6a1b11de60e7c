"""No command calls out by itself: only the model's provider is connected to, and only by a turn."""

import json

import pytest

from ferrule_testkit.model_items import function_call, message

WATCH = """\
import os, sys

def watch(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        told = arguments[1][:2]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        told = arguments[:2]
    else:
        return
    with open(os.environ["WATCH_LOG"], "a") as log:
        log.write(repr(told) + "\\n")

sys.addaudithook(watch)
"""


@pytest.fixture
def watched(run_ferrule, ferrule_home, tmp_path):
    """Run a command; returns the run and the addresses that it and its children asked for."""
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    log = tmp_path / "calls"
    ferrule_home.environ.update({"PYTHONPATH": str(tmp_path / "watch"), "WATCH_LOG": str(log)})
    ferrule_home.environ.pop("PYTHONNOUSERSITE", None)

    def run(*arguments, **options):
        log.write_text("")
        return run_ferrule(*arguments, **options), set(log.read_text().splitlines())

    return run


@pytest.mark.parametrize(
    "line",
    [
        "--version",
        "--help",
        "help",
        "help exec",
        "completion bash",
        "config get model",
        "config explain model",
        "config schema",
        "plugins list",
        "plugins refresh",
        "models list",
        "models show gpt-5.5",
        "threads list",
        "doctor --no-network",
        "sandbox -- true",
        "import codex --dry-run",
        "exec",
    ],
)
def test_a_command_that_needs_no_model_connects_to_nothing(watched, line):
    run, calls = watched(*line.split())

    assert run.returncode in (0, 1), run.stderr
    assert calls == set()


@pytest.mark.slow
def test_the_demo_connects_to_nothing(watched):
    run, calls = watched("demo")

    assert (run.returncode, calls) == (0, set()), run.stderr


def test_a_turn_connects_to_the_provider_alone(watched, model_server):
    model_server.play([[function_call("exec_command", {"cmd": "true"})], [message("done")]])

    run, calls = watched("exec", "go")

    assert run.returncode == 0, run.stderr
    host, port = model_server.base_url.split("/")[2].split(":")
    allowed = {repr((host, int(port))), repr((host, port)), repr((host.encode(), int(port)))}
    assert calls
    assert calls <= allowed


def test_the_watch_sees_what_is_typed(watched):
    run, calls = watched("update-check", "--index-url", "http://127.0.0.1:1/simple")

    assert run.returncode == 1
    assert json.dumps(sorted(calls)).count("127.0.0.1") >= 1
