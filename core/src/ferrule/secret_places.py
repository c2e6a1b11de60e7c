"""Where credentials lie that commands must not read. Called by `policy.py`."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_IN_HOME: Final = (
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".docker/config.json",
    ".config/gh",
    ".config/gcloud",
    ".config/git/credentials",
    ".codex/auth.json",
)
_MATCH_LIMIT: Final = 8192


def secret_places(environ: Mapping[str, str], home: Path) -> tuple[str, ...]:
    """Return the canonical paths of the credential stores that exist."""
    user_home = environ.get("HOME") or os.path.expanduser("~")
    named = [os.path.join(user_home, name) for name in _IN_HOME]
    named += [os.path.join(home, name) for name in ("auth.json", "mcp-auth")]
    return tuple(dict.fromkeys(os.path.realpath(path) for path in named if os.path.exists(path)))


def matching_paths(patterns: Sequence[str], cwd: str) -> tuple[str, ...]:
    """Return what exists of paths and glob patterns, canonical.

    Raises:
        ConfigError: So much matches that it cannot be kept from being read one by one.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        absolute = os.path.join(cwd, os.path.expanduser(pattern))
        for path in glob.iglob(absolute, recursive=True, include_hidden=True):
            found[os.path.realpath(path)] = None
            if len(found) > _MATCH_LIMIT:
                raise ConfigError(
                    f"the unreadable pattern {pattern!r} matches more than {_MATCH_LIMIT} paths; "
                    "name the folder that holds them"
                )
    return tuple(found)
