"""The environment of a server that is started here: what programs need, and what was named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_mcp.server_settings import ServerSettings

_KEPT: Final = (
    *("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ"),
    *("USER", "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT"),
    *("SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
)


def server_environment(settings: ServerSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Build it; a secret of ours is in it only where `env_vars` names it."""
    names = (*_KEPT, *settings.env_vars)
    return {name: environ[name] for name in names if name in environ} | dict(settings.env)


def http_headers(settings: ServerSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Build the headers of every request.

    Raises:
        ConfigError: A variable that holds a value is not set.
    """
    headers = dict(settings.headers)
    for header, variable in settings.env_headers.items():
        headers[header] = _value(settings, environ, variable, "env_http_headers")
    if settings.bearer_variable:
        token = _value(settings, environ, settings.bearer_variable, "bearer_token_env_var")
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _value(settings: ServerSettings, environ: Mapping[str, str], name: str, key: str) -> str:
    value = environ.get(name, "")
    if not value:
        raise ConfigError(
            f"mcp_servers.{settings.name}.{key} names the variable {name}, which is not set"
        )
    return value
