"""Finds the channel that the options name."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ConfigError
from ferrule_sdk.places import absolute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_sdk.channels.channel import Opener
    from ferrule_sdk.options import FerruleOptions

_SERVE: Final = ("-m", "ferrule", "app-server", "--listen", "stdio://")
_FRAMES: Final = ("ws://", "wss://", "unix:")
_HTTP: Final = ("http://", "https://")
_KNOWN: Final = "in-process, stdio, a list of words, unix://PATH, ws://…, wss://…, http://…"


def is_local(options: FerruleOptions) -> bool:
    """Whether the server is started here, so that paths mean the same to both."""
    return not isinstance(options.get("channel", "in-process"), str) or takes_config(options)


def takes_config(options: FerruleOptions) -> bool:
    """Whether the server is started with our configuration; else threads bring it with them."""
    return options.get("channel", "in-process") in ("in-process", "stdio")


def opener(options: FerruleOptions) -> Opener:
    """Return what opens the channel.

    Raises:
        ConfigError: There is no such channel, or it cannot take one of the options.
    """
    channel = options.get("channel", "in-process")
    if callable(channel):
        return channel
    if not isinstance(channel, str):
        return _stdio(options, list(channel))
    if channel == "in-process":
        return _memory(options)
    if channel == "stdio":
        return _stdio(options, [sys.executable, *_SERVE, *_overrides(options)])
    for name in ("home", "environ"):
        if options.get(name) is not None:
            raise ConfigError(f"{name}= is for servers that are started here, not for {channel}")
    token = options.get("token")
    if channel.startswith(_FRAMES):
        from ferrule_sdk.channels.frames import open_frames

        url = _default_socket() if channel == "unix://" else channel
        return lambda: open_frames(url, token)
    if channel.startswith(_HTTP):
        from ferrule_sdk.channels.http import open_http

        return lambda: open_http(channel, token)
    raise ConfigError(f"channel={channel!r} is none of {_KNOWN}")


def _default_socket() -> str:
    """The socket that a server of this user listens on when it is told no other."""
    from ferrule.cli import home_folder

    return f"unix://{home_folder(os.environ) / 'run' / 'app-server.sock'}"


def _memory(options: FerruleOptions) -> Opener:
    from ferrule_hookspecs.host import ConfigRequest
    from ferrule_sdk.channels.memory import open_memory

    home = options.get("home")
    request = ConfigRequest(
        absolute(options.get("cwd") or os.getcwd()), flags=options.get("config", {})
    )
    environ = options.get("environ", os.environ)
    return lambda: open_memory(None if home is None else Path(home), environ, request)


def _stdio(options: FerruleOptions, command: Sequence[str]) -> Opener:
    from ferrule_sdk.channels.stdio import open_stdio

    environ: dict[str, str] = dict(options.get("environ", os.environ))
    home = options.get("home")
    if home is not None:
        environ["FERRULE_HOME"] = absolute(home)
    cwd = options.get("cwd")
    return lambda: open_stdio(command, environ, None if cwd is None else absolute(cwd))


def _overrides(options: FerruleOptions) -> list[str]:
    """Write the configuration values as `-c key=value`."""
    words: list[str] = []
    for key, value in options.get("config", {}).items():
        words += ["-c", f"{key}={_toml(value)}"]
    return words


def _toml(value: object) -> str:
    """Write a value as TOML; JSON's texts, numbers and lists are TOML already."""
    import json

    if isinstance(value, dict):
        table: Mapping[str, object] = value  # pyright: ignore[reportUnknownVariableType] -- any JSON
        inner = ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in table.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(each) for each in value)}]"  # pyright: ignore[reportUnknownVariableType] -- any JSON
    return json.dumps(value, ensure_ascii=False)
