"""Turns what a person agreed to into tokens, and checks whose tokens they are."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

from ferrule_wire.account import Account, SignInError, token_claims, tokens_from
from ferrule_wire.json_text import json_object
from ferrule_wire.renewal import error_code, post_form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_login.discovery import Endpoints
    from ferrule_login.settings import LoginSettings

_SKEW_S: Final = 300.0


class GrantRefusedError(SignInError):
    """The issuer gives no tokens; `code` is its word for why."""

    def __init__(self, url: str, status: int, code: str) -> None:
        """Word it."""
        why = _WORDS.get(code) or f"{url} answered {status}" + (f" ({code})" if code else "")
        super().__init__(f"signing in failed: {why}")
        self.code = code


_WORDS: Final = {
    "access_denied": "access was denied",
    "expired_token": "the code has expired before it was entered; begin anew",
    "invalid_grant": "the issuer does not take the code (invalid_grant); begin anew",
    "invalid_client": "the issuer does not know `client_id` of the table [login] (invalid_client)",
}


async def take_tokens(
    settings: LoginSettings, endpoints: Endpoints, form: Mapping[str, str], nonce: str = ""
) -> Account:
    """Ask for tokens with what a person agreed to.

    Raises:
        GrantRefusedError: The issuer refuses.
        SignInError: The tokens are not those that were asked for.
        ProviderError: The issuer cannot be reached.
    """
    asked = {**form, "client_id": settings.client_id}
    status, text = await post_form(endpoints.token, asked)
    answer = json_object(text)
    if status != HTTPStatus.OK:
        raise GrantRefusedError(endpoints.token, status, error_code(answer))
    tokens = tokens_from(answer)
    if tokens.identity:
        _check_identity(tokens.identity, settings, nonce)
    if settings.workspaces and tokens.account_id not in settings.workspaces:
        raise SignInError(
            "forced_chatgpt_workspace_id allows another account than the one that was signed in "
            "with; choose that one, and begin anew"
        )
    return Account(tokens=tokens, issuer=endpoints.issuer(settings))


def _check_identity(token: str, settings: LoginSettings, nonce: str) -> None:
    """Check the claims; the signature need not be, as the token came from the issuer itself.

    OpenID Connect Core, section 3.1.3.7.
    """
    claims = token_claims(token)
    audience = claims.get("aud")
    audiences = cast("list[object]", audience) if isinstance(audience, list) else [audience]
    expiry = claims.get("exp")
    is_current = not isinstance(expiry, int | float) or expiry > time.time() - _SKEW_S
    problems = {
        "issuer": str(claims.get("iss", "")).rstrip("/") == settings.issuer,
        "audience": settings.client_id in audiences,
        "nonce": not nonce or claims.get("nonce") == nonce,
        "expiry": is_current,
    }
    wrong = [name for name, is_right in problems.items() if not is_right]
    if wrong:
        raise SignInError(
            f"signing in failed: the identity token has another {' and '.join(wrong)} than expected"
        )
