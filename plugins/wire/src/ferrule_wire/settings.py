"""What a `model_providers` table says, checked and with its defaults."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_T = TypeVar("_T")


class TokenCommand(NamedTuple):
    """A program that prints a bearer token.

    Attributes:
        argv: The program and its arguments.
        cwd: Where it runs; None means `$FERRULE_HOME`.
        timeout_s: How long it may take.
        refresh_s: How long a token is used before the program is asked again.
    """

    argv: tuple[str, ...]
    cwd: str | None = None
    timeout_s: float = 5.0
    refresh_s: float = 300.0


class Vendor(NamedTuple):
    """What holds for a wire where the table is silent.

    Attributes:
        name: Display name.
        base_url: Address of the API.
        env_key: Environment variable of the key, used with that address only.
        key_header: Header that carries the key as it is; None sends it as a bearer token.
    """

    name: str
    base_url: str
    env_key: str | None = None
    key_header: str | None = None


class ProviderSettings(NamedTuple):
    """One `model_providers` table. `key_header` is as in `Vendor`.

    Attributes:
        uses_sign_in: Whether the stored sign-in counts where no key is set.
    """

    name: str
    base_url: str
    key_header: str | None = None
    env_key: str | None = None
    env_key_instructions: str | None = None
    bearer_token: str | None = None
    token_command: TokenCommand | None = None
    query_params: Mapping[str, str] = MappingProxyType({})
    http_headers: Mapping[str, str] = MappingProxyType({})
    env_http_headers: Mapping[str, str] = MappingProxyType({})
    request_max_retries: int = 4
    stream_max_retries: int = 5
    stream_idle_timeout_s: float = 300.0
    uses_sign_in: bool = False


def read_settings(table: Mapping[str, object], vendor: Vendor) -> ProviderSettings:
    """Check a table; the vendor's values stand where it is silent.

    Raises:
        ConfigError: A value is of the wrong type.
    """
    base_url = _get(table, "base_url", str)
    env_key = _get(table, "env_key", str)
    bearer_token = _get(table, "experimental_bearer_token", str)
    token_command = _token_command(table)
    if base_url is None and not (env_key or bearer_token or token_command):
        env_key = vendor.env_key
    return ProviderSettings(
        name=_get(table, "name", str) or vendor.name,
        base_url=base_url or vendor.base_url,
        key_header=vendor.key_header,
        env_key=env_key,
        env_key_instructions=_get(table, "env_key_instructions", str),
        bearer_token=bearer_token,
        token_command=token_command,
        query_params=_texts(table, "query_params"),
        http_headers=_texts(table, "http_headers"),
        env_http_headers=_texts(table, "env_http_headers"),
        request_max_retries=_count(table, "request_max_retries", 4),
        stream_max_retries=_count(table, "stream_max_retries", 5),
        stream_idle_timeout_s=_count(table, "stream_idle_timeout_ms", 300_000) / 1000,
        uses_sign_in=_get(table, "requires_openai_auth", bool) or False,
    )


def _token_command(table: Mapping[str, object]) -> TokenCommand | None:
    auth = _get(table, "auth", dict)
    if auth is None:
        return None
    command = _get(auth, "command", str)
    if not command:
        raise ConfigError("model provider setting 'auth' needs a 'command', a program's name")
    args = _get(auth, "args", list) or []
    return TokenCommand(
        argv=(command, *(str(argument) for argument in args)),
        cwd=_get(auth, "cwd", str),
        timeout_s=_count(auth, "timeout_ms", 5_000) / 1000,
        refresh_s=_count(auth, "refresh_interval_ms", 300_000) / 1000,
    )


def _get(table: Mapping[str, object], key: str, type_: type[_T]) -> _T | None:
    value = table.get(key)
    if value is None or isinstance(value, type_):
        return value
    raise ConfigError(
        f"model provider setting {key!r} must be of type {type_.__name__}, "
        f"not {type(value).__name__}"
    )


def _texts(table: Mapping[str, object], key: str) -> dict[str, str]:
    return {str(name): str(value) for name, value in (_get(table, key, dict) or {}).items()}


def _count(table: Mapping[str, object], key: str, default: int) -> int:
    value = _get(table, key, int)
    if value is None:
        return default
    if isinstance(value, bool) or value < 0:
        raise ConfigError(f"model provider setting {key!r} must be a number, zero or more")
    return value
