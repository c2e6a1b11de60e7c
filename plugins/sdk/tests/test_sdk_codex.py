"""The library drives the real Codex as it drives Ferrule."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pydantic import BaseModel

from ferrule_sdk import Ferrule
from ferrule_testkit.model_items import function_call, message

CONFIG = """\
model = "gpt-5.5"
model_provider = "mock"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
[model_providers.mock]
name = "mock"
base_url = "{url}"
wire_api = "responses"
env_key = "MOCK_KEY"
supports_websockets = false
[analytics]
enabled = false
"""
ESCALATED = {"cmd": "echo ran", "sandbox_permissions": "require_escalated", "justification": "why"}


class Finding(BaseModel):
    file: str
    note: str | None


def test_a_conversation_with_codex(codex, model_server, run):
    asked = []

    def approve(request):
        asked.append(request)
        return "accept"

    async def main(home: Path):
        environ = {**os.environ, "CODEX_HOME": str(home), "MOCK_KEY": "k"}
        f = Ferrule(
            channel=[str(codex), "app-server"], environ=environ, cwd=home, approvals=approve
        )

        @f.tool
        def weather(city: str) -> str:
            """Tell the weather."""
            return f"sun over {city}"

        async with f:
            thread = await f.thread()
            model_server.play([[function_call("exec_command", ESCALATED)], [message("It ran")]])
            assert (await thread.run("Run it")).text == "It ran"
            model_server.play([[message('{"file": "a.py", "note": null}')]])
            assert (await thread.run("Look", schema=Finding)).parsed.file == "a.py"
            model_server.play([[function_call("weather", {"city": "Rome"})], [message("Sun")]])
            assert (await thread.run("Rome?")).text == "Sun"
            model_server.play([{"items": [message("word " * 99)], "delta_delay": 0.1}])
            turn = await thread.start("Talk")
            await turn.interrupt()
            assert (await turn.result()).status == "interrupted"
        async with Ferrule(channel=[str(codex), "app-server"], environ=environ, cwd=home) as f:
            model_server.play([[message("Again")]])
            resumed = await f.resume(thread.id)
            assert (await resumed.run("Go on")).text == "Again"

    # Codex puts nothing below /tmp.
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        (Path(folder) / "config.toml").write_text(CONFIG.format(url=model_server.base_url))
        run(lambda: main(Path(folder)))

    assert "echo ran" in asked[0].command
    assert "sun over Rome" in str([request.body["input"] for request in model_server.requests])
