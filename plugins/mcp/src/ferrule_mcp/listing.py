"""How `ferrule mcp` shows what is configured, with every secret masked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import ConfigError
from ferrule_mcp.approvals import quoted
from ferrule_mcp.server_settings import read_server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ferrule_hookspecs.host import Config

_MASK: Final = "*****"
_SECRETS: Final = ("env", "http_headers")


def server_tables(values: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
    """Return the tables of all servers, by name."""
    return cast("Mapping[str, Mapping[str, object]]", values.get("mcp_servers") or {})


def server_key(name: str) -> str:
    """Return the dotted key of a server's table."""
    return f"mcp_servers.{quoted(name)}"


def prompt_line(prompt: Mapping[str, object]) -> str:
    """Return one line about a prompt: its name, its arguments, what it is for."""
    arguments = cast("Sequence[Mapping[str, object]]", prompt.get("arguments") or ())
    words = [f"{a['name']}=…" if a.get("required") else f"[{a['name']}=…]" for a in arguments]
    about = prompt.get("description") or prompt.get("title")
    return " ".join([str(prompt["name"]), *words]) + (f": {about}" if about else "")


def server_place(table: Mapping[str, object]) -> str:
    """Return the program or URL of a server."""
    if "url" in table:
        return _plain_url(str(table["url"]))
    return str(table.get("command", ""))


def _plain_url(url: str) -> str:
    """Leave out what may be a secret: user, password and query."""
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, _MASK if parts.query else "", ""))


def server_state(config: Config, name: str) -> str:
    """Tell whether a server is used, and who switched it off."""
    if server_tables(config.values)[name].get("enabled") is not False:
        return "enabled"
    origin = config.origin(f"{server_key(name)}.enabled")
    return "not allowed by the administrator" if origin.layer == "requirements" else "disabled"


def shown_server(config: Config, name: str, home: Path) -> dict[str, object]:
    """Return the table of a server without what may be secret, and where it comes from."""
    shown: dict[str, object] = {"name": name, "state": server_state(config, name)}
    for key, value in server_tables(config.values)[name].items():
        if key in _SECRETS and isinstance(value, dict):
            shown[key] = dict.fromkeys(cast("dict[str, object]", value), _MASK)
        elif key == "url":
            shown[key] = _plain_url(str(value))
        elif key == "args":
            shown[key] = _masked_arguments(cast("Sequence[str]", value))
        elif key != "enabled":
            shown[key] = value
    if kept := _sign_in(name, server_tables(config.values)[name], home):
        shown["signed_in"] = kept
    origin = config.origin(server_key(name))
    shown["from"] = origin.file or origin.layer
    return shown


def _sign_in(name: str, table: Mapping[str, object], home: Path) -> str:
    """Tell where the sign-in at a server is kept; empty where there is none."""
    from ferrule_mcp.sign_in_store import SignInStore

    try:
        store = SignInStore(home, read_server(name, table, "/"))
    except ConfigError:  # sessions say what is wrong with it
        return ""
    return store.place if store.exists else ""


def _masked_arguments(arguments: Sequence[str]) -> list[str]:
    """Mask the value of an argument that is named like a secret."""
    import re

    secret = re.compile(r"(?i)(key|token|secret|passw|credential|auth)")
    shown: list[str] = []
    hides_next = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if hides_next and not argument.startswith("-"):
            shown.append(_MASK)
        elif equals and secret.search(name):
            shown.append(f"{name}={_MASK}")
        else:
            shown.append(argument)
        hides_next = argument.startswith("-") and not equals and bool(secret.search(argument))
    return shown
