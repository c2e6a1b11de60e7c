"""The environment that Ferrule runs in: what is installed in it, and which installer made it."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
from ferrule.versions import normal_name
from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Kind = Literal["pip", "uv", "uv tool", "pipx"]


class Environment(NamedTuple):
    """Where plugins are installed, and by what.

    Attributes:
        kind: The installer.
        program: How it is called.
        resolver: How an installation is tried without being made; empty where nothing can.
        name: What the installer calls the environment.
        receipt: What `uv tool` remembers of it.
        variables: What tells the installer where the environment lies, whatever is set now.
    """

    kind: Kind
    program: tuple[str, ...]
    resolver: tuple[str, ...]
    name: str = ""
    receipt: Mapping[str, object] = MappingProxyType({})
    variables: Mapping[str, str] = MappingProxyType({})


def find_environment() -> Environment:
    """Find out how Ferrule was installed, from what installers leave behind.

    Raises:
        PluginError: The environment is somebody else's, or its installer is not to be found.
    """
    prefix = Path(sys.prefix)
    uv = _uv()
    pip = (sys.executable, "-m", "pip") if find_spec("pip") else ()
    with_uv = (*uv, "pip") if uv else ()
    if (prefix / "uv-receipt.toml").is_file():
        if not uv:
            raise PluginError(_missing("uv", prefix, "`uv tool`"))
        receipt = _receipt(prefix)
        return Environment(
            "uv tool", uv, with_uv, prefix.name, receipt, _tool_folders(prefix, receipt)
        )
    if (prefix / "pipx_metadata.json").is_file():
        pipx = _pipx(uv)
        if not pipx:
            raise PluginError(_missing("pipx", prefix, "pipx"))
        variables = {"PIPX_HOME": str(prefix.parents[1])}
        return Environment("pipx", pipx, pip or with_uv, prefix.name, variables=variables)
    _require_own(prefix)
    if pip:
        return Environment("pip", pip, pip)
    if with_uv:
        return Environment("uv", with_uv, with_uv)
    raise PluginError(
        f"neither pip nor uv is there to install into {prefix}; install uv, or pip with:"
        f" {sys.executable} -m ensurepip"
    )


def installed_versions() -> dict[str, str]:
    """Tell the versions of all distributions of this environment, by normalised name."""
    from ferrule.index import site_directories

    found: dict[str, str] = {}
    for directory in site_directories():
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            if name.endswith(".dist-info"):
                stem, _, version = name.removesuffix(".dist-info").rpartition("-")
                found.setdefault(normal_name(stem), version)
    return found


def is_ours(name: str) -> bool:
    """Tell whether a distribution is a part of Ferrule."""
    return name in BUILT_IN_DISTRIBUTIONS or name in {"ferrule", "ferrule-hookspecs"}


def _uv() -> tuple[str, ...]:
    found = shutil.which("uv")
    if found:
        return (found,)
    return (sys.executable, "-m", "uv") if find_spec("uv") else ()


def _pipx(uv: Sequence[str]) -> tuple[str, ...]:
    found = shutil.which("pipx")
    if found:
        return (found,)
    return (*uv, "tool", "run", "-q", "pipx") if uv else ()


def _missing(program: str, prefix: Path, maker: str) -> str:
    return (
        f"{prefix} was made by {maker}, and {program} is not on your PATH; put it there, so that"
        " it can install plugins beside Ferrule"
    )


def _receipt(prefix: Path) -> Mapping[str, object]:
    path = prefix / "uv-receipt.toml"
    try:
        return cast("Mapping[str, object]", tomllib.loads(path.read_text("utf-8"))["tool"])
    except (OSError, ValueError, KeyError) as error:
        raise PluginError(f"{path} cannot be read: {error}; install Ferrule again") from None


def _tool_folders(prefix: Path, receipt: Mapping[str, object]) -> dict[str, str]:
    variables = {"UV_TOOL_DIR": str(prefix.parent)}
    points = cast("Sequence[Mapping[str, object]]", receipt.get("entrypoints", ()))
    for point in points:
        if point.get("name") == "ferrule" and "install-path" in point:
            variables["UV_TOOL_BIN_DIR"] = str(Path(str(point["install-path"])).parent)
    return variables


def _require_own(prefix: Path) -> None:
    """Refuse an environment that the operating system manages (PEP 668)."""
    marker = Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    if sys.prefix == sys.base_prefix and marker.is_file():
        raise PluginError(
            f"{prefix} belongs to the operating system ({marker} says so), and nothing is installed"
            " there; install Ferrule in an environment of its own, such as: uv tool install ferrule"
        )
