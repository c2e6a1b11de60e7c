"""The stored sign-in as the credential of a provider with `requires_openai_auth = true`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs.errors import ProviderError
from ferrule_wire.account import SignInError
from ferrule_wire.vault import Vault

if TYPE_CHECKING:
    from pathlib import Path

    from ferrule_wire.account import Account


class SignedIn:
    """Gives the token of who is signed in now, renewed where it is time to or a server says so."""

    def __init__(self, home: Path) -> None:
        """Read nothing yet."""
        self._vault = Vault(home)
        self._account: Account | None = None
        self._refused = ""

    @property
    def is_renewable(self) -> bool:
        """Whether a refused token can be had anew without a person."""
        return self._account is not None and self._account.is_renewable

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown."""
        return self._account.secrets if self._account else ()

    def forget(self) -> None:
        """Use a token that was refused no more."""
        self._refused = self._account.bearer if self._account else ""

    async def account(self) -> Account | None:
        """Return who is signed in, with a token that is worth trying; None where nobody is.

        Raises:
            ProviderError: The sign-in cannot be read, or cannot be renewed.
        """
        try:
            self._account = await self._current()
        except SignInError as error:
            raise ProviderError(str(error), kind="unauthorized") from None
        return self._account

    async def _current(self) -> Account | None:
        account = self._vault.read() if self._vault.is_settled() else await self._read()
        if account is None or account.tokens is None:
            return account
        self._account = account
        is_refused = bool(self._refused) and account.bearer == self._refused
        if not is_refused and not (account.is_renewable and account.tokens.is_stale()):
            return account
        from ferrule_wire.renewal import renewed

        try:
            return await renewed(self._vault, account.bearer)
        except ProviderError:
            if is_refused or account.tokens.is_expired():
                raise
            return account  # it is only about to expire, and the issuer may be back by then

    async def _read(self) -> Account | None:
        import anyio.to_thread

        return await anyio.to_thread.run_sync(self._vault.read)
