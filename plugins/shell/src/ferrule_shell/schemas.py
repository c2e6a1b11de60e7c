"""How the model is told to call the tools. The order of everything here is part of the prompt."""

from __future__ import annotations

from typing import Final

from ferrule_hookspecs.permissions import PERMISSIONS_SCHEMA
from ferrule_hookspecs.tools import FunctionSchema

EXEC_COMMAND: Final = FunctionSchema(
    name="exec_command",
    description=(
        "Runs a shell command and returns its output. A command that has not ended when the yield "
        "time is over keeps running; the result then names a session ID, with which write_stdin "
        "reads more output or types into it."
    ),
    parameters={
        "type": "object",
        "properties": {
            "cmd": {"type": "string", "description": "The command line, as for `bash -c`."},
            "workdir": {
                "type": "string",
                "description": "Folder to run in, relative to that of the turn, its default.",
            },
            "shell": {
                "type": "string",
                "description": "Shell to run it with, by name or path. Default: bash.",
            },
            "login": {
                "type": "boolean",
                "description": "Whether the environment is that of a login shell. Default: true.",
            },
            "tty": {
                "type": "boolean",
                "description": (
                    "Whether it runs in a terminal (24 rows, 80 columns), which programs that ask "
                    "for input need. Default: false; its input is then empty."
                ),
            },
            "yield_time_ms": {
                "type": "number",
                "description": "How long to wait for its end: 250 to 30000. Default: 10000.",
            },
            "max_output_tokens": {
                "type": "number",
                "description": (
                    "How much output to return; of more, the middle is left out. Default: 10000."
                ),
            },
            "sandbox_permissions": {
                "type": "string",
                "enum": ["use_default", "with_additional_permissions", "require_escalated"],
                "description": (
                    "`with_additional_permissions` asks to run it in the sandbox with what "
                    "`additional_permissions` names, `require_escalated` outside of the sandbox. "
                    "Default: `use_default`."
                ),
            },
            "additional_permissions": {
                **PERMISSIONS_SCHEMA,
                "description": (
                    "Only with `with_additional_permissions`: the network, folders to write, "
                    "hidden paths to read."
                ),
            },
            "justification": {
                "type": "string",
                "description": (
                    "Unless `use_default`: one question to the user, why it needs more than the "
                    "sandbox allows."
                ),
            },
            "prefix_rule": {
                "type": "array",
                "items": {"type": "string"},
                "description": (
                    "Only with `require_escalated`: the first words of the command, if the user "
                    'could allow all commands that begin so, such as ["git", "fetch"].'
                ),
            },
        },
        "required": ["cmd"],
        "additionalProperties": False,
    },
)

WRITE_STDIN: Final = FunctionSchema(
    name="write_stdin",
    description=(
        "Types into a command that exec_command left running and returns what it has written "
        "since the last call. Without characters it only waits for output."
    ),
    parameters={
        "type": "object",
        "properties": {
            "session_id": {
                "type": "number",
                "description": "The session ID that the result of exec_command named.",
            },
            "chars": {
                "type": "string",
                "description": (
                    "What to type, newline included; \\u0003 interrupts. Default: nothing, which "
                    "only waits."
                ),
            },
            "yield_time_ms": {
                "type": "number",
                "description": (
                    "How long to wait for output: 250 to 30000 after typing (default 250), else "
                    "5000 to 300000 (default 5000). The end of the command ends the wait."
                ),
            },
            "max_output_tokens": {
                "type": "number",
                "description": (
                    "How much output to return; of more, the middle is left out. Default: 10000."
                ),
            },
        },
        "required": ["session_id"],
        "additionalProperties": False,
    },
)
