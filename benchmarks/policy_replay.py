"""Judges decisions of the past again: how many there are a second.

    python benchmarks/policy_replay.py [--decisions 10000] [--corpus FILE]

Threads are written as a session would write them, with the scripts of a corpus (one JSON object a
line with `command`) or made-up ones, and replayed once under the present policy: the whole run of
`ferrule policy replay` is timed, reading, judging and printing included.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path

from ferrule_testkit.home import FerruleHome, make_home

TARGET_S = 10.0
PER_THREAD = 100
MADE_UP = ["git status", "npm test && npm run build", "rm -rf build", "cat a | grep b", "make all"]
RULES = "allow prefix git status\nprompt prefix npm\nforbidden prefix make\n"


def scripts(corpus: Path | None, wanted: int) -> list[str]:
    found = MADE_UP
    if corpus is not None:
        found = [json.loads(line)["command"] for line in corpus.read_text("utf-8").splitlines()]
    return list(islice(cycle(found), wanted))


def records(thread_id: str, cwd: str, commands: list[str]):
    yield "session_meta", {"id": thread_id, "cwd": cwd, "model_provider": "scripted"}
    policy = {"type": "workspaceWrite"}
    yield "turn_context", {"cwd": cwd, "approval_policy": "on-request", "sandbox_policy": policy}
    facts = {
        "cwd": cwd,
        "approvalPolicy": "on-request",
        "sandboxMode": "workspace-write",
        "escalated": False,
        "opinions": {},
    }
    outcome = {"decision": "accept", "reviewer": "policy", "reason": "", "rule": "on-request"}
    for number, command in enumerate(commands):
        call = {"type": "function_call", "name": "exec_command", "call_id": f"c{number}"}
        yield "response_item", {**call, "arguments": json.dumps({"cmd": command})}
        decision = {"type": "decision", "turn_id": "t", "call_id": f"c{number}"}
        made = {"tool": "exec_command", "phase": "requirement", "outcome": outcome, "facts": facts}
        yield "event_msg", {**decision, **made}


def write(file: Path, thread_id: str, cwd: str, commands: list[str]) -> None:
    stamp = "2026-11-22T00:00:00.000Z"
    rows = enumerate(records(thread_id, cwd, commands))
    lines = [
        json.dumps({"timestamp": stamp, "ordinal": n, "type": type_, "payload": payload})
        for n, (type_, payload) in rows
    ]
    file.write_text("\n".join(lines) + "\n", "utf-8")


def replayed(home: FerruleHome, commands: list[str]) -> tuple[float, int]:
    folder = home.path.parent / "threads"
    folder.mkdir()
    files = []
    for start in range(0, len(commands), PER_THREAD):
        files.append(folder / f"{start:08}.jsonl")
        part = commands[start : start + PER_THREAD]
        write(files[-1], f"thread-{start}", str(home.workspace), part)
    run = home.run("policy", "replay", "--json", *map(str, files), timeout=600)
    if run.returncode:
        sys.exit(run.stderr)
    return run.seconds, len(json.loads(run.stdout)["decisions"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a replay.")
    parser.add_argument("--decisions", type=int, default=10_000)
    parser.add_argument("--corpus", type=Path)
    options = parser.parse_args()
    print(f"{'decisions':>10}{'wall s':>10}{'a second':>12}   (target: 10,000 in {TARGET_S:g} s)")
    for wanted in (1, options.decisions):
        with tempfile.TemporaryDirectory() as folder:
            home = make_home(Path(folder), "http://127.0.0.1:9/v1")
            (home.path / "rules").mkdir()
            (home.path / "rules" / "own.rules").write_text(RULES)
            seconds, count = replayed(home, scripts(options.corpus, wanted))
            print(f"{count:>10}{seconds:>10.2f}{count / seconds:>12.0f}")


if __name__ == "__main__":
    main()
