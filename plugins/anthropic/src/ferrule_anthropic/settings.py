"""What the table `settings` of a provider may say for the Messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

API_VERSION: Final = "2023-06-01"
"""The version of the API that every request asks for."""

Thinking = Literal["auto", "adaptive", "budget", "between_tools", "disabled", "off"]
CacheTtl = Literal["5m", "1h", "off"]
SchemaMeans = Literal["native", "instructions"]

_CHOICES: Final = {
    "thinking": ("auto", "adaptive", "budget", "between_tools", "disabled", "off"),
    "cache_ttl": ("5m", "1h", "off"),
    "output_schema": ("native", "instructions"),
}


class MessagesSettings(NamedTuple):
    """Settings of the wire; the defaults suit the models of Anthropic.

    Attributes:
        max_tokens: Most tokens of one answer; None takes what is known about the model.
        betas: Values of the header `anthropic-beta`.
        thinking: How thinking is asked for: by the model's name (`auto`), left to the model with an
            effort, with a budget of tokens, by one of the API's own values, or not at all (`off`).
        thinking_budget: Tokens to think with, where thinking has a budget; None goes by effort.
        cache_ttl: How long the server keeps a prompt; `off` asks for no caching.
        output_schema: How a schema for the answer is sent: by the API's own means or in words.
    """

    max_tokens: int | None = None
    betas: Sequence[str] = ()
    thinking: Thinking = "auto"
    thinking_budget: int | None = None
    cache_ttl: CacheTtl = "5m"
    output_schema: SchemaMeans = "native"


def read_messages_settings(table: Mapping[str, object]) -> MessagesSettings:
    """Check the table.

    Raises:
        ConfigError: A key is unknown, or a value of the wrong type.
    """
    for key in table:
        if key not in MessagesSettings._fields:
            known = ", ".join(MessagesSettings._fields)
            raise _wrong(key, f"is not known; known are {known}")
    betas = table.get("betas", [])
    if not isinstance(betas, list) or not all(
        isinstance(beta, str) for beta in cast("list[object]", betas)
    ):
        raise _wrong("betas", "must be a list of strings")
    return MessagesSettings(
        max_tokens=_count(table, "max_tokens"),
        betas=tuple(cast("list[str]", betas)),
        thinking=cast("Thinking", _choice(table, "thinking")),
        thinking_budget=_count(table, "thinking_budget"),
        cache_ttl=cast("CacheTtl", _choice(table, "cache_ttl")),
        output_schema=cast("SchemaMeans", _choice(table, "output_schema")),
    )


def _choice(table: Mapping[str, object], key: str) -> object:
    choices = _CHOICES[key]
    value = table.get(key, choices[0])
    if value not in choices:
        raise _wrong(key, f"must be one of {', '.join(choices)}")
    return value


def _count(table: Mapping[str, object], key: str) -> int | None:
    value = table.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise _wrong(key, "must be a number, one or more")


def _wrong(key: str, what: str) -> ConfigError:
    return ConfigError(f"`settings.{key}` of a model provider with wire_api `anthropic` {what}")
