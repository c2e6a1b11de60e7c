"""Logins that clients of a server began and a person has to finish. One waits at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import uuid4

import anyio

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ferrule_hookspecs.serving import RpcCall
    from ferrule_login.settings import LoginSettings
    from ferrule_wire.account import Account

    Answer = Mapping[str, object]
    Tell = Callable[[Answer], None]

_INTERNAL: Final = -32603
_CANCELLED: Final = "Login cancelled"
_END_S: Final = 5.0
_PLANS: Final = (
    *("free", "go", "plus", "pro", "prolite", "promax", "team", "business", "ent26", "enterprise"),
    *("self_serve_business_prolite", "self_serve_business_usage_based", "edu", "edu_plus"),
    *("enterprise_cbp_automation", "enterprise_cbp_usage_based", "edu_pro", "sci", "sci_plus"),
)


class _Login:
    """One login.

    Attributes:
        id: What clients call it.
        scope: What it runs in.
        begun: Set when the client can be answered, or it ended before.
        ended: Set when its port is free again.
        answer: What the client is answered.
        account: Who signed in.
        failure: Why it ended; empty while it runs and where it went well.
    """

    def __init__(self) -> None:
        self.id = str(uuid4())
        self.scope = anyio.CancelScope()
        self.begun = anyio.Event()
        self.ended = anyio.Event()
        self.answer: Answer | None = None
        self.account: Account | None = None
        self.failure = ""

    def tell(self, answer: Answer) -> None:
        """Have the client answered: a person can act now."""
        self.answer = {**answer, "loginId": self.id}
        self.begun.set()


class Logins:
    """The logins of one server."""

    def __init__(self, keep: Callable[[RpcCall, Account], Awaitable[None]]) -> None:
        """Have what a login brings kept."""
        self._keep = keep
        self._waiting: dict[str, _Login] = {}

    async def begin(self, call: RpcCall, kind: str, settings: LoginSettings) -> Answer:
        """Begin a login in the place of any other; it goes on when the client is answered.

        Raises:
            RpcError: It could not be begun.
        """
        await self.end_all()
        login = _Login()
        self._waiting[login.id] = login

        async def work() -> None:
            await self._run(call, login, kind, settings)

        call.client.start_soon(work)
        await login.begun.wait()
        if login.answer is None:
            raise RpcError(login.failure or _CANCELLED, _INTERNAL)
        return login.answer

    def cancel(self, login_id: str) -> bool:
        """End a login; tells whether it was waiting."""
        login = self._waiting.get(login_id)
        if login is not None:
            login.scope.cancel()
        return login is not None

    async def end_all(self) -> None:
        """End what waits, and see its port free."""
        for login in list(self._waiting.values()):
            login.scope.cancel()
            with anyio.move_on_after(_END_S):
                await login.ended.wait()

    async def _run(self, call: RpcCall, login: _Login, kind: str, settings: LoginSettings) -> None:
        flow = _by_browser if kind == "chatgpt" else _by_device
        try:
            with login.scope:
                try:
                    account = await flow(settings, login.tell)
                    with anyio.CancelScope(shield=True):
                        await self._keep(call, account)
                    login.account = account
                except FerruleError as error:
                    login.failure = str(error)
            if login.scope.cancelled_caught:
                login.failure = f"Login server error: {_CANCELLED}"
            if login.begun.is_set():
                completed(call, login.id, login.account, login.failure)
        finally:
            self._waiting.pop(login.id, None)
            login.begun.set()
            login.ended.set()


def completed(call: RpcCall, login_id: str | None, account: Account | None, failure: str) -> None:
    """Tell every client that a login ended, and who is signed in where it went well."""
    params = {"loginId": login_id, "success": account is not None, "error": failure or None}
    call.broadcast("account/login/completed", params)
    if account is not None:
        updated(call, account)


def updated(call: RpcCall, account: Account | None) -> None:
    """Tell every client who is signed in."""
    params = {"authMode": mode(account), "planType": plan(account)}
    call.broadcast("account/updated", params)


def mode(account: Account | None) -> str | None:
    """How one is signed in, in the words of clients."""
    if account is None:
        return None
    return "chatgpt" if account.tokens else "apikey"


def plan(account: Account | None) -> str | None:
    """The plan in the words of clients, who know no others."""
    if account is None or account.tokens is None:
        return None
    return account.tokens.plan if account.tokens.plan in _PLANS else "unknown"


async def _by_browser(settings: LoginSettings, tell: Tell) -> Account:
    from ferrule_login.browser_flow import browser_attempt

    async with browser_attempt(settings) as attempt:
        tell({"type": "chatgpt", "authUrl": attempt.url})
        return await attempt.account()


async def _by_device(settings: LoginSettings, tell: Tell) -> Account:
    from ferrule_login.device_flow import device_attempt

    attempt = await device_attempt(settings)
    tell(
        {
            "type": "chatgptDeviceCode",
            "userCode": attempt.user_code,
            "verificationUrl": attempt.url,
        }
    )
    return await attempt.account()
