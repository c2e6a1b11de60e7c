"""A temporary Ferrule home, and running the `ferrule` command in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ferrule_testkit.processes import survivors
from ferrule_testkit.strangers import strangers

API_KEY: Final = "test-key-0123456789"
_CONFIG: Final = """\
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "workspace-write"
{top}
[model_providers.scripted]
name = "scripted"
base_url = "{base_url}"
wire_api = "{wire_api}"
env_key = "SCRIPTED_KEY"
{provider}
{tables}
"""
_FORGOTTEN: Final = ("FERRULE_", "CODEX_", "OPENAI_")
_FOLDERS: Final = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
"""Of whoever runs the tests: what one run notes there, of a plugin that was slow, say, all see."""


@dataclass(frozen=True)
class FinishedRun:
    """What a run of the command left.

    Attributes:
        returncode: Exit code, negative for a signal.
        stdout: Standard output.
        stderr: Standard error.
        seconds: Wall time.
        survivors: Processes it started that still lived afterwards; they have been killed.
    """

    returncode: int
    stdout: str
    stderr: str
    seconds: float
    survivors: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of `--json`."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    def items(self, type_: str | None = None) -> list[dict[str, Any]]:
        """The completed items, of one type if it is given."""
        completed = [event["item"] for event in self.events if event["type"] == "item.completed"]
        return [item for item in completed if type_ in (None, item["type"])]


@dataclass(frozen=True)
class FerruleHome:
    """A home with a configuration, and a workspace beside it.

    Attributes:
        path: `$FERRULE_HOME`.
        workspace: Where commands run.
        base_url: The model server.
        environ: The environment of runs.
    """

    path: Path
    workspace: Path
    base_url: str
    environ: dict[str, str]

    def configure(
        self, *, top: str = "", provider: str = "", tables: str = "", wire_api: str = "responses"
    ) -> None:
        """Write `config.toml` anew, with more at its top, in the provider's table or at its end."""
        text = _CONFIG.format(
            base_url=self.base_url, top=top, provider=provider, tables=tables, wire_api=wire_api
        )
        (self.path / "config.toml").write_text(text, encoding="utf-8")

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command line of a run, for tests that need the process itself."""
        beside_python = Path(sys.executable).with_name("ferrule")
        return [str(beside_python) if beside_python.exists() else "ferrule", *arguments]

    def run(
        self,
        *arguments: str,
        stdin: str | None = None,
        environ: Mapping[str, str] | None = None,
        timeout: float = 120.0,
    ) -> FinishedRun:
        """Run `ferrule` with arguments and wait for its end."""
        started = time.monotonic()
        finished = subprocess.run(
            self.command(arguments),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=self.workspace,
            env={**self.environ, **(environ or {})},
            timeout=timeout,
            check=False,
        )
        seconds = time.monotonic() - started
        left = survivors(f"FERRULE_HOME={self.path}") if Path("/proc").exists() else {}
        for pid in left:
            os.kill(pid, 9)
        return FinishedRun(finished.returncode, finished.stdout, finished.stderr, seconds, left)


def make_home(folder: Path, base_url: str, project: Path | None = None) -> FerruleHome:
    """Make a home, a user's home and an empty git workspace under a folder.

    Plugins of strangers that happen to be installed are left out there; what a project under test
    is about is not.
    """
    home, workspace, user = folder / "home", folder / "workspace", folder / "user"
    for path in (home, workspace, user):
        path.mkdir(parents=True)
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_FORGOTTEN) and name not in _FOLDERS
    }
    environ |= {
        "FERRULE_HOME": str(home),
        "HOME": str(user),
        "SCRIPTED_KEY": API_KEY,
        "NO_COLOR": "1",
        "TZ": "UTC",
    }
    if left_out := strangers(project):
        environ["FERRULE_NO_PLUGIN"] = left_out
    subprocess.run(["git", "init", "-q", str(workspace)], env=environ, check=False)
    made = FerruleHome(home, workspace, base_url, environ)
    made.configure()
    return made
