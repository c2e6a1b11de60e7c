"""Where credentials lie that commands must not read. Called by `policy.py`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
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


def secret_places(environ: Mapping[str, str], home: Path) -> tuple[str, ...]:
    """Return the canonical paths of the credential stores that exist."""
    user_home = environ.get("HOME") or os.path.expanduser("~")
    named = [os.path.join(user_home, name) for name in _IN_HOME]
    named += [os.path.join(home, name) for name in ("auth.json", "mcp-auth", "network/ca.key")]
    return tuple(dict.fromkeys(os.path.realpath(path) for path in named if os.path.exists(path)))
