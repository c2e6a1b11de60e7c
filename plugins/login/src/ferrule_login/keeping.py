"""Keeps a sign-in where the configuration wants it, and gives it back."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio.to_thread

from ferrule_hookspecs.errors import FerruleError
from ferrule_wire.account import Account, SignInError
from ferrule_wire.renewal import post_form
from ferrule_wire.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ferrule_login.settings import StoreWish
    from ferrule_wire.vault import Store


async def keep(home: Path, account: Account, wish: StoreWish, warn: Callable[[str], None]) -> Store:
    """Keep a sign-in; returns where.

    Raises:
        SignInError: It cannot be kept there; what was kept before is as it was.
    """
    vault = Vault(home)
    async with vault.lock():
        if wish != "auto":
            await anyio.to_thread.run_sync(vault.write, account, wish)
            return vault.store
        try:
            await anyio.to_thread.run_sync(vault.write, account, "keyring")
        except SignInError as error:
            await anyio.to_thread.run_sync(vault.write, account, "file")
            reason = str(error).partition("; ")[0]
            warn(f"{reason}, so the sign-in is kept in {vault.path}, which only you can read")
    return vault.store


async def give_back(home: Path, warn: Callable[[str], None]) -> bool:
    """Have the issuer revoke the sign-in, and forget it in any case; tells whether there was one.

    Raises:
        SignInError: Something of it is left on this machine.
    """
    vault = Vault(home)
    async with vault.lock():
        try:
            account = await anyio.to_thread.run_sync(vault.read)
        except SignInError as error:
            account = None
            warn(f"{error}; it is removed without asking the issuer to revoke it")
        try:
            if account is not None:
                await _revoke(account)
        except FerruleError as error:
            warn(f"the issuer was not told: {error}")
        return await anyio.to_thread.run_sync(vault.delete)


def where(home: Path, store: Store) -> str:
    """Say where a sign-in is kept."""
    if store == "keyring":
        return "in the keyring of this system"
    return "in this process only" if store == "ephemeral" else f"in {home / 'auth.json'}"


async def _revoke(account: Account) -> None:
    """Ask for the refresh token to be revoked, and with it all that came from it (RFC 7009)."""
    if account.tokens is None or account.issuer is None or not account.issuer.revocation_endpoint:
        return
    is_long = bool(account.tokens.refresh)
    form = {
        "token": account.tokens.refresh or account.tokens.access,
        "token_type_hint": "refresh_token" if is_long else "access_token",
        "client_id": account.issuer.client_id,
    }
    status, _ = await post_form(account.issuer.revocation_endpoint, form)
    if status != HTTPStatus.OK:
        raise SignInError(f"{account.issuer.revocation_endpoint} answered {status}")
