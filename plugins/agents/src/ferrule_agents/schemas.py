"""How the model calls the tools: names and arguments as models know them, words of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.tools import FunctionSchema, ToolNamespace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAMESPACE: Final = ToolNamespace(
    "multi_agent_v1", "Starts other agents, gives them work, waits for them and ends them."
)

_MESSAGE: Final[dict[str, object]] = {
    "type": "string",
    "description": "The task in plain text. Give either `message` or `items`.",
}
_ITEMS: Final[dict[str, object]] = {
    "type": "array",
    "description": "The task in parts, for images, files on disk, skills and mentions.",
    "items": {
        "type": "object",
        "properties": {
            "type": {
                "type": "string",
                "description": "text, image, local_image, skill or mention.",
            },
            "text": {"type": "string", "description": "With text: the text."},
            "image_url": {"type": "string", "description": "With image: its URL."},
            "path": {
                "type": "string",
                "description": "With local_image, skill and mention: where it is.",
            },
            "name": {"type": "string", "description": "With skill and mention: its name."},
        },
        "additionalProperties": False,
    },
}


def _schema(
    name: str, description: str, properties: Mapping[str, object], required: Sequence[str] = ()
) -> FunctionSchema:
    parameters: dict[str, object] = {"type": "object", "properties": dict(properties)}
    if required:
        parameters["required"] = list(required)
    parameters["additionalProperties"] = False
    return FunctionSchema(name, description, parameters)


SPAWN: Final = _schema(
    "spawn_agent",
    "Starts another agent on a task of its own and returns its id at once; it works beside you,"
    " in the same folder and with no more permissions than you have. Use it for work that can be"
    " described completely in a few sentences and does not hold up your next step: a search, a"
    " separate part of the code, a check. Say what to do, what to leave alone, and what to report;"
    " it knows nothing else. Do not give two agents the same files to change. Do small things"
    " yourself. Its last message is its report: read it with `wait_agent`.",
    {
        "message": _MESSAGE,
        "items": _ITEMS,
        "agent_type": {"type": "string", "description": "What kind of agent to start."},
        "model": {
            "type": "string",
            "description": "Another model than yours; leave it out unless one was asked for.",
        },
        "reasoning_effort": {
            "type": "string",
            "description": "Another reasoning effort than yours; usually left out.",
        },
        "fork_context": {
            "type": "boolean",
            "description": "The agent begins with a copy of this conversation; by default it knows"
            " only its task.",
        },
    },
)
SEND: Final = _schema(
    "send_input",
    "Sends more input to an open agent. One that is working reads it with its next step; one that"
    " has finished begins to work again, and knows what it did before.",
    {
        "target": {"type": "string", "description": "The agent's id."},
        "message": _MESSAGE,
        "items": _ITEMS,
        "interrupt": {
            "type": "boolean",
            "description": "Stop what the agent is doing and begin with this instead.",
        },
    },
    ("target",),
)
WAIT: Final = _schema(
    "wait_agent",
    "Waits until at least one of the named agents has come to an end, and returns how those stand"
    " that have, with their last messages. Do what you can do yourself first, and wait only for"
    " what your next step needs; one long wait costs less than many short ones.",
    {
        "targets": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Ids of the agents to wait for.",
        },
        "timeout_ms": {
            "type": "number",
            "description": "How long to wait, in milliseconds: 10000 to 3600000, else 30000.",
        },
    },
    ("targets",),
)
CLOSE: Final = _schema(
    "close_agent",
    "Ends an agent and all agents that it started, and returns how it stood before. Agents that"
    " have finished count among those that are open until they are closed, so close those you have"
    " no more use for.",
    {"target": {"type": "string", "description": "The agent's id."}},
    ("target",),
)
RESUME: Final = _schema(
    "resume_agent",
    "Opens an agent again that was closed, as it was left, so that `send_input` reaches it.",
    {"id": {"type": "string", "description": "The agent's id."}},
    ("id",),
)


def with_roles(schema: FunctionSchema, descriptions: Mapping[str, str]) -> FunctionSchema:
    """Name the roles that there are."""
    listed = "\n".join(f"- {name}: {text}" for name, text in descriptions.items())
    properties = dict(cast("Mapping[str, object]", schema.parameters["properties"]))
    properties["agent_type"] = {
        "type": "string",
        "enum": list(descriptions),
        "description": f"What kind of agent to start, `default` where it is left out:\n{listed}",
    }
    return schema._replace(parameters={**schema.parameters, "properties": properties})


def text_of(arguments: Mapping[str, object]) -> str:
    """The text of a task, for people to read."""
    message = arguments.get("message")
    if isinstance(message, str):
        return message
    parts = cast("Sequence[Mapping[str, object]]", arguments.get("items") or ())
    texts = [part.get("text") or part.get("name") or part.get("path") for part in parts]
    return "\n".join(str(text) for text in texts if text)
