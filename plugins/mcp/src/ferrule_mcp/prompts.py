"""The prompts of servers: a user or a client chooses one, and decides what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ferrule_mcp.connection import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    import mcp_types as types

    from ferrule_mcp.server import Server


async def prompt_list(server: Server) -> list[Mapping[str, object]]:
    """List the prompts of a server; empty where it has none.

    Raises:
        FerruleError: It cannot be used.
    """
    known = server.manifest
    if known is not None and not known.has_prompts:
        return []
    connection = await server.opened()
    if not connection.manifest.has_prompts:
        return []
    return [
        plain(each) for each in await connection.asked(connection.pages("list_prompts", "prompts"))
    ]


async def filled_prompt(
    server: Server, name: str, arguments: Mapping[str, str]
) -> Mapping[str, object]:
    """Fill in a prompt: its description and its messages.

    Raises:
        FerruleError: The server cannot be used, has no such prompt, or wants other arguments.
    """
    connection = await server.opened()
    asked = connection.session.get_prompt(name, dict(arguments))
    found = cast("types.GetPromptResult", await connection.asked(asked))
    told = plain(found)
    return {key: told[key] for key in ("description", "messages") if key in told}


def text_of(prompt: Mapping[str, object]) -> str:
    """Write the messages of a prompt as one text, as it is handed to `ferrule exec`."""
    messages = cast("list[Mapping[str, Mapping[str, object]]]", prompt.get("messages") or [])
    texts = [_text(message["content"]) for message in messages]
    return "\n\n".join(text for text in texts if text)


def _text(content: Mapping[str, object]) -> str:
    if content.get("type") == "resource":
        inner = cast("Mapping[str, object]", content.get("resource") or {})
        return str(inner.get("text") or f"[{inner.get('uri')}]")
    return str(content.get("text") or f"[{content.get('type')} that is not shown]")
