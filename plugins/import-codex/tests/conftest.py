"""Homes made by the real Codex, and running the import on copies of them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ferrule.host import LocalHost
from ferrule_import_codex.command import app
from ferrule_testkit.model_items import freeform_call, function_call, message, reasoning
from ferrule_testkit.model_server import ScriptedModelServer

PATCH = "*** Begin Patch\n*** Add File: new.txt\n+line one\n*** End Patch\n"
PLAN = {"plan": [{"step": "one", "status": "completed"}, {"step": "two", "status": "in_progress"}]}
FULL = {"input_tokens": 300_000, "output_tokens": 50, "total_tokens": 300_050}
CONFIG = """\
# my settings
model = "gpt-5.5"   # the one I like
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "workspace-write"
model_reasoning_effort = "medium"

[model_providers.mock]
name = "mock"
base_url = "{base_url}"
env_key = "MOCK_KEY"
wire_api = "responses"

[tools.update_plan]
enabled = true

[projects."{workspace}"]
trust_level = "trusted"
"""
FILES = {
    "work.config.toml": 'model_reasoning_effort = "high"\n',
    "rules/default.rules": 'prefix_rule(pattern=["ls"], decision="allow")\n',
    "skills/greet/SKILL.md": "---\nname: greet\ndescription: Say hello\n---\nSay hello.\n",
    "skills/greet/run.sh": "#!/bin/sh\necho hello\n",
    "prompts/review.md": "Review this.\n",
    "AGENTS.md": "Be brief.\n",
    "hooks.json": '{"hooks": {}}\n',
}


@dataclass
class RealHome:
    """A home that the real Codex has worked in."""

    path: Path
    workspace: Path
    threads: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="session")
def codex_binary() -> Path:
    """The real program: `FERRULE_TEST_CODEX`, or the one that the SDK depends on."""
    if named := os.environ.get("FERRULE_TEST_CODEX"):
        return Path(named)
    modules = Path(os.environ.get("FERRULE_TEST_NODE_MODULES", "node_modules"))
    machine = os.uname().machine
    found = sorted(modules.glob(f"@openai/codex-*/vendor/{machine}-*/bin/codex"))
    if not found:
        reason = "no Codex: set FERRULE_TEST_CODEX to its binary; its homes were not tried"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found[0]


class Maker:
    """Has Codex work in a home, against a scripted model."""

    def __init__(self, binary: Path, root: Path, server: ScriptedModelServer) -> None:
        self.binary, self.server = binary, server
        self.made = RealHome(root / "codex", root / "workspace")
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "CODEX_HOME": str(self.made.path),
            "MOCK_KEY": "mock-key-0123456789",
            "TZ": "UTC",
        }

    def run(self, *arguments: str, says: object = (), stdin: str | None = None) -> str:
        """Run Codex; returns the thread it worked on."""
        self.server.play(says)
        done = subprocess.run(
            [self.binary, *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            cwd=self.made.workspace,
            env=self.environ,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return next((line["thread_id"] for line in lines if "thread_id" in line), "")

    def furnish(self) -> None:
        """Write what a user writes."""
        self.made.path.mkdir()
        self.made.workspace.mkdir()
        subprocess.run(["git", "init", "-q", self.made.workspace], check=True)
        text = CONFIG.format(base_url=self.server.base_url, workspace=self.made.workspace)
        (self.made.path / "config.toml").write_text(text)
        for name, content in FILES.items():
            file = self.made.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        (self.made.path / "skills/greet/run.sh").chmod(0o755)

    def work(self) -> None:
        """Have every kind of thread made."""
        threads = self.made.threads
        threads["tools"] = first = self.run(
            "exec",
            "--json",
            "remember apples",
            says=[
                [reasoning("**Thinking**"), function_call("exec_command", {"cmd": "echo hello"})],
                [function_call("update_plan", PLAN, call_id="call_2")],
                [freeform_call("apply_patch", PATCH, call_id="call_3")],
                [message("Done: apples.")],
            ],
        )
        self.run("exec", "--json", "resume", first, "remember pears", says=[[message("Pears.")]])
        fork = self.run(
            "exec", "--json", "fork", first, "remember plums", says=[[message("Plums.")]]
        )
        threads["fork"] = self.run(
            "exec", "--json", "fork", fork, "remember figs", says=[[message("Figs.")]]
        )
        self.run("exec", "--json", "resume", first, "remember kiwis", says=[[message("Kiwis.")]])
        big = {"items": [function_call("exec_command", {"cmd": "echo big"})], "usage": FULL}
        threads["compacted"] = self.run(
            "exec", "--json", "long work", says=[big, [message("SUMMARY")], [message("On I go.")]]
        )
        threads["archived"] = self.run("exec", "--json", "put away", says=[[message("Yes.")]])
        self.run("archive", threads["archived"])

    def settle(self) -> None:
        """Have Codex write settings of its own."""
        self.run("mcp", "add", "demo", "--env", "TOKEN=sekret-value", "--", "python3", "srv.py")
        url = ("--url", "http://127.0.0.1:1/mcp", "--bearer-token-env-var", "WEB_TOKEN")
        self.run("mcp", "add", "web", *url)
        self.run("login", "--with-api-key", stdin="sk-not-a-real-key-0123456789\n")


@pytest.fixture(scope="session")
def real_home(codex_binary):
    """A home made once; not under the temp folder, where Codex cannot confine commands."""
    root = Path(tempfile.mkdtemp(prefix=".ferrule-test-", dir=Path.home()))
    try:
        with ScriptedModelServer() as server:
            maker = Maker(codex_binary, root, server)
            maker.furnish()
            maker.work()
            maker.settle()
        yield maker.made
    finally:
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def codex_home(real_home, tmp_path):
    """A copy of the real home, for one test."""
    shutil.copytree(real_home.path, tmp_path / "codex", symlinks=True)
    return RealHome(tmp_path / "codex", real_home.workspace, real_home.threads)


@pytest.fixture
def bare_home(tmp_path):
    """A Codex home to be filled by the test."""
    (tmp_path / "codex").mkdir()
    return tmp_path / "codex"


@pytest.fixture
def fresh_ferrule(ferrule_home):
    """A Ferrule home without a configuration of its own."""
    (ferrule_home.path / "config.toml").unlink()
    ferrule_home.environ["MOCK_KEY"] = "mock-key-0123456789"
    return ferrule_home


@pytest.fixture
def bring(ferrule_home):
    """Run `import codex` in this process; returns the report, whose exit code must fit it."""

    def bring(source, *options):
        host = LocalHost(ferrule_home.path, ferrule_home.environ)
        done = CliRunner().invoke(app, ["codex", str(source), "--json", *options], obj=host)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        report = json.loads(done.stdout)
        assert done.exit_code == (0 if report["ok"] else 1)
        return report

    return bring


def statuses(report, area):
    """What became of everything of one area."""
    return {
        finding["name"]: finding["status"]
        for finding in report["findings"]
        if finding["area"] == area
    }


@pytest.fixture(name="statuses")
def statuses_fixture():
    return statuses


@pytest.fixture
def fingerprint():
    """Everything that could change about a tree: names, kinds, bytes, modes and times."""

    def fingerprint(root):
        facts = {}
        for path in sorted([root, *root.rglob("*")]):
            found = path.lstat()
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            digest = hashlib.sha256(data).hexdigest()
            facts[str(path)] = (found.st_mode, found.st_mtime_ns, found.st_ctime_ns, digest)
        return facts

    return fingerprint


@pytest.fixture
def old_rollout():
    """Put a rollout that an old Codex recorded into a home; returns its thread."""

    def put(home, version):
        text = Path(__file__).with_name("rollouts").joinpath(f"codex-{version}.jsonl").read_text()
        first = json.loads(text.split("\n", 1)[0])
        thread_id = first.get("payload", first)["id"]
        folder = home / "sessions/2026/11/22"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"rollout-2026-11-22T02-31-52-{thread_id}.jsonl").write_text(text)
        return thread_id

    return put


@pytest.fixture
def go_on(ferrule_home, model_server):
    """Resume a thread and return what the model was sent."""

    def go_on(thread_id, *options, provider="mock"):
        model_server.play([[message("And on.")]])
        done = ferrule_home.run(
            "exec",
            "resume",
            "--json",
            "-c",
            f'model_providers.{provider}.base_url="{model_server.base_url}"',
            *options,
            thread_id,
            "go on",
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return model_server.requests[-1].body["input"]

    return go_on
