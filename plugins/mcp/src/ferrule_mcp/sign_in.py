"""Signing in to servers of the network by OAuth, and what is kept of it.

Kept in one file per server that only its owner may read. Sessions use what is kept and renew it;
only `ferrule mcp login` sends anybody to a browser.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import FerruleError
from ferrule_mcp.private_file import replace_private

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import (
        AuthorizationCodeResult,
        OAuthClientInformationFull,
        OAuthToken,
    )

    from ferrule_mcp.server_settings import ServerSettings

_EARLY_S: Final = 30
_ELSEWHERE: Final = "http://127.0.0.1/callback"


class SignInFile:
    """What is kept of one sign-in. The SDK's `TokenStorage`."""

    def __init__(self, home: Path, settings: ServerSettings) -> None:
        self._file = home / "mcp-auth" / f"{settings.manifest_key}.json"
        self._provider: OAuthClientProvider | None = None

    @property
    def exists(self) -> bool:
        """Whether anybody is signed in."""
        return self._file.exists()

    def serve(self, provider: OAuthClientProvider) -> None:
        """Tell the SDK what it does not keep: when tokens end, and where they are renewed."""
        from mcp.shared.auth import OAuthMetadata

        self._provider = provider
        kept = self._read()
        ends = kept.get("expires_at")
        if isinstance(ends, int | float):
            provider.context.token_expiry_time = ends - _EARLY_S
        if isinstance(kept.get("metadata"), dict):
            provider.context.oauth_metadata = OAuthMetadata.model_validate(kept["metadata"])

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        from mcp.shared.auth import OAuthToken

        tokens = self._read().get("tokens")
        return OAuthToken.model_validate(tokens) if isinstance(tokens, dict) else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep the tokens, and what they are renewed by."""
        kept: dict[str, object] = {"tokens": tokens.model_dump(mode="json", exclude_none=True)}
        if tokens.expires_in is not None:
            kept["expires_at"] = int(time.time()) + int(tokens.expires_in)
        metadata = None if self._provider is None else self._provider.context.oauth_metadata
        if metadata is not None:
            kept["metadata"] = metadata.model_dump(mode="json", exclude_none=True)
        before = self._read()
        before.pop("expires_at", None)
        self._write(before | kept)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the name that the issuer knows us by."""
        from mcp.shared.auth import OAuthClientInformationFull

        client = self._read().get("client")
        return OAuthClientInformationFull.model_validate(client) if client is not None else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep that name."""
        told = client_info.model_dump(mode="json", exclude_none=True)
        self._write(self._read() | {"client": told})

    def forget(self) -> bool:
        """Forget the sign-in; returns whether there was one."""
        try:
            self._file.unlink()
        except FileNotFoundError:
            return False
        return True

    def _read(self) -> dict[str, object]:
        try:
            value: object = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        return cast("dict[str, object]", value) if isinstance(value, dict) else {}

    def _write(self, value: dict[str, object]) -> None:
        replace_private(self._file, json.dumps(value))


def kept_sign_in(settings: ServerSettings, home: Path) -> OAuthClientProvider | None:
    """Return what a session signs its requests with; None where nobody is signed in."""
    storage = SignInFile(home, settings)
    if not storage.exists:
        return None

    async def refuse(url: str) -> None:
        raise FerruleError(_ended(settings.name))

    async def refuse_answer() -> AuthorizationCodeResult:
        raise FerruleError(_ended(settings.name))

    return _provider(settings, storage, _ELSEWHERE, (refuse, refuse_answer))


async def sign_in(
    settings: ServerSettings, home: Path, port: int, show: Callable[[str], Awaitable[None]]
) -> None:
    """Send a person to a browser, and keep what comes of it.

    Args:
        settings: A server with a URL.
        home: `$FERRULE_HOME`.
        port: Port of this machine the browser comes back to; 0 takes a free one.
        show: Shows the address to visit.

    Raises:
        FerruleError: It did not work; says why.
    """
    import httpx2
    from mcp import MCPError
    from mcp.client.auth import OAuthFlowError
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    from ferrule_mcp.callback import Callback

    async with Callback(port) as callback:
        storage = SignInFile(home, settings)
        storage.forget()
        provider = _provider(settings, storage, callback.url, (show, callback.answer))
        try:
            async with (
                httpx2.AsyncClient(auth=provider, timeout=30) as client,
                streamable_http_client(settings.url, http_client=client) as (reader, writer),
                ClientSession(reader, writer) as session,
            ):
                await session.initialize()
        except (MCPError, OAuthFlowError, ExceptionGroup, httpx2.HTTPError) as error:
            if not storage.exists:
                from ferrule_mcp.connection import cause

                raise FerruleError(
                    f"signing in to the MCP server {settings.name!r} failed: {cause(error)}"
                ) from None
        if await storage.get_tokens() is None:
            storage.forget()
            raise FerruleError(f"the MCP server {settings.name!r} asks nobody to sign in")


def _provider(
    settings: ServerSettings,
    storage: SignInFile,
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
    provider = OAuthClientProvider(settings.url, metadata, storage, *handlers)
    storage.serve(provider)
    return provider


def _ended(name: str) -> str:
    return f"the sign-in at the MCP server {name!r} has ended; run `ferrule mcp login {name}`"
