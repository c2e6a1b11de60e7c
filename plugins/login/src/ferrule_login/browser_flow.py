"""Signing in with a browser: authorization code with PKCE, S256 (RFC 6749, 7636, 8252)."""

from __future__ import annotations

import base64
import hashlib
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import anyio

from ferrule_login.callback import listening
from ferrule_login.discovery import find_endpoints
from ferrule_login.grant import take_tokens
from ferrule_wire.account import SignInError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from ferrule_login.callback import Callback
    from ferrule_login.discovery import Endpoints
    from ferrule_login.settings import LoginSettings
    from ferrule_wire.account import Account

DEADLINE_S: Final = 600.0


class BrowserAttempt:
    """One attempt; its verifier and its state serve no other.

    Attributes:
        url: The page where the person agrees.
    """

    def __init__(self, settings: LoginSettings, endpoints: Endpoints, callback: Callback) -> None:
        """Make up the secrets of the attempt."""
        self._settings = settings
        self._endpoints = endpoints
        self._callback = callback
        self._verifier = secrets.token_urlsafe(64)
        self._nonce = secrets.token_urlsafe(16)
        self.url = self._page()

    async def account(self) -> Account:
        """Wait for the browser, and take the tokens.

        Raises:
            SignInError: The person or the issuer refused, or nobody came in time.
            ProviderError: The issuer cannot be reached.
        """
        with anyio.move_on_after(DEADLINE_S):
            query = await self._callback.query()
            try:
                account = await self._exchange(query)
            except BaseException as error:
                if isinstance(error, Exception):
                    await self._callback.settle(str(error))
                raise
            await self._callback.settle()
            return account
        raise SignInError(
            f"nobody signed in within {DEADLINE_S / 60:g} minutes; begin anew with `ferrule login`"
        )

    def _page(self) -> str:
        digest = hashlib.sha256(self._verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._callback.redirect_uri,
            "scope": " ".join(self._settings.scopes),
            "state": self._callback.state,
            "nonce": self._nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        # What is configured comes first, so that it cannot take the place of what protects.
        joint = "&" if "?" in self._endpoints.authorization else "?"
        return (
            self._endpoints.authorization
            + joint
            + urlencode({**self._settings.parameters, **query})
        )

    async def _exchange(self, query: Mapping[str, str]) -> Account:
        said_issuer = query.get("iss", "").rstrip("/")
        if said_issuer and said_issuer != self._settings.issuer:
            raise SignInError("signing in failed: the browser comes from another issuer")
        if refusal := query.get("error"):
            is_denied = refusal == "access_denied"
            raise SignInError(
                "signing in failed: access was denied"
                if is_denied
                else f"signing in failed: the issuer says {refusal[:60]!r}"
            )
        form = {
            "grant_type": "authorization_code",
            "code": query.get("code", ""),
            "redirect_uri": self._callback.redirect_uri,
            "code_verifier": self._verifier,
        }
        return await take_tokens(self._settings, self._endpoints, form, self._nonce)


@asynccontextmanager
async def browser_attempt(settings: LoginSettings) -> AsyncGenerator[BrowserAttempt]:
    """Begin an attempt; the address on this machine is open inside the block only.

    Raises:
        SignInError: The issuer cannot be used so, or the port is taken.
    """
    endpoints = await find_endpoints(settings)
    if not endpoints.authorization:
        raise SignInError(f"{settings.issuer} has no page to sign in at; use `--device-auth`")
    async with listening(settings.redirect_uri) as callback:
        yield BrowserAttempt(settings, endpoints, callback)
