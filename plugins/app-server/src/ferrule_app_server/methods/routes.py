"""Which module of this package answers which method; read by `ferrule_app_server.routes`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ROUTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "methods.configuration": (
            "config/read config/value/write config/batchWrite configRequirements/read"
        ),
        "methods.models": (
            "model/list modelProvider/list modelProvider/config/write"
            " modelProvider/capabilities/read"
        ),
        "methods.profiles": "permissionProfile/list",
        "methods.commands": (
            "command/exec command/exec/write command/exec/resize command/exec/terminate"
            " process/spawn process/writeStdin process/resizePty process/kill"
        ),
        "methods.files": (
            "fs/readFile fs/writeFile fs/createDirectory fs/getMetadata fs/readDirectory"
            " fs/remove fs/copy"
        ),
        "methods.file_watches": "fs/watch fs/unwatch",
        "methods.file_search": (
            "fuzzyFileSearch fuzzyFileSearch/sessionStart fuzzyFileSearch/sessionUpdate"
            " fuzzyFileSearch/sessionStop"
        ),
        "methods.server_facts": (
            "experimentalFeature/list experimentalFeature/enablement/set collaborationMode/list"
            " server/diagnostics"
        ),
    }
)
"""Names of methods, by module, such as `"methods.files": "fs/readFile fs/writeFile"`."""
