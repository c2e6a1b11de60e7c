"""Tools that write down what reached them."""

from __future__ import annotations

import anyio

from ferrule_hookspecs.sandbox import WriteFile
from ferrule_hookspecs.tools import Requirement, Tool, ToolResult
from kernel_plugins import stage


class Note(Tool):
    """Returns its argument."""

    name = "note"
    parallel = True
    read_only = True

    async def run(self, call, context):
        stage.ran.append(call)
        return ToolResult(f"noted {call.arguments.get('text')}")


class Wait(Tool):
    """Waits until it is cancelled."""

    name = "wait"
    parallel = True

    async def run(self, call, context):
        stage.ran.append(call)
        for event in stage.waiting:
            event.set()
        await anyio.sleep_forever()


class Touch(Tool):
    """Writes a file through the sandbox; escalates when told to."""

    name = "touch"

    def requirement(self, call, sandbox):
        if call.arguments.get("escalate"):
            return Requirement("approval", "it wants to write outside", escalate=True)
        if call.arguments.get("forbidden"):
            return Requirement("forbidden", "never")
        return Requirement()

    async def run(self, call, context):
        stage.ran.append(call)
        await context.sandbox.files.apply([WriteFile(call.arguments["path"], b"touched")])
        return ToolResult("touched")


class RaiseError(Tool):
    """Fails in a way nobody foresaw."""

    name = "raise_error"

    async def run(self, call, context):
        raise KeyError("a bug in a tool")
