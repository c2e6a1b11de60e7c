"""Which module of this package answers which method; read by `ferrule_app_server.routes`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ROUTES: Final[Mapping[str, str]] = MappingProxyType({})
"""Names of methods, by module, such as `"methods.files": "fs/readFile fs/writeFile"`."""
