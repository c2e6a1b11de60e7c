"""Finds out where an issuer is asked for what, by the metadata it publishes."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_wire.account import Issuer, SignInError
from ferrule_wire.json_text import json_object
from ferrule_wire.renewal import is_safe_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_login.settings import LoginSettings

_DOCUMENTS: Final = ("openid-configuration", "oauth-authorization-server")
_PATIENCE_S: Final = 15.0


class Endpoints(NamedTuple):
    """Where the issuer is asked; an empty address means that it has no such place."""

    authorization: str
    token: str
    device: str = ""
    revocation: str = ""

    def issuer(self, settings: LoginSettings) -> Issuer:
        """What is kept with the tokens, so that they can be renewed."""
        return Issuer(settings.issuer, settings.client_id, self.token, self.revocation)


async def find_endpoints(settings: LoginSettings) -> Endpoints:
    """Take what is configured, and the rest from the issuer.

    Raises:
        SignInError: The issuer does not say, or says what cannot be trusted.
    """
    given = settings.endpoints
    is_complete = "token_endpoint" in given and (
        "authorization_endpoint" in given or "device_authorization_endpoint" in given
    )
    said = {} if is_complete else await _metadata(settings.issuer)
    found = {**{key: value for key, value in said.items() if isinstance(value, str)}, **given}
    endpoints = Endpoints(
        found.get("authorization_endpoint", ""),
        found.get("token_endpoint", ""),
        found.get("device_authorization_endpoint", ""),
        found.get("revocation_endpoint", ""),
    )
    if not endpoints.token:
        raise SignInError(f"{settings.issuer} names no token endpoint; is it the right issuer?")
    for url in filter(None, endpoints):
        if not is_safe_url(url):
            raise SignInError(f"{settings.issuer} names {url!r}, which is no https address")
    return endpoints


async def _metadata(issuer: str) -> Mapping[str, object]:
    import httpx

    reason = ""
    async with httpx.AsyncClient(timeout=_PATIENCE_S) as client:
        for name in _DOCUMENTS:
            url = f"{issuer}/.well-known/{name}"
            try:
                answer = await client.get(url, headers={"accept": "application/json"})
            except httpx.HTTPError as error:
                raise SignInError(
                    f"cannot reach the issuer {issuer}: {str(error) or type(error).__name__}; "
                    "check the network and `issuer` in the table [login]"
                ) from None
            said = json_object(answer.text) if answer.status_code == HTTPStatus.OK else {}
            if said and str(said.get("issuer", "")).rstrip("/") != issuer:
                raise SignInError(
                    f"{url} speaks for another issuer: {str(said.get('issuer'))[:200]!r}"
                )
            if said:
                return said
            reason = f"{url} answered {answer.status_code}"
    raise SignInError(f"{issuer} publishes no metadata ({reason}); is it the right issuer?")
