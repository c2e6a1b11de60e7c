"""What the configuration says about signing in: the table `[login]` and the keys beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, cast
from urllib.parse import urlsplit

from ferrule_hookspecs.errors import ConfigError
from ferrule_wire.renewal import is_safe_url

Method = Literal["chatgpt", "api"]
StoreWish = Literal["file", "keyring", "auto", "ephemeral"]

_SCOPES: Final = ("openid", "profile", "email", "offline_access")
_REDIRECT: Final = "http://127.0.0.1:0/auth/callback"
_ENDPOINTS: Final = (
    "authorization_endpoint",
    "token_endpoint",
    "device_authorization_endpoint",
    "revocation_endpoint",
)
_UNKNOWN_ISSUER: Final = (
    "signing in with an account needs `issuer` and `client_id` in the table [login] of "
    "config.toml; with an API key it does not: `ferrule login --with-api-key`"
)


class LoginSettings(NamedTuple):
    """Where one signs in with an account.

    Attributes:
        issuer: Its identifier.
        client_id: What Ferrule is called there.
        scopes: What is asked for.
        redirect_uri: Where the browser comes back to; port 0 stands for a free one.
        parameters: More parameters of the page where one agrees.
        endpoints: Addresses that stand in the place of what the issuer's metadata say.
        workspaces: Accounts of which one must be signed in with; empty for any.
    """

    issuer: str
    client_id: str
    scopes: tuple[str, ...]
    redirect_uri: str
    parameters: Mapping[str, str]
    endpoints: Mapping[str, str]
    workspaces: tuple[str, ...]


def read_login(config: Mapping[str, object]) -> LoginSettings:
    """Check what is configured for signing in with an account.

    Raises:
        ConfigError: Something is missing or cannot be used.
    """
    check_method(config, "chatgpt")
    found = config.get("login")
    table = cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
    issuer, client_id = _text(table, "issuer"), _text(table, "client_id")
    if not (issuer and client_id):
        raise ConfigError(_UNKNOWN_ISSUER)
    endpoints = {name: url for name in _ENDPOINTS if (url := _text(table, name))}
    for name, url in {"issuer": issuer, **endpoints}.items():
        if not is_safe_url(url):
            raise ConfigError(f"login.{name} must be an https address, not {url!r}")
    scopes = cast("list[str] | None", table.get("scopes"))
    return LoginSettings(
        issuer.rstrip("/"),
        client_id,
        _SCOPES if scopes is None else tuple(scopes),
        _redirect(_text(table, "redirect_uri") or _REDIRECT),
        cast("Mapping[str, str]", table.get("parameters") or {}),
        endpoints,
        _workspaces(config),
    )


def check_method(config: Mapping[str, object], method: Method) -> None:
    """Keep to `forced_login_method`.

    Raises:
        ConfigError: Another way to sign in is the only one allowed.
    """
    forced = config.get("forced_login_method")
    if forced is not None and forced != method:
        ways = {"chatgpt": "`ferrule login`", "api": "`ferrule login --with-api-key`"}
        way = ways.get(str(forced), "another way")
        raise ConfigError(f"forced_login_method = {forced!r} allows no other way than {way}")


def store_wish(config: Mapping[str, object]) -> StoreWish:
    """Where the sign-in is to be kept."""
    return cast("StoreWish", config.get("cli_auth_credentials_store") or "file")


def _redirect(uri: str) -> str:
    parts = urlsplit(uri)
    is_here = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost")
    if not is_here or parts.query or parts.fragment:
        raise ConfigError(
            "login.redirect_uri must be an address of this machine, such as "
            f"http://127.0.0.1:1455/auth/callback, not {uri!r}"
        )
    return uri


def _workspaces(config: Mapping[str, object]) -> tuple[str, ...]:
    found = config.get("forced_chatgpt_workspace_id")
    if isinstance(found, list | tuple):
        return tuple(str(each) for each in cast("list[object]", found))
    return (str(found),) if found else ()


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""
