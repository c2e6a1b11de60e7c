"""A request, programs that answer, and asking the reviewer."""

import json
import sys

import anyio
import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.review import Amendment, ReviewContext, ReviewRequest, Verdict
from ferrule_hookspecs.sandbox import Denial
from ferrule_hookspecs.tools import ToolCall
from ferrule_reviewer_command.reviewer import CommandReviewer


@pytest.fixture
def request_():
    arguments = {"cmd": "make install", "nested": {"list": (1, 2)}}
    call = ToolCall("call_1", "exec_command", arguments, json.dumps(arguments), "function")
    return ReviewRequest(
        "thread",
        "turn",
        call,
        None,
        "it writes outside",
        "/work",
        escalation=True,
        verdicts={"rules": Verdict.ask("why", "prompt prefix make")},
        amendments=(Amendment("command_prefix", ("make", "install")),),
    )


@pytest.fixture
def denial():
    return Denial


@pytest.fixture
def script(tmp_path):
    """Write a Python program and return its command line."""

    def write(text):
        path = tmp_path / "review.py"
        path.write_text(text)
        return [sys.executable, str(path)]

    return write


@pytest.fixture
def decide(tmp_path, request_):
    """Have a reviewer with these settings decide."""

    def run(*, request=None, environ=None, user=None, **settings):
        context = PluginContext(
            tmp_path, {}, environ=environ or {}, settings=settings, name="command:lint"
        )
        reviewer = CommandReviewer(context)

        async def main():
            with anyio.fail_after(120):
                return await reviewer.review(
                    request or request_, ReviewContext(reviewer=lambda name: {"user": user}[name])
                )

        return anyio.run(main)

    return run
