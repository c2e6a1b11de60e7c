"""Where the bearer token and the extra headers of a request come from, and keeping them secret."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anyio.abc import Process

    from ferrule_wire.settings import ProviderSettings, TokenCommand
    from ferrule_wire.signed_in import SignedIn

_SHORTEST_SECRET: Final = 8
_SIGN_IN_KEY: Final = "CODEX_API_KEY"
"""Stands for a sign-in in one run; clients written for Codex set it."""
_TELLTALES: Final = ("key", "token", "secret", "auth", "cookie", "password", "signature")


class Credentials:
    """Gives each request its token and headers. Values read from the environment stay in here."""

    def __init__(self, settings: ProviderSettings, environ: Mapping[str, str], home: Path) -> None:
        """Read nothing yet: a missing variable is an error of the request, not of the start."""
        self._settings = settings
        self._environ = environ
        self._home = home
        self._token: str | None = None
        self._fetched_at = 0.0
        self._signed_in: SignedIn | None = None

    @property
    def is_renewable(self) -> bool:
        """Whether a refused token can be fetched anew."""
        is_from_sign_in = self._signed_in is not None and self._signed_in.is_renewable
        return self._settings.token_command is not None or is_from_sign_in

    def forget(self) -> None:
        """Drop a token the server refused."""
        self._token = None
        if self._signed_in is not None:
            self._signed_in.forget()

    async def headers(self) -> dict[str, str]:
        """Return the configured headers and the authorization.

        Raises:
            ProviderError: The key is missing, or the token command failed.
        """
        headers = dict(self._settings.http_headers)
        for name, variable in self._settings.env_http_headers.items():
            if value := self._variable(variable):
                headers[name] = value
        token = await self._bearer_token()
        if token is None and self._settings.uses_sign_in:
            token = await self._sign_in(headers)
        if token is not None and self._settings.key_header:
            headers[self._settings.key_header] = token
        elif token is not None:
            headers["authorization"] = f"Bearer {token}"
        return headers

    def redact(self, text: str) -> str:
        """Take everything secret out of a text, such as a server's answer that quotes the key."""
        for secret in self._secrets():
            text = text.replace(secret, "[redacted]")
        return text

    def redacted(self, error: ProviderError) -> ProviderError:
        """Take everything secret out of an error."""
        error.args = (self.redact(str(error)),)
        if error.details:
            error.details = self.redact(error.details)
        return error

    def _secrets(self) -> list[str]:
        settings = self._settings
        candidates = [self._token, settings.bearer_token]
        candidates += [self._environ.get(settings.env_key)] if settings.env_key else []
        candidates += [self._environ.get(_SIGN_IN_KEY)] if settings.uses_sign_in else []
        candidates += self._signed_in.secrets if self._signed_in else ()
        candidates += [self._environ.get(name) for name in settings.env_http_headers.values()]
        for table in (settings.http_headers, settings.query_params):
            candidates += [
                value
                for name, value in table.items()
                if any(telltale in name.lower() for telltale in _TELLTALES)
            ]
        # Shorter values are no secrets anybody would use, and would blot out ordinary words.
        found = {value for value in candidates if value and len(value) >= _SHORTEST_SECRET}
        return sorted(found, key=len, reverse=True)

    async def _bearer_token(self) -> str | None:
        settings = self._settings
        if settings.uses_sign_in and (key := self._variable(_SIGN_IN_KEY)):
            return key
        if settings.env_key is not None:
            if key := self._variable(settings.env_key):
                return key
            if not settings.uses_sign_in:
                raise self._missing(settings.env_key)
        if settings.bearer_token is not None:
            return settings.bearer_token
        if settings.token_command is not None:
            return await self._command_token(settings.token_command)
        return None

    async def _sign_in(self, headers: dict[str, str]) -> str | None:
        """Return the token of who is signed in, and name the account in the headers."""
        from ferrule_wire.signed_in import SignedIn

        self._signed_in = self._signed_in or SignedIn(self._home)
        account = await self._signed_in.account()
        if account is None and self._settings.env_key is not None:
            raise self._missing(self._settings.env_key)
        if account is None:
            return None
        if account.tokens and account.tokens.account_id:
            headers["chatgpt-account-id"] = account.tokens.account_id
        return account.bearer

    def _variable(self, name: str) -> str:
        return self._environ.get(name, "").strip()

    def _missing(self, variable: str) -> ProviderError:
        message = f"Missing environment variable: `{variable}`."
        if self._settings.env_key_instructions:
            message += f" {self._settings.env_key_instructions}"
        return ProviderError(message, kind="unauthorized")

    async def _command_token(self, command: TokenCommand) -> str:
        is_fresh = time.monotonic() - self._fetched_at < command.refresh_s
        if self._token is None or not (is_fresh or command.refresh_s == 0):
            self._token = await _run(command, self._environ, self._home)
            self._fetched_at = time.monotonic()
        return self._token


async def _run(command: TokenCommand, environ: Mapping[str, str], home: Path) -> str:
    """Run the user's own credential helper; like git's, it gets the user's whole environment."""
    import subprocess

    import anyio

    name = command.argv[0]
    try:
        process = await anyio.open_process(
            command.argv,
            cwd=command.cwd or home,
            env=environ,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise ProviderError(
            f"the provider's `auth.command` {name!r} cannot be started: {error.strerror}",
            kind="unauthorized",
        ) from None
    try:
        with anyio.fail_after(command.timeout_s):
            output = await _read_all(process)
            status = await process.wait()
    except TimeoutError:
        raise ProviderError(
            f"the provider's `auth.command` {name!r} gave no token within {command.timeout_s:g} s",
            kind="unauthorized",
        ) from None
    finally:
        await _end(process)
    token = output.decode("utf-8", "replace").strip()
    if status == 0 and token:
        return token
    raise ProviderError(
        f"the provider's `auth.command` {name!r} "
        + (f"failed with exit code {status}" if status else "printed no token"),
        kind="unauthorized",
    )


async def _read_all(process: Process) -> bytes:
    assert process.stdout is not None  # noqa: S101 -- open_process pipes it by default
    return b"".join([chunk async for chunk in process.stdout])


async def _end(process: Process) -> None:
    """Kill whatever the helper left behind in its process group."""
    import anyio

    with anyio.CancelScope(shield=True):
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):  # nothing is left of it
                os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
        await process.aclose()
