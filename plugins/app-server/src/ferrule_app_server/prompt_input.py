"""`ferrule debug prompt-input`: what a model would be sent, without asking it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING

from ferrule_hookspecs.host import ConfigRequest, ThreadOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host, Kernel

_ABOUT = """\
Prints what stands before the model when a session begins in this folder, as a JSON list of items:
prompts, permissions, skills, AGENTS.md, the environment, and PROMPT behind them. No model is asked,
and no thread is left. What plugins add to a prompt once it is sent is not part of it."""


def print_input(argv: Sequence[str], host: Host) -> int:
    """Run with the arguments after `prompt-input`; returns the exit code."""
    parser = argparse.ArgumentParser(prog="ferrule debug prompt-input", description=_ABOUT)
    add = parser.add_argument
    add("-c", "--config", action="append", default=[], metavar="KEY=VALUE", help="a setting")
    add("-p", "--profile", metavar="NAME", help="a profile file")
    add("-C", "--cd", metavar="DIR", default="", help="the working directory")
    add("prompt", nargs="?", default="", metavar="PROMPT", help="what the user would say")
    given = parser.parse_args(list(argv))
    cwd = os.path.abspath(os.path.join(os.getcwd(), given.cd))
    request = ConfigRequest(cwd, profile=given.profile, overrides=tuple(given.config))

    async def main(kernel: Kernel) -> int:
        return await _print(kernel, request, given.prompt)

    return host.run(main)


async def _print(kernel: Kernel, request: ConfigRequest, prompt: str) -> int:
    config = kernel.config(request)
    session = await kernel.threads.start(ThreadOptions(config, request.cwd, source="cli"))
    thread_id = session.thread["id"]
    try:
        await session.close()
        async for event in session.events():
            if event["method"] == "warning":
                sys.stderr.write(f"warning: {event['params']['message']}\n")
        items: list[object] = list(kernel.threads.history(thread_id))
    finally:
        kernel.threads.store.delete(thread_id)
    if prompt:
        part = {"type": "input_text", "text": prompt}
        items.append({"type": "message", "role": "user", "content": [part]})
    sys.stdout.write(json.dumps(items, indent=2, ensure_ascii=False) + "\n")
    return 0
