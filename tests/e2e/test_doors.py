"""Every door decides alike: the same calls under each approval mode, in exec and app-server."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass

import anyio
import pytest

from ferrule_sdk import Ferrule
from ferrule_testkit.model_items import freeform_call, function_call, message

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")

REVIEW = """\
import json, sys
request = json.load(sys.stdin)
print(json.dumps({"decision": sys.argv[1], "reason": "said " + sys.argv[1]}))
"""
RULES = """\
allow prefix touch
prompt prefix echo asked because:"it is to be asked"
forbidden prefix echo never because:"it is forbidden"
allow prefix echo allowed
"""
SERVER = """\
import json, sys
TOOL = {"name": "write", "inputSchema": {"type": "object", "properties": {}}}
for line in sys.stdin:
    asked = json.loads(line)
    version = asked.get("params", {}).get("protocolVersion")
    result = {
        "initialize": {"protocolVersion": version, "capabilities": {"tools": {}},
                       "serverInfo": {"name": "s", "version": "1"}},
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": "wrote"}]},
    }.get(asked.get("method"), {})
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
ESCALATED = {"sandbox_permissions": "require_escalated", "justification": "to test"}
PATCH = "*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"


def shell(cmd, **more):
    return function_call("exec_command", {"cmd": cmd, "login": False, **more}, call_id=cmd)


def calls(outside):
    """Harmless, dangerous, ruled, escalated, widened, patched, and at a server."""
    return [
        shell("ls"),
        shell("mkdir made"),
        shell("echo asked"),
        shell("echo never"),
        shell("echo allowed", **ESCALATED),
        shell("echo out", **ESCALATED),
        shell("rm -rf made"),
        shell("r''m -rf made"),
        shell(f"mkdir {outside}/x"),
        shell(
            "echo more",
            sandbox_permissions="with_additional_permissions",
            additional_permissions={"network": {"enabled": True}},
        ),
        function_call(
            "request_permissions",
            {"permissions": {"network": {"enabled": True}}, "reason": "to test"},
            call_id="request_permissions",
        ),
        function_call("mcp__own__write", {}, call_id="mcp__own__write"),
        freeform_call("apply_patch", PATCH.format(path="inside.txt"), call_id="patch inside"),
        freeform_call("apply_patch", PATCH.format(path=f"{outside}/p"), call_id="patch outside"),
        freeform_call("apply_patch", PATCH.format(path=".git/hooks/x"), call_id="patch of .git"),
    ]


GRANULAR = "sandbox_approval = {0}, rules = {1}, mcp_elicitations = true, request_permissions = {0}"
MODES = {
    "untrusted": '"untrusted"',
    "on-failure": '"on-failure"',
    "on-request": '"on-request"',
    "never": '"never"',
    "granular-all": "{ granular = { " + GRANULAR.format("true", "true") + " } }",
    "granular-rules": "{ granular = { " + GRANULAR.format("false", "true") + " } }",
    "granular-none": "{ granular = { " + GRANULAR.format("false", "false") + " } }",
}


@dataclass
class Door:
    """A home that is entered by one door or the other."""

    home: object
    model: object
    run: object
    outside: object

    def configure(self, mode, reviewer):
        program, server = self.home.path / "review.py", self.home.path / "server.py"
        program.write_text(REVIEW)
        server.write_text(SERVER)
        (self.home.path / "rules").mkdir(exist_ok=True)
        (self.home.path / "rules" / "own.rules").write_text(RULES)
        tables = "[features]\nrequest_permissions_tool = true\n[sandbox_workspace_write]\n"
        tables += "exclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n"
        for decision in ("accept", "decline"):
            command = json.dumps([sys.executable, str(program), decision])
            tables += f"[reviewers.command.{decision}]\ncommand = {command}\n"
        tables += f"[mcp_servers.own]\ncommand = '{sys.executable}'\nargs = ['{server}']\n"
        top = f'approvals_reviewer = "{reviewer}"\nmcp_optional_startup_grace_ms = 30000'
        self.home.configure(top=top, tables=tables)
        path = self.home.path / "config.toml"
        text = path.read_text().replace('approval_policy = "never"', f"approval_policy = {mode}")
        path.write_text(text)

    def through(self, door):
        """Have all calls made; who decided what about each, and how it ended."""
        if self.outside.exists():
            shutil.rmtree(self.outside)
        self.outside.mkdir()
        shutil.rmtree(self.home.workspace)
        subprocess.run(["git", "init", "-q", str(self.home.workspace)], check=True)
        self.model.play([*([call] for call in calls(self.outside)), [message("done")]])
        door(self)
        return self.decisions(), sorted(path.name for path in self.outside.iterdir())

    def exec(self, *words):
        finished = self.run("exec", *words, "go")
        assert finished.returncode == 0, finished.stderr

    def app_server(self):
        async def turn():
            place = {"home": self.home.path, "environ": self.home.environ}
            async with Ferrule(channel="stdio", cwd=self.home.workspace, **place) as f:
                await (await f.thread()).run("go")

        anyio.run(turn)

    def decisions(self):
        """What the newest thread's file says of each call: by whom, why, and the end."""
        newest = max(self.home.path.glob("sessions/**/*.jsonl"), key=lambda path: path.name)
        told = []
        for line in newest.read_text().splitlines():
            record = json.loads(line)["payload"]
            if record.get("type") == "decision":
                outcome = {k: v for k, v in record["outcome"].items() if k != "latencyMs"}
                told.append((record["call_id"], record["phase"], outcome, record["facts"]))
            elif record.get("type") == "item_completed" and "status" in record["item"]:
                told.append((record["item"]["id"], record["item"]["status"]))
        return told


@pytest.fixture
def door(ferrule_home, model_server, run_ferrule, tmp_path):
    return Door(ferrule_home, model_server, run_ferrule, tmp_path / "outside")


@pytest.mark.parametrize("reviewer", ["command:accept", "command:decline"])
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_both_doors_decide_alike_and_a_replay_says_the_same(door, run_ferrule, mode, reviewer):
    door.configure(mode, reviewer)

    by_exec = door.through(Door.exec)
    by_server = door.through(Door.app_server)
    replayed = run_ferrule("policy", "replay", "--json")

    assert len([each for each in by_exec[0] if len(each) > 2]) >= len(calls(""))
    assert by_server[0] == by_exec[0]
    assert by_server[1] == by_exec[1]
    assert replayed.returncode == 0, replayed.stderr
    told = json.loads(replayed.stdout)
    assert (told["changed"], told["identical"]) == (0, told["recorded"])
    assert told["recorded"] == sum(told["before"].values())


@pytest.mark.parametrize("mode", ["untrusted", "on-failure", "on-request", "never"])
def test_a_person_who_says_no_is_asked_alike(door, mode):
    door.configure(MODES[mode], "user")

    by_exec = door.through(lambda door: door.exec("-a", mode))
    by_server = door.through(Door.app_server)

    assert [_unexplained(each) for each in by_server[0]] == [_unexplained(e) for e in by_exec[0]]
    assert by_server[1] == by_exec[1] == []


def _unexplained(told):
    """Leave out why the answer is no: at one door nobody is there, at the other a client says so.

    A client may grant nothing of what is asked for; nobody at all declines.
    """
    if len(told) > 2 and told[2]["reviewer"] == "user":
        outcome = {"reviewer": "user", "decision": "decline"}
        return (*told[:2], outcome, *told[3:])
    return told[:1] if told[0] == "request_permissions" else told


def test_exec_says_that_a_configured_policy_does_not_count(door):
    door.configure(MODES["on-request"], "user")
    door.model.play([[message("done")], [message("done")]])

    plain, given = door.run("exec", "go"), door.run("exec", "-a", "on-request", "go")

    assert '`approval_policy = "on-request"` of' in plain.stderr
    assert "does not count" not in given.stderr
