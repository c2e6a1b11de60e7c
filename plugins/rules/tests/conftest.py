"""Judging commands by rules given as text, and calling the hook as the kernel does."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.tools import ToolCall, TurnInfo
from ferrule_rules.hooks import ferrule_tool_before
from ferrule_rules.judgement import Judge
from ferrule_rules.rule_file import read_rules
from ferrule_rules.sources import together

RECORDED = Path(__file__).parents[4] / "shared" / "conformance"


def recorded(name):
    """The recorded cases of a file; none where the folder is absent."""
    file = RECORDED / name
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def pytest_generate_tests(metafunc):
    """Give each recorded case a test of its own."""
    if "check_case" in metafunc.fixturenames:
        cases = [c for c in recorded("execpolicy/cases.jsonl") if c["kind"] == "execpolicy_check"]
        names = [f"{case['rules_name']}: {' '.join(case['argv'])}"[:60] for case in cases]
        metafunc.parametrize("check_case", cases, ids=names)
    if "evasion" in metafunc.fixturenames:
        cases = recorded("execpolicy/evasions.jsonl")
        names = [f"{' '.join(case['rule'])}: {case['cmd']}" for case in cases]
        metafunc.parametrize("evasion", cases, ids=names)


@pytest.fixture
def session_cases():
    """The recorded decisions of sessions."""
    cases = [c for c in recorded("execpolicy/cases.jsonl") if c["kind"] == "agent_loop"]
    if not cases:
        pytest.skip(f"{RECORDED} is absent: the recorded decisions are not checked")
    return cases


def policy_of(*texts):
    return together([read_rules(f"{n}.rules", text) for n, text in enumerate(texts)])


@pytest.fixture
def policy():
    """All rules of some texts."""
    return policy_of


@pytest.fixture
def judge():
    """Judge a script by rules given as texts."""

    def judge_by(script, *texts):
        return Judge(policy_of(*texts)).script(script)

    return judge_by


@dataclass
class Session:
    """A session as the hook sees it."""

    tmp: Path
    approval_policy: object = "on-request"
    sandbox_mode: str = "workspace-write"
    is_trusted: bool = False
    warnings: list = field(default_factory=list)

    @property
    def home(self):
        return self.tmp / "home"

    @property
    def project(self):
        return self.tmp / "project"

    @property
    def context(self):
        return PluginContext(
            self.home,
            {},
            str(self.project),
            str(self.tmp),
            project_root=str(self.project),
            is_trusted=self.is_trusted,
            admin=self.tmp / "admin",
            warn=self.warnings.append,
        )

    def rules(self, text, name="own.rules", folder=None):
        file = (folder or self.home / "rules") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def judge(self, cmd, tool="exec_command", **arguments):
        """Ask the hook about a command."""
        arguments = {"cmd": cmd, "login": True, "sandbox_permissions": "use_default", **arguments}
        call = ToolCall("c", tool, arguments, json.dumps(arguments), "function")
        turn = TurnInfo(
            "t",
            "u",
            str(self.project),
            "m",
            approval_policy=self.approval_policy,
            sandbox_mode=self.sandbox_mode,
        )
        return anyio.run(ferrule_tool_before, call, turn, self.context)


@pytest.fixture
def make_session():
    """Make a session in a folder."""
    return Session


@pytest.fixture
def session(tmp_path):
    """A session with a home, a project and an administrator's folder of its own."""
    (tmp_path / "project").mkdir()
    return Session(tmp_path)
