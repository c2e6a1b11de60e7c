"""Signing in from a machine without a browser: the device authorization grant (RFC 8628)."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

import anyio

from ferrule_hookspecs.errors import ProviderError
from ferrule_login.discovery import find_endpoints
from ferrule_login.grant import GrantRefusedError, take_tokens
from ferrule_wire.account import SignInError
from ferrule_wire.json_text import json_object
from ferrule_wire.renewal import error_code, post_form

if TYPE_CHECKING:
    from ferrule_login.discovery import Endpoints
    from ferrule_login.settings import LoginSettings
    from ferrule_wire.account import Account

GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_INTERVAL_S: Final = 5.0
_SLOW_DOWN_S: Final = 5.0
_LIFETIME_S: Final = 900.0


class DeviceAttempt(NamedTuple):
    """A code for a person to enter elsewhere.

    Attributes:
        user_code: What is to be entered.
        url: Where.
        device_code: What the issuer is asked about; a secret.
        interval_s: How long to wait between two questions.
        ends_at: When the code expires, on the monotonic clock.
    """

    settings: LoginSettings
    endpoints: Endpoints
    user_code: str
    url: str
    device_code: str
    interval_s: float
    ends_at: float

    async def account(self, slow_down_s: float = _SLOW_DOWN_S) -> Account:
        """Ask until the code was entered.

        Args:
            slow_down_s: How much longer to wait each time the issuer says `slow_down`.

        Raises:
            SignInError: The person or the issuer refused, or the code has expired.
        """
        interval_s = self.interval_s
        form = {"grant_type": GRANT, "device_code": self.device_code}
        while time.monotonic() < self.ends_at:
            await anyio.sleep(interval_s)
            try:
                return await take_tokens(self.settings, self.endpoints, form)
            except GrantRefusedError as error:
                if error.code == "slow_down":
                    interval_s += slow_down_s
                elif error.code != "authorization_pending":
                    raise
            except ProviderError as error:
                if not error.retryable:
                    raise
                interval_s += slow_down_s
        raise SignInError(
            "signing in failed: the code has expired before it was entered; begin anew"
        )


async def device_attempt(settings: LoginSettings) -> DeviceAttempt:
    """Ask the issuer for a code.

    Raises:
        SignInError: It gives none.
        ProviderError: It cannot be reached.
    """
    endpoints = await find_endpoints(settings)
    if not endpoints.device:
        raise SignInError(f"{settings.issuer} gives no device codes; sign in with a browser")
    form = {"client_id": settings.client_id, "scope": " ".join(settings.scopes)}
    status, text = await post_form(endpoints.device, form)
    answer = json_object(text)
    if status != HTTPStatus.OK:
        raise GrantRefusedError(endpoints.device, status, error_code(answer))
    device_code, user_code = answer.get("device_code"), answer.get("user_code")
    url = answer.get("verification_uri") or answer.get("verification_url")
    is_whole = isinstance(device_code, str) and isinstance(user_code, str) and isinstance(url, str)
    if not is_whole or urlsplit(str(url)).scheme not in ("http", "https"):
        raise SignInError(f"{endpoints.device} gave no device code that can be used")
    return DeviceAttempt(
        settings,
        endpoints,
        _printable(str(user_code)),
        _printable(str(url)),
        str(device_code),
        _seconds(answer.get("interval"), _INTERVAL_S),
        time.monotonic() + _seconds(answer.get("expires_in"), _LIFETIME_S),
    )


def _seconds(value: object, default: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if is_number else default  # pyright: ignore[reportArgumentType]


def _printable(text: str) -> str:
    """Take out what could move a terminal's cursor."""
    return "".join(letter for letter in text if letter.isprintable())
