"""The provider's key reaches no child: neither on a command line nor in an environment."""

import json
import sys

import pytest

from ferrule_testkit.model_items import function_call, message

WATCH = """\
import json, os, sys

def watch(event, arguments):
    if event == "subprocess.Popen":
        program, argv, _, environ = arguments
        environ = os.environ if environ is None else environ
        texts = [*map(os.fsdecode, argv), *(f"{os.fsdecode(n)}={os.fsdecode(v)}"
                 for n, v in environ.items())]
        with open(os.environ.get("WATCH_LOG", "/dev/null"), "a") as log:
            log.write(json.dumps(texts) + "\\n")

sys.addaudithook(watch)
"""


@pytest.fixture
def children(run_ferrule, ferrule_home, tmp_path):
    """Run a command; returns the run and of each child its arguments and variables."""
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    log = tmp_path / "children"
    ferrule_home.environ.update({"PYTHONPATH": str(tmp_path / "watch"), "WATCH_LOG": str(log)})
    ferrule_home.environ.pop("PYTHONNOUSERSITE", None)

    def run(*arguments, **options):
        log.write_text("")
        return run_ferrule(*arguments, **options), [
            json.loads(line) for line in log.read_text().splitlines()
        ]

    return run


def test_neither_commands_nor_servers_get_the_key(children, ferrule_home, model_server):
    show = "env; cat /proc/self/environ /proc/$PPID/environ"
    model_server.play([[function_call("exec_command", {"cmd": show})], [message("done")]])
    server = f'command = {sys.executable!r}\nargs = ["-c", "print()"]'
    ferrule_home.configure(tables=f"[mcp_servers.quick]\n{server}\n")
    secret = ferrule_home.environ["SCRIPTED_KEY"]

    run, started = children("exec", "--json", "do it")

    assert run.returncode == 0, run.stderr
    assert any("print()" in words for words in started)
    assert len(started) > 2
    assert not [words for words in started if any(secret in word for word in words)]
    (shown,) = run.items("command_execution")
    assert "PATH=" in shown["aggregated_output"]
    assert secret not in run.stdout + run.stderr
