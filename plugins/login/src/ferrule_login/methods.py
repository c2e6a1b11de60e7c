"""Answers `account/*`: who is signed in, signing in and out. Tokens are never told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

import anyio.to_thread

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import RpcError, RpcMethod
from ferrule_login import wire_types as t
from ferrule_login.keeping import give_back, keep
from ferrule_login.logins import Logins, completed, mode, plan, updated
from ferrule_login.settings import check_method, read_login, store_wish
from ferrule_wire.account import Account
from ferrule_wire.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ferrule_hookspecs.serving import RpcCall

_INTERNAL: Final = -32603
_NO_LIMITS: Final = "codex account authentication required to read rate limits"


def account_methods(home: Path, environ: Mapping[str, str]) -> tuple[RpcMethod, ...]:
    """Make the methods of one server."""
    accounts = AccountMethods(home, environ)
    news = t.NOTIFICATIONS
    start_params = cast("type", t.LoginParams)
    return (
        RpcMethod("account/read", accounts.read, t.GetAccountParams, result=t.GetAccountResponse),
        RpcMethod(
            "account/login/start",
            accounts.start,
            start_params,
            result=t.LoginResponse,
            notifications=news,
        ),
        RpcMethod("account/login/cancel", accounts.cancel, t.CancelParams, result=t.CancelResponse),
        RpcMethod("account/logout", accounts.logout, notifications=news),
        RpcMethod("account/rateLimits/read", accounts.limits),
        RpcMethod(
            "getAuthStatus", accounts.status, t.AuthStatusParams, result=t.AuthStatusResponse
        ),
    )


class AccountMethods:
    """The sign-in of a home as clients of one server see it."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        """Read nothing yet."""
        self._home = home
        self._environ = environ
        self._vault = Vault(home)
        self._logins = Logins(self._keep)

    async def read(self, call: RpcCall) -> Mapping[str, object]:
        """Tell who is signed in; null where the configured provider does not ask for it."""
        table = _provider(call)
        is_asked = table.get("requires_openai_auth") is True
        account = await self._used(table, renew=call.params.get("refreshToken") is True)
        return {
            "account": _wire_account(account) if is_asked and account is not None else None,
            "requiresOpenaiAuth": is_asked,
        }

    async def start(self, call: RpcCall) -> Mapping[str, object]:
        """Store a key, or begin a login that a person has to finish."""
        kind = str(call.params["type"])
        if kind == "apiKey":
            return await self._store_key(call, str(call.params["apiKey"]).strip())
        if kind not in ("chatgpt", "chatgptDeviceCode"):
            raise RpcError(f"account/login/start of type {kind!r} is not supported by this server")
        return await self._logins.begin(call, kind, read_login(call.config.values))

    async def cancel(self, call: RpcCall) -> Mapping[str, object]:
        """End a login that waits."""
        was_waiting = self._logins.cancel(str(call.params["loginId"]))
        return {"status": "canceled" if was_waiting else "notFound"}

    async def logout(self, call: RpcCall) -> Mapping[str, object]:
        """Sign out; the issuer revokes the sign-in where it can."""
        await self._logins.end_all()
        await give_back(self._home, _warner(call))
        call.after_reply(lambda: updated(call, None))
        return {}

    async def limits(self, call: RpcCall) -> Mapping[str, object]:
        """Refuse: no issuer tells limits by a standard way, and OpenAI's own is not asked."""
        account = await self._account(renew=False)
        if account is None or account.tokens is None:
            raise RpcError(_NO_LIMITS)
        raise RpcError("rate limits are not told by the issuer that was signed in with")

    async def status(self, call: RpcCall) -> Mapping[str, object]:
        """Tell how one is signed in."""
        table = _provider(call)
        account = await self._used(table, renew=call.params.get("refreshToken") is True)
        return {
            "authMethod": mode(account),
            "authToken": None,
            "requiresOpenaiAuth": table.get("requires_openai_auth") is True,
        }

    async def _used(self, table: Mapping[str, object], *, renew: bool) -> Account | None:
        """Return what requests would be sent with; a variable counts before what is stored."""
        for name in ("CODEX_API_KEY", str(table.get("env_key"))):
            if key := self._environ.get(name, "").strip():
                return Account(api_key=key)
        return await self._account(renew=renew)

    async def _account(self, *, renew: bool) -> Account | None:
        try:
            account = await anyio.to_thread.run_sync(self._vault.read)
            if renew and account is not None and account.is_renewable:
                from ferrule_wire.renewal import renewed

                account = await renewed(self._vault, account.bearer)
        except FerruleError as error:
            raise RpcError(str(error), _INTERNAL) from None
        return account

    async def _store_key(self, call: RpcCall, key: str) -> Mapping[str, object]:
        check_method(call.config.values, "api")
        if not key:
            raise RpcError("apiKey must not be empty")
        await self._logins.end_all()
        account = Account(api_key=key)
        await self._keep(call, account)
        call.after_reply(lambda: completed(call, None, account, ""))
        return {"type": "apiKey"}

    async def _keep(self, call: RpcCall, account: Account) -> None:
        await keep(self._home, account, store_wish(call.config.values), _warner(call))


def _provider(call: RpcCall) -> Mapping[str, object]:
    """Return the table of the configured provider."""
    name = str(call.config.get("model_provider"))
    tables = call.config.values.get("model_providers")
    found = cast("Mapping[str, object]", tables).get(name) if isinstance(tables, Mapping) else None
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}


def _wire_account(account: Account) -> Mapping[str, object]:
    if account.tokens is None:
        return {"type": "apiKey"}
    email = account.tokens.email or None
    return {"type": "chatgpt", "email": email, "planType": plan(account)}


def _warner(call: RpcCall) -> Callable[[str], None]:
    def warn(text: str) -> None:
        call.client.notify("configWarning", {"summary": text, "details": None})

    return warn
