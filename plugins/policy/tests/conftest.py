"""Threads made by real runs, and replays of them."""

import hashlib
import json

import pytest

from ferrule_testkit.model_items import function_call, message


@pytest.fixture
def thread(ferrule_home, model_server):
    """Run commands in one session; returns what the run left."""

    def thread(*commands, options=(), **arguments):
        calls = [
            [function_call("exec_command", {"cmd": cmd, **arguments}, call_id=f"c{number}")]
            for number, cmd in enumerate(commands)
        ]
        model_server.play([*calls, [message("done")]])
        finished = ferrule_home.run("exec", "--json", *options, "go")
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished

    return thread


@pytest.fixture
def rules(ferrule_home):
    """Write rules into a folder that is a policy, the home without a name."""

    def rules(text, name=None, config=None):
        folder = ferrule_home.path if name is None else ferrule_home.path.parent / name
        (folder / "rules").mkdir(parents=True, exist_ok=True)
        (folder / "rules" / "own.rules").write_text(text)
        if config is not None:
            (folder / "config.toml").write_text(config)
        return str(folder)

    return rules


@pytest.fixture
def replay(ferrule_home):
    """Replay, and return what is printed as JSON."""

    def replay(*arguments):
        finished = ferrule_home.run("policy", "replay", "--json", *arguments)
        assert finished.returncode == 0, finished.stderr
        return json.loads(finished.stdout)

    return replay


@pytest.fixture
def fingerprint():
    """Everything that could change about a tree, but for the index every listing keeps current."""

    def fingerprint(root):
        facts = {}
        for path in sorted(root.rglob("*")):
            if path.is_file() and not path.name.startswith("index.sqlite"):
                data = path.read_bytes()
                facts[str(path)] = (path.stat().st_mtime_ns, hashlib.sha256(data).hexdigest())
        return facts

    return fingerprint
