"""Which installer put Ferrule where it runs, and how that one upgrades it."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple


class Upgrade(NamedTuple):
    """An installer by name, and the command that upgrades with it."""

    installer: str
    command: str


def how_to_upgrade(prefix: Path | None = None) -> Upgrade:
    """Find out from what installers leave behind.

    Args:
        prefix: The environment Ferrule runs in.
    """
    prefix = prefix or Path(sys.prefix)
    core = _distribution("ferrule-core")
    name = "ferrule" if _distribution("ferrule") else "ferrule-core[lean]"
    if (prefix / "uv-receipt.toml").is_file():
        return Upgrade("uv tool", f"uv tool upgrade {prefix.name}")
    if (prefix / "pipx_metadata.json").is_file():
        return Upgrade("pipx", f"pipx upgrade {prefix.name}")
    if core and (folder := _checkout(core)):
        return Upgrade("checkout", f"git -C {shlex.quote(folder)} pull")
    python = shlex.quote(sys.executable)
    if core and (core.read_text("INSTALLER") or "").strip() == "uv":
        return Upgrade("uv pip", f"uv pip install --python {python} --upgrade {shlex.quote(name)}")
    return Upgrade("pip", f"{python} -m pip install --upgrade {shlex.quote(name)}")


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _checkout(core: Distribution) -> str:
    """Name the checkout of an editable installation; empty for any other."""
    from urllib.parse import unquote, urlsplit

    facts = json.loads(core.read_text("direct_url.json") or "{}")
    if not facts.get("dir_info", {}).get("editable"):
        return ""
    return str(Path(unquote(urlsplit(facts["url"]).path)).parent)
