"""What signing in left, and its form in `auth.json`: an API key, or tokens and where they are from.

The form is that of Codex, with the table `oauth` beside it: tokens are renewed where they were
handed out, whatever the configuration says by then.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPENAI_CLAIM: Final = "https://api.openai.com/auth"
_MARGIN_S: Final = 60.0
_MARGIN_SHARE: Final = 0.1


class SignInError(FerruleError):
    """What signing in left cannot be used, read or written."""


class Issuer(NamedTuple):
    """Who hands out tokens, and how it is asked.

    Attributes:
        url: Its identifier.
        client_id: What Ferrule is called there.
        token_endpoint: Where tokens are renewed.
        revocation_endpoint: Where they are given back; empty where there is no such place.
    """

    url: str
    client_id: str
    token_endpoint: str
    revocation_endpoint: str = ""


class Tokens(NamedTuple):
    """What an issuer handed out. Times are seconds since 1970; an `expires_at` of 0 is unknown."""

    access: str
    refresh: str = ""
    identity: str = ""
    account_id: str = ""
    issued_at: float = 0.0
    expires_at: float = 0.0

    def is_stale(self) -> bool:
        """Whether they should be renewed before they are used."""
        lifetime = self.expires_at - self.issued_at
        margin = min(_MARGIN_S, max(lifetime, 0.0) * _MARGIN_SHARE)
        return bool(self.expires_at) and time.time() >= self.expires_at - margin

    def is_expired(self) -> bool:
        """Whether no server would take them any more."""
        return bool(self.expires_at) and time.time() >= self.expires_at

    def claims(self) -> Mapping[str, object]:
        """What the identity token says of the person; empty where there is none."""
        return token_claims(self.identity)

    @property
    def plan(self) -> str:
        """The person's plan with OpenAI; empty where nothing is said of it."""
        found = _table(self.claims().get(_OPENAI_CLAIM)).get("chatgpt_plan_type")
        return found if isinstance(found, str) else ""

    @property
    def email(self) -> str:
        """The person's address; empty where nothing is said of it."""
        found = self.claims().get("email")
        return found if isinstance(found, str) else ""


class Account(NamedTuple):
    """Who is signed in: by a key, or by tokens of an issuer; never by both.

    An issuer of None means that the tokens cannot be renewed.
    """

    api_key: str = ""
    tokens: Tokens | None = None
    issuer: Issuer | None = None

    @property
    def bearer(self) -> str:
        """What requests are sent with."""
        return self.tokens.access if self.tokens else self.api_key

    @property
    def is_renewable(self) -> bool:
        """Whether tokens can be had anew without a person."""
        return bool(self.tokens and self.tokens.refresh and self.issuer)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Everything that must not be shown."""
        held = self.tokens
        kept = (held.access, held.refresh, held.identity) if held else (self.api_key,)
        return tuple(secret for secret in kept if secret)


def tokens_from(answer: Mapping[str, object], before: Tokens | None = None) -> Tokens:
    """Read a token endpoint's answer; what it leaves out stays as it was `before`.

    Raises:
        SignInError: It holds no access token.
    """
    access = _text(answer, "access_token")
    if not access:
        raise SignInError("the issuer's answer holds no access token")
    identity = _text(answer, "id_token") or (before.identity if before else "")
    lifetime = _number(answer.get("expires_in"))
    now = time.time()
    return Tokens(
        access,
        _text(answer, "refresh_token") or (before.refresh if before else ""),
        identity,
        _account_id(identity) or (before.account_id if before else ""),
        now,
        now + lifetime if lifetime else _expiry(access),
    )


def dump_account(account: Account) -> dict[str, object]:
    """Write an account as it stands in `auth.json`."""
    if account.tokens is None:
        return {"auth_mode": "apikey", "OPENAI_API_KEY": account.api_key}
    held = account.tokens
    written: dict[str, object] = {
        "auth_mode": "chatgpt",
        "OPENAI_API_KEY": None,
        "tokens": {
            "id_token": held.identity,
            "access_token": held.access,
            "refresh_token": held.refresh,
            "account_id": held.account_id or None,
        },
        "last_refresh": datetime.fromtimestamp(held.issued_at, tz=UTC).isoformat(),
    }
    if account.issuer is not None:
        written["oauth"] = {
            "issuer": account.issuer.url,
            "client_id": account.issuer.client_id,
            "token_endpoint": account.issuer.token_endpoint,
            "revocation_endpoint": account.issuer.revocation_endpoint or None,
            "expires_at": held.expires_at or None,
        }
    return written


def load_account(written: Mapping[str, object]) -> Account | None:
    """Read an account; None where nothing of use is written."""
    tokens = _table(written.get("tokens"))
    if access := _text(tokens, "access_token"):
        oauth = _table(written.get("oauth"))
        identity = _text(tokens, "id_token")
        held = Tokens(
            access,
            _text(tokens, "refresh_token"),
            identity,
            _text(tokens, "account_id") or _account_id(identity),
            _moment(written.get("last_refresh")),
            _number(oauth.get("expires_at")) or _expiry(access),
        )
        return Account(tokens=held, issuer=_issuer(oauth))
    key = _text(written, "OPENAI_API_KEY").strip()
    return Account(api_key=key) if key else None


def token_claims(token: str) -> Mapping[str, object]:
    """Read what a JSON web token says, without judging who says it; empty for any other text."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    padded = parts[1] + "=" * (-len(parts[1]) % 4)
    try:
        return _table(json.loads(base64.urlsafe_b64decode(padded)))
    except (ValueError, binascii.Error, RecursionError):
        return {}


def _issuer(oauth: Mapping[str, object]) -> Issuer | None:
    endpoint = _text(oauth, "token_endpoint")
    client_id = _text(oauth, "client_id")
    if not (endpoint and client_id):
        return None
    revocation = _text(oauth, "revocation_endpoint")
    return Issuer(_text(oauth, "issuer"), client_id, endpoint, revocation)


def _account_id(identity: str) -> str:
    return _text(_table(token_claims(identity).get(_OPENAI_CLAIM)), "chatgpt_account_id")


def _expiry(token: str) -> float:
    return _number(token_claims(token).get("exp"))


def _moment(value: object) -> float:
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else 0.0
    except ValueError:
        return 0.0


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
