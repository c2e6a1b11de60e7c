"""Looks for the cause of a problem on this machine: `python sre_agent.py "it is slow since noon"`.

Every command is put before `decide`, which lets a few programs run that only look. The read-only
sandbox is a second wall behind it.
"""

import os
import re
import shlex
import shutil
import sys

from ferrule_sdk import ApprovalRequest, Decision
from ferrule_sdk.sync import Ferrule

LOOKING = [["df"], ["free"], ["ps"], ["uptime"], ["systemctl", "status"]]
SHELL_SYNTAX = re.compile(r"[^\w\s./,:=@+-]")


def decide(request: ApprovalRequest) -> Decision:
    """Accept one plain command of a program that only looks; decline everything else."""
    if request.kind == "command" and only_looks(request.command):
        return "accept"
    print(f"  declined: {request.command if request.kind == 'command' else request.kind}")
    return "decline"


def only_looks(command: str) -> bool:
    """Whether a command line is known to change nothing."""
    words = shlex.split(command)
    if len(words) == 3 and words[1] in {"-c", "-lc"}:  # a shell, and the line it runs
        command, words = words[2], shlex.split(words[2], posix=True)
    is_plain = SHELL_SYNTAX.search(command) is None
    return is_plain and any(words[: len(known)] == known for known in LOOKING)


def main() -> int:
    """Show what is done, and the answer."""
    agent = Ferrule(approvals=decide)

    @agent.tool
    def vital_signs(path: str = "/") -> dict[str, object]:
        """Tell the load of the machine and how full a file system is."""
        usage = shutil.disk_usage(path)
        return {"load": os.getloadavg(), "cpus": os.cpu_count(), "used": usage.used / usage.total}

    with agent as f:
        thread = f.thread(
            sandbox="read-only",
            approval_policy="untrusted",
            developer_instructions="You find causes. You change nothing; you say what to do.",
        )
        for event in thread.stream(" ".join(sys.argv[1:]) or "Is this machine well?"):
            if event["method"] == "item/started":
                item = event["params"]["item"]
                if item["type"] == "commandExecution":
                    print(f"  $ {item['command']}")
                elif item["type"] == "dynamicToolCall":
                    print(f"  {item['tool']} {item['arguments']}")
            elif event["method"] == "item/agentMessage/delta":
                print(event["params"]["delta"], end="", flush=True)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
