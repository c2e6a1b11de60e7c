"""Where a request asks the server to keep what it has read.

The server takes up a prompt where a mark of an earlier request stood. Four marks are allowed: one
ends the tools, one the system prompt, and two the last user messages. The second to last of these
is where the request before this one ended, however many blocks came after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_anthropic.content import Block
    from ferrule_anthropic.conversation import Prompt

_MARKED_MESSAGES: Final = 2


def mark_for_caching(tools: Sequence[Block], prompt: Prompt, ttl: str) -> None:
    """Put the marks into a request, in place."""
    mark = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    heard = [message for message in prompt.messages if message["role"] == "user"]
    contents = [cast("list[Block]", message["content"]) for message in heard[-_MARKED_MESSAGES:]]
    for blocks in (tools, prompt.system, *contents):
        if blocks:
            blocks[-1]["cache_control"] = mark
