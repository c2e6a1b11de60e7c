"""Signing in to servers of the network by OAuth.

Sessions use what is kept of a sign-in and renew it; only a person who asks for it is sent to a
browser, by `ferrule mcp login` or by a client of the app-server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ferrule_hookspecs.errors import ConfigError, FerruleError
from ferrule_mcp.sign_in_store import SignInStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from pathlib import Path

    from mcp.client.auth import OAuthClientProvider
    from mcp.client.session import ClientSession
    from mcp.shared.auth import AuthorizationCodeResult

    from ferrule_mcp.server_settings import ServerSettings
    from ferrule_mcp.sign_in_store import Wish

_ELSEWHERE: Final = "http://127.0.0.1/callback"


class Browser(NamedTuple):
    """How a person is reached.

    Attributes:
        show: Shows the address to visit.
        port: Port of this machine the browser comes back to; 0 takes a free one.
    """

    show: Callable[[str], Awaitable[None]]
    port: int = 0


async def kept_sign_in(settings: ServerSettings, home: Path) -> OAuthClientProvider | None:
    """Return what a session signs its requests with; None where nobody is signed in."""
    storage = SignInStore(home, settings)
    if not storage.exists:
        return None

    async def refuse(url: str) -> None:
        raise FerruleError(_ended(settings.name))

    async def refuse_answer() -> AuthorizationCodeResult:
        raise FerruleError(_ended(settings.name))

    return await _provider(settings, storage, _ELSEWHERE, (refuse, refuse_answer))


async def sign_in(
    settings: ServerSettings,
    home: Path,
    browser: Browser,
    wish: Wish = "auto",
    environ: Mapping[str, str] | None = None,
) -> str:
    """Send a person to a browser, and keep what comes of it; returns where that is kept.

    Args:
        settings: A server with a URL.
        home: `$FERRULE_HOME`.
        browser: How the person is reached.
        wish: Where the sign-in is to be kept.
        environ: Holds the secret of a client that is registered already.

    Raises:
        FerruleError: It did not work; says why.
    """
    import httpx2
    from mcp import MCPError
    from mcp.client.auth import OAuthFlowError
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    from ferrule_mcp.callback import Callback

    async with Callback(browser.port) as callback:
        storage = SignInStore(home, settings, wish)
        scopes = {*settings.scopes, *await storage.start_over()}
        await _introduce(settings, storage, callback.url, environ or {})

        async def show(url: str) -> None:
            await browser.show(_asking_for(url, scopes))

        provider = await _provider(settings, storage, callback.url, (show, callback.answer))
        try:
            async with (
                httpx2.AsyncClient(auth=provider, timeout=30) as client,
                streamable_http_client(settings.url, http_client=client) as (reader, writer),
                ClientSession(reader, writer) as session,
            ):
                await session.initialize()
                await _knock(session, storage)
        except (MCPError, OAuthFlowError, ExceptionGroup, httpx2.HTTPError) as error:
            if await storage.get_tokens() is None:
                from ferrule_mcp.connection import cause

                await storage.forget()
                raise FerruleError(
                    f"signing in to the MCP server {settings.name!r} failed: {cause(error)}"
                ) from None
        if await storage.get_tokens() is None:
            await storage.forget()
            raise FerruleError(f"the MCP server {settings.name!r} asks nobody to sign in")
        return storage.place


async def _knock(session: ClientSession, storage: SignInStore) -> None:
    """Ask for the tools where the greeting was answered without a sign-in."""
    if await storage.get_tokens() is None:
        await session.list_tools()


async def _introduce(
    settings: ServerSettings, storage: SignInStore, redirect: str, environ: Mapping[str, str]
) -> None:
    """Use the client that is registered already, if the configuration names one."""
    from mcp.shared.auth import OAuthClientInformationFull

    if not settings.client_id:
        return
    variable = settings.client_secret_variable
    secret = environ.get(variable, "")
    if variable and not secret:
        raise ConfigError(
            f"mcp_servers.{settings.name}.oauth.client_secret_env_var names the variable "
            f"{variable}, which is not set"
        )
    told = {
        "client_id": settings.client_id,
        "client_secret": secret or None,
        "redirect_uris": [redirect],
        "token_endpoint_auth_method": "client_secret_basic" if secret else "none",
    }
    await storage.set_client_info(OAuthClientInformationFull.model_validate(told))


async def _provider(
    settings: ServerSettings,
    storage: SignInStore,
    redirect: str,
    handlers: tuple[
        Callable[[str], Awaitable[None]], Callable[[], Awaitable[AuthorizationCodeResult]]
    ],
) -> OAuthClientProvider:
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata

    metadata = OAuthClientMetadata.model_validate(
        {
            "client_name": "Ferrule",
            "redirect_uris": [redirect],
            "scope": " ".join(settings.scopes) or None,
        }
    )
    url = settings.client_metadata_url or None
    provider = OAuthClientProvider(settings.url, metadata, storage, *handlers, url)
    await storage.serve(provider)
    return provider


def _asking_for(url: str, scopes: Iterable[str]) -> str:
    """Ask for more than the server named: what is configured, and what it wanted before."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    named = query.get("scope", "").split()
    more = sorted(set(scopes) - set(named))
    if not more:
        return url
    query["scope"] = " ".join([*named, *more])
    return urlunsplit(parts._replace(query=urlencode(query)))


def _ended(name: str) -> str:
    return f"the sign-in at the MCP server {name!r} has ended; run `ferrule mcp login {name}`"
