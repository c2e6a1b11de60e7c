"""Tools that write down what reached them."""

from __future__ import annotations

import anyio

from ferrule_hookspecs.permissions import AdditionalPermissions
from ferrule_hookspecs.sandbox import Command, Denial, WriteFile
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
        if call.arguments.get("escalate") == "unasked":
            return Requirement(escalate=True)
        if call.arguments.get("escalate"):
            return Requirement("approval", "it wants to write outside", escalate=True)
        if call.arguments.get("forbidden"):
            return Requirement("forbidden", "never")
        return Requirement(reason="it must", permissions=_needs(call))

    async def run(self, call, context):
        stage.ran.append(call)
        await context.sandbox.files.apply([WriteFile(call.arguments["path"], b"touched")])
        return ToolResult("touched")


class Peek(Tool):
    """Reads a file through the sandbox."""

    name = "peek"

    def requirement(self, call, sandbox):
        return Requirement(reason="it must", permissions=_needs(call))

    async def run(self, call, context):
        return ToolResult((await context.sandbox.files.read(call.arguments["path"])).decode())


class Grant(Tool):
    """Asks for what later calls need."""

    name = "grant"

    def requirement(self, call, sandbox):
        return Requirement(reason="it must", permissions=_needs(call), lasting=True)

    async def run(self, call, context):
        return ToolResult("granted")


def _needs(call):
    needs = call.arguments.get("needs")
    if needs is None:
        return None
    read, write = (tuple(needs.get(key, ())) for key in ("read", "write"))
    return AdditionalPermissions(bool(needs.get("network")), read, write)


class RaiseError(Tool):
    """Fails in a way nobody foresaw."""

    name = "raise_error"

    async def run(self, call, context):
        raise KeyError("a bug in a tool")


class Faulty(Tool):
    """Raises where the stage says."""

    name = "faulty"
    parallel = True

    def normalize(self, arguments):
        self._fail("normalize")
        return arguments

    def item(self, call, cwd):
        self._fail("item")
        return super().item(call, cwd)

    def requirement(self, call, sandbox):
        self._fail("requirement")
        return Requirement()

    async def run(self, call, context):
        self._fail("run")
        return ToolResult("no fault")

    def _fail(self, place):
        if place in stage.faults:
            raise stage.faults[place]


class Refused(Tool):
    """Needs approval, at the same time as others run; fails as by the sandbox when told to."""

    name = "refused"
    parallel = True

    def requirement(self, call, sandbox):
        return Requirement("approval", "it always asks")

    async def run(self, call, context):
        stage.ran.append(call)
        if call.arguments.get("denied"):
            denial = Denial("write", "it seems read-only", is_inferred=True)
            return ToolResult("failed", success=False, denial=denial)
        return ToolResult("ran")


class RunCommand(Tool):
    """Runs a program in the sandbox, to its end."""

    name = "command"
    parallel = True

    async def run(self, call, context):
        command = Command(tuple(call.arguments["argv"]), context.cwd, context.environment())
        process = await context.sandbox.spawn(command)
        for event in stage.waiting:
            event.set()
        try:
            output = b""
            while piece := await process.read():
                output += piece
            await process.wait()
        finally:
            process.kill()
        return ToolResult(output.decode())


class Background(Tool):
    """Leaves something running that is never told to end."""

    name = "background"

    async def run(self, call, context):
        return ToolResult("still running", pending=True)
