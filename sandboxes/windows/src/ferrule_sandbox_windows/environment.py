"""What the sandbox says to a command in its environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MARK: Final = "FERRULE_SANDBOX"
_NOWHERE: Final = "http://127.0.0.1:9"
_OFFLINE: Final = {
    "ALL_PROXY": _NOWHERE,
    "CARGO_NET_OFFLINE": "true",
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_SSH_COMMAND": "cmd /c exit 1",
    "HTTPS_PROXY": _NOWHERE,
    "HTTP_PROXY": _NOWHERE,
    "NO_PROXY": "",
    "NPM_CONFIG_OFFLINE": "true",
    "PIP_NO_INDEX": "1",
    "UV_OFFLINE": "1",
}
_TEMPORARY: Final = ("TEMP", "TMP", "TMPDIR")


def confined_environment(env: Mapping[str, str], scratch: str | None) -> dict[str, str]:
    """Mark a command's environment, and name its temporary folder."""
    more = {MARK: "windows"}
    if scratch is not None:
        more |= dict.fromkeys(_TEMPORARY, scratch)
    return _with(env, more)


def without_network(env: Mapping[str, str]) -> dict[str, str]:
    """Ask well-behaved tools to stay off the network. This is advice, which nothing enforces."""
    return _with(env, _OFFLINE)


def variable(env: Mapping[str, str], name: str) -> str | None:
    """Return a variable; its name may be written in other letters."""
    return next((value for key, value in env.items() if key.upper() == name), None)


def _with(env: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in env.items() if name.upper() not in more}
    return {**kept, **more}
