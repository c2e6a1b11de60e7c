"""Python clients written for Codex drive `ferrule app-server` unchanged.

`FERRULE_TEST_PYTHON_CLIENTS` names the folder they are installed in (`pip install --target`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule_testkit.model_items import freeform_call, function_call, message

CONVERSATIONS = {
    "codex_app_server_sdk": Path(__file__).with_name("codex_app_server_sdk_conversation.py"),
    "openai_codex": Path(__file__).with_name("openai_codex_conversation.py"),
}
LONG = {"cmd": "touch begun.txt; sleep 60", "yield_time_ms": 30000}
PATCH = "*** Begin Patch\n*** Add File: patched.txt\n+patched\n*** End Patch\n"


@pytest.fixture
def client(missing_here):
    """Runs a script with the named client on its path; returns what it printed."""
    folder = Path(os.environ.get("FERRULE_TEST_PYTHON_CLIENTS", "python-clients"))

    def run(module: str, script: Path, *arguments: object, env: dict[str, str]) -> str:
        if not (folder / module).exists():
            missing_here(
                f"{folder / module} is not there (set FERRULE_TEST_PYTHON_CLIENTS); "
                f"{module} was not tried"
            )
        done = subprocess.run(
            [sys.executable, script, *map(str, arguments)],
            env={**env, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.timeout(600)
def test_the_official_sdk(client, recorded, ferrule_home, scripted_by_driver, tmp_path):
    """The 30 checks of the official `openai-codex`, recorded against Codex itself."""
    log = tmp_path / "model.jsonl"
    script = recorded.folder / "clients" / "script.json"
    with scripted_by_driver(script, log) as base_url:
        home = ferrule_home
        text = (home.path / "config.toml").read_text().replace(home.base_url, base_url)
        (home.path / "config.toml").write_text(text.replace('"never"', '"on-request"'))
        said = client(
            "openai_codex",
            recorded.folder / "clients" / "use_openai_codex.py",
            home.command([])[0],
            home.workspace,
            env={
                **home.environ,
                "CODEX_HOME": str(home.path),
                "MOCK_LOG": str(log),
                "MOCK_KEY": "x",
            },
        )
    assert "failed: []" in said


@pytest.mark.timeout(600)
@pytest.mark.parametrize("module", CONVERSATIONS)
def test_a_whole_conversation(client, ferrule_home, model_server, module):
    """With the approval of a command, a patch, an interrupt and a resume in another process."""
    ferrule_home.configure(top='[projects."x"]\n')
    text = (ferrule_home.path / "config.toml").read_text()
    (ferrule_home.path / "config.toml").write_text(text.replace('"never"', '"untrusted"'))
    model_server.play(
        [
            [function_call("exec_command", {"cmd": "touch made.txt"}, call_id="call_1")],
            [freeform_call("apply_patch", PATCH, call_id="call_2")],
            [message("made and patched")],
            [function_call("exec_command", LONG, call_id="call_3")],
            [message("resumed")],
        ]
    )
    said = client(
        module,
        CONVERSATIONS[module],
        ferrule_home.command([])[0],
        ferrule_home.workspace,
        env=ferrule_home.environ,
    )
    assert json.loads(said.splitlines()[-1]) == {
        "asked": ["command", "file change", "command"],
        "first": "made and patched",
        "interrupted": "interrupted",
        "resumed": "resumed",
        "turns": 3,
    }
    assert (ferrule_home.workspace / "made.txt").exists()
    assert (ferrule_home.workspace / "patched.txt").read_text() == "patched\n"
