"""Renews tokens at their issuer, by one process at a time.

A refresh token may serve once only, so the new one is stored before the new access token is used,
and nothing interrupts the two steps. A process that waited finds what the other one stored.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlencode, urlsplit

import anyio

from ferrule_hookspecs.errors import ProviderError
from ferrule_wire.account import Account, SignInError, tokens_from
from ferrule_wire.json_text import json_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_wire.account import Issuer
    from ferrule_wire.vault import Vault

AGAIN: Final = "sign in again: `ferrule login`"
_PATIENCE_S: Final = 30.0
_LARGEST: Final = 1 << 20
_LONGEST_CODE: Final = 60
_ENDED: Final = frozenset(
    {
        "invalid_grant",
        "invalid_client",
        "unauthorized_client",
        "refresh_token_expired",
        "refresh_token_reused",
        "refresh_token_invalidated",
    }
)
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")


class SignInEndedError(SignInError):
    """The issuer takes the sign-in no longer."""


async def renewed(vault: Vault, refused: str) -> Account | None:
    """Return the sign-in with a token other than `refused` that is not stale.

    Args:
        vault: Where it is kept.
        refused: An access token that a server did not take, or that is stale.

    Raises:
        SignInEndedError: A person has to sign in again.
        SignInError: It cannot be read or stored.
        ProviderError: The issuer cannot be asked now.
    """
    async with vault.lock():
        account = await anyio.to_thread.run_sync(vault.read)
        if account is None or account.bearer != refused:
            return account
        if account.tokens is None:
            return account
        if account.issuer is None or not account.tokens.refresh:
            raise SignInEndedError(f"the sign-in has expired and cannot be renewed; {AGAIN}")
        with anyio.CancelScope(shield=True):
            answer = await _ask(account.issuer, account)
            account = account._replace(tokens=tokens_from(answer, account.tokens))
            await anyio.to_thread.run_sync(vault.write, account, vault.store)
        return account


async def _ask(issuer: Issuer, account: Account) -> Mapping[str, object]:
    assert account.tokens is not None  # noqa: S101 -- the only caller has looked
    form = {
        "grant_type": "refresh_token",
        "refresh_token": account.tokens.refresh,
        "client_id": issuer.client_id,
    }
    status, text = await post_form(issuer.token_endpoint, form)
    answer = json_object(text)
    if status == HTTPStatus.OK:
        return answer
    code = error_code(answer)
    if code in _ENDED or (status == HTTPStatus.UNAUTHORIZED and not code):
        raise SignInEndedError(
            f"the sign-in has expired or was revoked ({code or status}); {AGAIN}"
        )
    raise ProviderError(
        f"the sign-in could not be renewed: {issuer.token_endpoint} answered {status}"
        + (f" ({code})" if code else ""),
        retryable=status >= HTTPStatus.INTERNAL_SERVER_ERROR
        or status == HTTPStatus.TOO_MANY_REQUESTS,
        kind="unauthorized",
        status=status,
    )


async def post_form(url: str, form: Mapping[str, str]) -> tuple[int, str]:
    """Send a form to an issuer; returns the status and the text of the answer.

    Raises:
        SignInError: The address is neither https nor on this machine.
        ProviderError: There was no answer.
    """
    from ferrule_wire.channel import ChannelError, Target, make_channel
    from ferrule_wire.sender import no_answer

    if not is_safe_url(url):
        raise SignInError(f"{url!r} is no https address, so no secret is sent there")
    target = Target(urlsplit(url), _PATIENCE_S)
    channel = make_channel(target)
    headers = {
        "content-type": "application/x-www-form-urlencoded",
        "accept": "application/json",
    }
    try:
        with anyio.fail_after(_PATIENCE_S):
            answer = await channel.post(urlencode(form).encode(), headers)
            body = b""
            async for piece in answer:
                body += piece
                if len(body) > _LARGEST:
                    break
            await answer.aclose()
            return answer.status, body.decode("utf-8", "replace")
    except TimeoutError:
        raise ProviderError(
            f"{target.shown_url} gave no answer within {_PATIENCE_S:g} s",
            retryable=True,
            kind="unauthorized",
        ) from None
    except ChannelError as error:
        raise no_answer(error, target.shown_url) from error
    finally:
        await channel.aclose()


def is_safe_url(url: str) -> bool:
    """Whether nobody on the way can read what is sent: https, or this machine itself."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL)
        )
    except ValueError:
        return False


def error_code(answer: Mapping[str, object]) -> str:
    """Read the code of an issuer's error: a short word, never text that might quote a secret."""
    found = answer.get("error")
    if isinstance(found, dict):
        found = cast("dict[str, object]", found).get("code")
    if not isinstance(found, str) or len(found) > _LONGEST_CODE:
        return ""
    return found if found.replace("_", "").isalnum() else ""
