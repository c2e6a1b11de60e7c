"""A shell command that only feeds `apply_patch` becomes a call of the tool; nothing else does."""

from __future__ import annotations

import json
import subprocess
import sys

import anyio
import pytest

from ferrule_apply_patch.hooks import ferrule_tool_rewrite
from ferrule_hookspecs import ToolCall
from ferrule_hookspecs.tools import TurnInfo

PATCH = "*** Begin Patch\n*** Add File: new.txt\n+it's $HOME `here`\n*** End Patch"


def rewrite(cmd, tool="exec_command", **arguments):
    call = ToolCall("call_1", tool, {"cmd": cmd, **arguments}, "{}", "function")
    return anyio.run(ferrule_tool_rewrite, call, TurnInfo("t", "u", "/ws", "m"))


@pytest.mark.parametrize(
    "command",
    [
        f"apply_patch <<'EOF'\n{PATCH}\nEOF\n",
        f'apply_patch <<"PATCH"\n{PATCH}\nPATCH',
        f"  applypatch << EOF\n{PATCH}\nEOF\n\n",
        f"apply_patch <<'EOF'\n{PATCH}\n\nEOF",
    ],
)
def test_the_exact_form_is_rewritten(command):
    call = rewrite(command)
    assert (call.tool, call.requested_tool, call.call_id) == (
        "apply_patch",
        "exec_command",
        "call_1",
    )
    assert call.arguments["input"].strip() == PATCH
    assert json.loads(call.text) == dict(call.arguments)


@pytest.mark.parametrize(
    ("prefix", "workdir", "folder"),
    [
        ("", None, "/ws/"),
        ("", "sub", "/ws/sub/"),
        ("cd a/b && ", None, "/ws/a/b"),
        ("cd 'a b' && ", "sub", "/ws/sub/a b"),
        ('cd "/abs" && ', "sub", "/abs"),
    ],
)
def test_names_in_the_patch_count_from_where_the_command_would_have_run(prefix, workdir, folder):
    command = f"{prefix}apply_patch <<'EOF'\n{PATCH}\nEOF"
    arguments = {"workdir": workdir} if workdir else {}
    assert rewrite(command, **arguments).arguments["workdir"] == folder


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "apply_patch",
        "apply_patch --help",
        f"apply_patch <<'EOF'\n{PATCH}\nEOF\nrm -rf .",
        f"apply_patch <<'EOF' && rm -rf .\n{PATCH}\nEOF",
        f"apply_patch <<'EOF'\n{PATCH}\nEOF\nEOF\n",
        f"apply_patch <<'EOF'\n*** Begin Patch\nEOF\nrm -rf .\n{PATCH}\nEOF\n",
        f"echo hi; apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"cd $(pwd) && apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"cd \"$HOME\" && apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"cd ~/x && apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"cd - && apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"cd a; apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"apply_patch <<'EOF'\n{PATCH}\nEOF2",
        f"sudo apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"apply_patch <<'EOF' > log\n{PATCH}\nEOF",
        "apply_patch <<'EOF'\nnot a patch\nEOF",
    ],
)
def test_everything_else_stays_a_command(command):
    assert rewrite(command) is None


def test_other_tools_are_left_alone():
    assert rewrite(f"apply_patch <<'EOF'\n{PATCH}\nEOF", tool="other") is None


def test_the_rewritten_call_runs_in_its_folder(bench):
    call = rewrite(f"cd {bench.folder}/sub && apply_patch <<'EOF'\n{PATCH}\nEOF")
    assert bench.apply(call).success
    assert bench.tree() == {"sub/new.txt": "it's $HOME `here`\n"}


def test_the_hook_module_loads_nothing_of_the_tool():
    code = (
        "import ferrule_apply_patch.hooks, sys;"
        "print(sorted(m for m in sys.modules if m.startswith('ferrule_')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "tool" not in out.stdout
    assert "parser" not in out.stdout
