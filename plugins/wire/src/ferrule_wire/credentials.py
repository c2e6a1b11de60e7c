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

_SHORTEST_SECRET: Final = 8
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

    @property
    def is_renewable(self) -> bool:
        """Whether a refused token can be fetched anew."""
        return self._settings.token_command is not None

    def forget(self) -> None:
        """Drop a token the server refused."""
        self._token = None

    async def headers(self) -> dict[str, str]:
        """Return the configured headers and the authorization.

        Raises:
            ProviderError: The key is missing, or the token command failed.
        """
        headers = dict(self._settings.http_headers)
        for name, variable in self._settings.env_http_headers.items():
            if value := self._environ.get(variable, "").strip():
                headers[name] = value
        token = await self._bearer_token()
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
        if settings.env_key is not None:
            return self._environment_key(settings.env_key)
        if settings.bearer_token is not None:
            return settings.bearer_token
        if settings.token_command is not None:
            return await self._command_token(settings.token_command)
        return None

    def _environment_key(self, variable: str) -> str:
        value = self._environ.get(variable, "").strip()
        if value:
            return value
        message = f"Missing environment variable: `{variable}`."
        if self._settings.env_key_instructions:
            message += f" {self._settings.env_key_instructions}"
        raise ProviderError(message, kind="unauthorized")

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
