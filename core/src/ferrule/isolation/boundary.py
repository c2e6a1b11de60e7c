"""What confines the process of a plugin's tools: a policy, an environment, a way to the network.

The base is what the mode `read-only` gives every command; beyond it stands only what the plugin's
manifest asks for and its user approved. What cannot be confined so is refused in words.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule.backend_choice import choose_backend
from ferrule.config.tables import is_list, table_at, texts
from ferrule.isolation.asked_paths import AskedPath, changeable_folders, is_code, resolved
from ferrule.path_patterns import matching_paths
from ferrule.policy import resolve_policy
from ferrule.secret_places import secret_places
from ferrule.way_out import Origin, WayOut
from ferrule.writable_roots import protected_roots
from ferrule_hookspecs.errors import PluginError, SandboxUnavailableError
from ferrule_hookspecs.evaluator import is_inside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule.manager import PluginManager
    from ferrule_hookspecs.egress import OpenDoor
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import Command, ResolvedPolicy, SandboxBackend

_HARMLESS: Final = frozenset(
    {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TZ", "USER"}
    # Windows programs do not start without these.
    | {"COMSPEC", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "USERPROFILE", "WINDIR"}
)
_HOST: Final = re.compile(r"(?P<name>(?:\*\.)?[\w.-]+|\[[0-9a-fA-F:]+\])(?::(?P<port>\d+))?")
_KEPT_KEYS: Final = ("enabled", "local_addresses", "only_local_addresses", "tls")
_ALLOWING: Final = re.compile(r"\s*allow\b")


class Boundary(NamedTuple):
    """What holds for the process of one plugin.

    Attributes:
        policy: What it may read and write.
        environment: All of its variables.
        hosts: What it may talk to.
        kept: What it asks for and does not get, one sentence each.
    """

    policy: ResolvedPolicy
    environment: Mapping[str, str]
    hosts: tuple[str, ...]
    kept: tuple[str, ...] = ()


def boundary_of(entry: Entry, context: PluginContext) -> Boundary:
    """Say what the process of a plugin may do.

    Raises:
        PluginError: The plugin asks for what would leave nothing confined.
    """
    asked = entry.manifest.capabilities
    policy = resolve_policy(
        {"type": "readOnly", "networkAccess": False},
        context.cwd,
        environ=context.environ,
        home=context.home,
        config=context.config,
    )
    written = [resolved(path, context) for path in asked.write]
    risky = changeable_folders(written, context) if asked.read or asked.write else []
    policy, kept = _readable(
        policy, [resolved(path, context) for path in asked.read], context, risky
    )
    folders = [_writable(path, policy, entry, context) for path in _stable(written, risky)]
    if folders:
        # One inside of another is open already; whoever may change that one could replace it.
        outer = [one for one in folders if not any(is_inside(one, o) for o in folders if o != one)]
        roots = protected_roots(list(dict.fromkeys(outer)), (), context.home).roots
        # A repository elsewhere that one of them is a worktree of was not asked for.
        roots = tuple(root for root in roots if root.path in outer)
        policy = policy._replace(mode="workspace-write", writable_roots=roots)
    names = [*_HARMLESS, *asked.environment]
    environ = {name: context.environ[name] for name in names if name in context.environ}
    return Boundary(policy, environ, asked.hosts, kept)


def _readable(
    policy: ResolvedPolicy, paths: Sequence[AskedPath], context: PluginContext, risky: Sequence[str]
) -> tuple[ResolvedPolicy, tuple[str, ...]]:
    """Open the credentials that are asked for by their very name; what the user closed stays so."""
    own = os.path.realpath(context.home)
    usual = {p for p in secret_places(context.environ, context.home) if not is_inside(p, own)}
    closed = matching_paths(texts(context.config.get("sandbox_deny_read")), policy.cwd)
    named = {path.place for path in paths if not path.leads_through(risky)}
    opened = usual.intersection(named).difference(closed)
    denied = tuple(path for path in policy.deny_read if path not in opened)
    kept = tuple(
        f"it asks to read {path.place}, which stays closed to every command"
        for path in paths
        if any(is_inside(path.place, place) for place in denied)
    )
    return policy._replace(deny_read=denied), kept


def _stable(paths: Sequence[AskedPath], risky: Sequence[str]) -> Sequence[AskedPath]:
    """Return folders that lie where they lay when the user approved of them.

    Raises:
        PluginError: One lies where a link leads that the plugin itself, or a command, may change.
    """
    for path in paths:
        if link := path.leads_through(risky):
            raise PluginError(
                f"it asks to change {path.written}, but {link} is a link that others than the user"
                " may have made"
            )
    return paths


def _writable(path: AskedPath, policy: ResolvedPolicy, entry: Entry, context: PluginContext) -> str:
    """Return a folder that may be changed; one that is missing is made.

    Raises:
        PluginError: What runs outside of the sandbox, or what is secret, would be open to changes.
    """
    written, place = path.written, path.place
    home = context.environ.get("HOME") or os.path.expanduser("~")
    holds = any(is_inside(os.path.realpath(one), place) for one in (home, str(context.home)))
    if holds or is_code(place, entry, home):
        raise PluginError(f"it asks to change {written}, which would leave nothing confined")
    closed = [*policy.deny_read, os.path.realpath(context.home)]
    if any(is_inside(place, one) for one in closed):
        raise PluginError(f"it asks to change {written}, which no command may change")
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
    except OSError as error:
        raise PluginError(f"it asks to change {written}, which cannot be made: {error}") from None
    return place


def sandbox_names(context: PluginContext) -> tuple[str, ...]:
    """Name the sandboxes to try: the configured one, then the best there is on this machine."""
    name = str(context.config.get("sandbox_backend") or "auto")
    return ("auto",) if name in ("auto", "none") else (name, "auto")


def local_backend(
    manager: PluginManager, name: str, context: PluginContext, policy: ResolvedPolicy
) -> SandboxBackend:
    """Return a sandbox that confines processes of this machine.

    Raises:
        SandboxUnavailableError: This one cannot.
    """
    backend = choose_backend(manager, name, context, policy, context.warn)
    if not backend.probe().local_files:
        raise SandboxUnavailableError(f"the sandbox {backend.name} runs commands elsewhere")
    return backend


class HostsOnly(WayOut):
    """The way out of a plugin's process: to the hosts it asks for, or it does not start.

    In place of the `WayOut` of a session, whose commands may go where the user lets them.
    """

    def __init__(
        self, manager: PluginManager, context: PluginContext, hosts: Sequence[str]
    ) -> None:
        """Open nothing yet.

        Raises:
            PluginError: A host is none.
        """
        self._reasons: list[str] = []
        bounded = context._replace(config=network_within(context.config, hosts))
        super().__init__(lambda: manager.hooks, bounded, self._reasons.append)
        self.origin = Origin(is_enabled=True)

    async def open(
        self, backend: SandboxBackend, policy: ResolvedPolicy, command: Command, origin: Origin
    ) -> OpenDoor:
        """Make the way out.

        Raises:
            SandboxUnavailableError: There is none, so that the process must not start.
        """
        opened = await super().open(backend, policy, command, origin)
        if opened is None:
            why = "; ".join(self._reasons) or "[network] enabled = false switches the network off"
            raise SandboxUnavailableError(f"it needs a managed network: {why}")
        return opened


def network_within(config: Mapping[str, object], hosts: Sequence[str]) -> Mapping[str, object]:
    """Return a configuration in which these hosts can be reached, and nothing else.

    What restricts the network stays, what opens it goes, and so do credentials: they are for the
    user's own commands.

    Raises:
        PluginError: A host is none.
    """
    table = table_at(config, "network")
    bounds = table.get("only_hosts") if is_list(table.get("only_hosts")) else None
    if bounds is None and "only_presets" in table:
        bounds = []
    rules = [rule for rule in texts(table.get("rules")) if not _ALLOWING.match(rule)]
    within: list[str] = []
    for host in hosts:
        found = _HOST.fullmatch(host)
        if found is None:
            raise PluginError(f"it asks to talk to {host!r}, which is no name of a host")
        name, port = found["name"].strip("[]"), found["port"]
        if bounds is None or name in cast("Sequence[str]", bounds):
            within.append(name)
            rules.append(f"allow network host:{name}" + (f" port:{port}" if port else ""))
    network = {key: table[key] for key in _KEPT_KEYS if key in table}
    network |= {"unknown": "deny", "only_hosts": within, "rules": rules}
    return {**config, "network": network}
