"""What is kept of a sign-in at a server: a private file, or the keyring and a file that says so."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final, Literal, cast

import anyio.to_thread

from ferrule_mcp.keyring_entry import KeyringEntry, KeyringError
from ferrule_mcp.private_file import replace_private

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

    from ferrule_mcp.server_settings import ServerSettings

Wish = Literal["auto", "keyring", "file"]
_EARLY_S: Final = 30
_IN_KEYRING: Final = {"kept_in": "keyring"}


class SignInStore:
    """What is kept of one sign-in. The SDK's `TokenStorage`.

    The file is always asked first: where it does not say so, no keyring is woken.
    """

    def __init__(self, home: Path, settings: ServerSettings, wish: Wish | None = None) -> None:
        """Read nothing yet; without a wish, what is kept stays where it is."""
        self._file = home / "mcp-auth" / f"{settings.manifest_key}.json"
        self._entry = KeyringEntry(f"{settings.name} {settings.manifest_key} of {home.resolve()}")
        self._wish = wish
        self._provider: OAuthClientProvider | None = None

    @property
    def exists(self) -> bool:
        """Whether anybody is signed in."""
        return self._file.exists()

    @property
    def place(self) -> str:
        """Where it is kept, for a person."""
        is_there = self._marker() == _IN_KEYRING
        return "in the keyring of this system" if is_there else f"in {self._file}"

    async def serve(self, provider: OAuthClientProvider) -> None:
        """Tell the SDK what it does not keep: when tokens end, and where they are renewed."""
        from mcp.shared.auth import OAuthMetadata

        self._provider = provider
        kept = await self._kept()
        ends = kept.get("expires_at")
        if isinstance(ends, int | float):
            provider.context.token_expiry_time = ends - _EARLY_S
        if isinstance(kept.get("metadata"), dict):
            provider.context.oauth_metadata = OAuthMetadata.model_validate(kept["metadata"])

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        from mcp.shared.auth import OAuthToken

        tokens = (await self._kept()).get("tokens")
        return OAuthToken.model_validate(tokens) if isinstance(tokens, dict) else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep the tokens, and what they are renewed by."""
        kept: dict[str, object] = {"tokens": tokens.model_dump(mode="json", exclude_none=True)}
        if tokens.expires_in is not None:
            kept["expires_at"] = int(time.time()) + int(tokens.expires_in)
        metadata = None if self._provider is None else self._provider.context.oauth_metadata
        if metadata is not None:
            kept["metadata"] = metadata.model_dump(mode="json", exclude_none=True)
        before = await self._kept()
        before.pop("expires_at", None)
        await self._keep(before | kept)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the name that the issuer knows us by."""
        from mcp.shared.auth import OAuthClientInformationFull

        client = (await self._kept()).get("client")
        return OAuthClientInformationFull.model_validate(client) if client is not None else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep that name."""
        told = client_info.model_dump(mode="json", exclude_none=True)
        await self._keep(await self._kept() | {"client": told})

    async def want(self, scopes: Iterable[str]) -> None:
        """Remember what the server wanted beyond the sign-in, for the next one."""
        kept = await self._kept()
        if kept:
            wanted = {*str(kept.get("wanted") or "").split(), *scopes}
            await self._keep(kept | {"wanted": " ".join(sorted(wanted))})

    async def scopes(self) -> set[str]:
        """Return what was granted, and what the server wanted beyond it."""
        tokens, kept = await self.get_tokens(), await self._kept()
        granted = "" if tokens is None else tokens.scope or ""
        return {*granted.split(), *str(kept.get("wanted") or "").split()}

    async def start_over(self) -> set[str]:
        """Forget the sign-in for a new one; returns the scopes of the old one.

        One in a keyring that cannot be asked any more stays there, where another place is wanted.

        Raises:
            KeyringError: It is to be kept in the keyring, which cannot be asked.
        """
        try:
            scopes = await self.scopes()
            await self.forget()
        except KeyringError:
            if self._wish == "keyring":
                raise
            await anyio.to_thread.run_sync(self._file.unlink)
            return set()
        return scopes

    async def forget(self) -> bool:
        """Forget the sign-in; returns whether there was one.

        Raises:
            KeyringError: It is in the keyring, which cannot be asked.
        """
        return await anyio.to_thread.run_sync(self._forget)

    async def _kept(self) -> dict[str, object]:
        return await anyio.to_thread.run_sync(self._read)

    async def _keep(self, value: dict[str, object]) -> None:
        await anyio.to_thread.run_sync(self._write, value)

    def _forget(self) -> bool:
        if self._marker() == _IN_KEYRING:
            self._entry.delete()
        try:
            self._file.unlink()
        except FileNotFoundError:
            return False
        return True

    def _marker(self) -> dict[str, object]:
        try:
            value: object = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        return cast("dict[str, object]", value) if isinstance(value, dict) else {}

    def _read(self) -> dict[str, object]:
        kept = self._marker()
        if kept != _IN_KEYRING:
            return kept
        try:
            value: object = json.loads(self._entry.read() or "{}")
        except ValueError:
            raise KeyringError("the keyring holds something else; sign in again") from None
        return cast("dict[str, object]", value) if isinstance(value, dict) else {}

    def _write(self, value: dict[str, object]) -> None:
        """Keep a sign-in whole in one of the two places."""
        wish = self._wish or ("keyring" if self._marker() == _IN_KEYRING else "file")
        if wish != "file":
            try:
                self._entry.write(json.dumps(value))
            except KeyringError:
                if wish == "keyring":
                    raise
            else:
                replace_private(self._file, json.dumps(_IN_KEYRING))
                return
        replace_private(self._file, json.dumps(value))
