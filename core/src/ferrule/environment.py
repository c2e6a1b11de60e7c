"""The environment that commands of the model get, made from `shell_environment_policy`.

Called once per command. Secrets are left out unless the user keeps them on purpose, and programs
are told that nobody watches a terminal.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ferrule.config.tables import Table, is_table, table_at, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ferrule_hookspecs.policies import SandboxPolicy

_CORE: Final = frozenset(
    {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}
    # Windows programs do not start without these.
    | {"APPDATA", "COMSPEC", "LOCALAPPDATA", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP"}
    | {"USERNAME", "USERPROFILE", "WINDIR"}
)
_SECRETS: Final = ("*KEY*", "*SECRET*", "*TOKEN*", "*PASSW*", "*CREDENTIAL*")
_INJECTIONS: Final = ("LD_*", "DYLD_*", "MallocStackLogging*", "MallocLogFile*")
"""Load foreign code into every program; a user who wants that uses `set`."""
_FIXED: Final[Mapping[str, str]] = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "COLORTERM": "",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "LC_CTYPE": "C.UTF-8",
    "FERRULE_CI": "1",
    "CODEX_CI": "1",
}


NETWORK_OFF: Final = ("FERRULE_SANDBOX_NETWORK_DISABLED", "CODEX_SANDBOX_NETWORK_DISABLED")
"""Variables by which a command is told that it has no network."""


def command_environment(
    values: Mapping[str, object],
    environ: Mapping[str, str],
    extra: Mapping[str, str] | None = None,
    sandbox: SandboxPolicy | None = None,
) -> dict[str, str]:
    """Build the environment of one command.

    Args:
        values: The effective configuration.
        environ: The kernel's own environment.
        extra: Variables the tool adds; they win.
        sandbox: A permission profile may leave out more, and set others.
    """
    profile = _profile(sandbox)
    policy = _policy(values)
    names = _inherited(policy.get("inherit", "all"), environ)
    keeps_secrets = policy.get("ignore_default_excludes") is True
    unwanted = [*_INJECTIONS, *texts(policy.get("exclude")), *(() if keeps_secrets else _SECRETS)]
    unwanted += texts(profile.get("exclude"))
    kept = {name: environ[name] for name in names if not _matches(name, unwanted)}
    tables = (table_at(policy, "set"), table_at(profile, "set"))
    added = {name: str(value) for table in tables for name, value in table.items()}
    result = {**kept, **added}
    for each in (policy, profile):
        if wanted := texts(each.get("include_only")):
            result = {name: value for name, value in result.items() if _matches(name, wanted)}
    return {**result, **{k: v for k, v in _FIXED.items() if k not in added}, **(extra or {})}


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of this process less what looks like a secret, for children of our own."""
    return {name: value for name, value in environ.items() if not _matches(name, _SECRETS)}


def _inherited(inherit: object, environ: Mapping[str, str]) -> Iterable[str]:
    if inherit == "all":
        return environ
    # A value that is not understood inherits nothing.
    return _CORE.intersection(environ) if inherit == "core" else ()


def _policy(values: Mapping[str, object]) -> Table:
    policy = values.get("shell_environment_policy")
    return policy if is_table(policy) else {}


def _profile(sandbox: SandboxPolicy | None) -> Table:
    if sandbox is None or sandbox["type"] != "permissionProfile":
        return {}
    found: object = sandbox.get("environment")
    return found if is_table(found) else {}


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return _pattern(tuple(patterns)).match(name) is not None


@lru_cache(maxsize=32)
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)), re.IGNORECASE)
