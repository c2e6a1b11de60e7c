"""A tool that uses all that a tool is given."""

import os
import sys

from pydantic import BaseModel

from ferrule_hookspecs import Tool, ToolResult
from ferrule_hookspecs.errors import ToolError
from ferrule_hookspecs.sandbox import Command, CommandResult, RemoveFile, WriteFile
from ferrule_hookspecs.tools import Requirement, SandboxDeniedError


class Arguments(BaseModel):
    what: str
    times: int = 2


class Courier(Tool):
    name = "courier"
    description = "Carries things."
    arguments_model = Arguments

    def __init__(self, context):
        super().__init__(context)
        self.calls = 0

    def requirement(self, call, sandbox):
        denial = sandbox.files.check("write", "/etc/passwd")
        reason = f"{sandbox.policy.mode}: {denial.reason}" if denial else "nothing is refused"
        kind = "forbidden" if call.arguments["what"] == "forbidden" else "skip"
        return Requirement(kind, reason)

    def item(self, call, cwd):
        return {**super().item(call, cwd), "tool": f"courier in {os.path.basename(cwd)}"}

    async def run(self, call, context):
        self.calls += 1
        return await getattr(self, call.arguments["what"])(call, context)

    async def arguments(self, call, context):
        return ToolResult(f"{dict(call.arguments)!r} {call.text} {call.form} {self.calls}")

    async def settings(self, call, context):
        table = dict(self.context.settings)
        return ToolResult(f"{table} {self.context.thread_id == context.thread_id}")

    async def raising(self, call, context):
        raise ValueError("as it happens")

    async def refusing(self, call, context):
        raise ToolError("not today")

    async def parts(self, call, context):
        return ToolResult([{"type": "input_text", "text": "in parts"}])

    async def failing(self, call, context):
        return ToolResult("it failed", success=False)

    async def files(self, call, context):
        files, path = context.sandbox.files, os.path.join(context.cwd, "carried.bin")
        data = bytes(range(256))
        await files.apply([WriteFile(path, data), WriteFile(path + "x", b"")])
        same = await files.read(path) == data
        stat = await files.stat(path)
        first = await files.read(path, limit=3)
        await files.apply([RemoveFile(path + "x")])
        found = await files.list(context.cwd)
        names = [tuple(entry) for entry in found if not entry.name.startswith(".")]
        gone = await files.stat(path + "x")
        return ToolResult(f"{same} {stat} {first} {names} {gone}")

    async def missing(self, call, context):
        try:
            await context.sandbox.files.read(os.path.join(context.cwd, "nothing"))
        except FileNotFoundError as error:
            return ToolResult(f"{error.strerror} {os.path.basename(error.filename)}")

    async def outside(self, call, context):
        try:
            await context.sandbox.files.apply([WriteFile("/usr/carried", b"x")])
        except SandboxDeniedError as error:
            return ToolResult(f"{error.denial}")

    async def denied(self, call, context):
        await context.sandbox.files.apply([WriteFile("/usr/carried", b"x")])

    async def command(self, call, context):
        env = context.environment({"CARRIED": "yes"})
        words = ("sh", "-c", 'read line; echo "$line $CARRIED"; echo aside >&2; exit 3')
        process = await context.sandbox.spawn(
            Command(words, context.cwd, env, open_stdin=True, separate_stderr=True)
        )
        await process.write(b"told\n")
        process.close_input()
        said = b"".join([part async for part in _all(process.read)])
        aside = b"".join([part async for part in _all(process.read_stderr)])
        code = await process.wait()
        denial = context.sandbox.classify(CommandResult(code, said))
        return ToolResult(f"{said} {aside} {code} {denial} {process.pid > 0}")

    async def telling(self, call, context):
        context.emit(
            {
                "method": "item/commandExecution/outputDelta",
                "params": {
                    "threadId": context.thread_id,
                    "turnId": context.turn_id,
                    "itemId": call.call_id,
                    "delta": "halfway",
                },
            }
        )
        self.context.warn("mind the gap")
        return ToolResult("told")

    async def printing(self, call, context):
        print("noise on standard output")
        os.write(1, b"\0\0\0\1x")
        sys.stderr.write("noise on standard error\n")
        return ToolResult(f"quiet {sys.stdin.read()!r}")

    async def asking(self, call, context):
        if context.ask_client is None:
            return ToolResult("nobody answers")
        question = {
            "method": "item/tool/requestUserInput",
            "params": {
                "threadId": context.thread_id,
                "turnId": context.turn_id,
                "itemId": call.call_id,
                "questions": [],
            },
        }
        return ToolResult(repr(await context.ask_client(question)))

    async def place(self, call, context):
        return ToolResult(str(os.getpid()))


async def _all(read):
    while part := await read():
        yield part
