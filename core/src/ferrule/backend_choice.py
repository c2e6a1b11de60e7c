"""Chooses the sandbox backend of a session; refuses rather than widen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError

if TYPE_CHECKING:
    from ferrule.manager import PluginManager
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import Feature, ResolvedPolicy, SandboxBackend

_GROUP: Final = "ferrule.sandboxes"
_AUTOMATIC: Final = ("bubblewrap", "landlock")
_MEND: Final = "install bubblewrap, as in `apt install bubblewrap`, or name a sandbox_backend"


def choose_backend(
    manager: PluginManager, name: str, context: PluginContext, policy: ResolvedPolicy
) -> SandboxBackend:
    """Return the named backend, or with `auto` the best one that works here.

    Raises:
        SandboxUnavailableError: None works here, or the configured one does not.
        PolicyUnenforceableError: The configured one cannot enforce what the mode promises.
        PluginError: The configured one is not installed.
    """
    if policy.unconfined:
        return _driver(manager, "none", context)
    needed = needed_features(policy)
    if name != "auto":
        return _usable(_driver(manager, name, context), needed)
    installed = manager.names(_GROUP)
    reasons: list[str] = []
    for candidate in (name for name in _AUTOMATIC if name in installed):
        try:
            return _usable(_driver(manager, candidate, context), needed)
        except SandboxUnavailableError as error:
            reasons.append(str(error))
    raise SandboxUnavailableError(
        "; ".join(reasons) or f"no sandbox that works by itself is installed; {_MEND}"
    )


def needed_features(policy: ResolvedPolicy) -> frozenset[Feature]:
    """What a backend must enforce of a policy."""
    needed: set[Feature] = {"filesystem", "deny_read"}
    if policy.mode == "workspace-write":
        needed |= {"protected_paths", "missing_names"}
    return frozenset(needed if policy.network else {*needed, "network"})


def _usable(backend: SandboxBackend, needed: frozenset[Feature]) -> SandboxBackend:
    found = backend.probe()
    if not found.available:
        raise SandboxUnavailableError(f"the sandbox {backend.name} is not usable: {found.reason}")
    if missing := sorted(needed - found.enforced):
        raise PolicyUnenforceableError(
            f"the sandbox {backend.name} cannot enforce {', '.join(missing)} here"
            f" ({found.reason}); {_MEND}"
        )
    return backend


def _driver(manager: PluginManager, name: str, context: PluginContext) -> SandboxBackend:
    return cast("SandboxBackend", manager.driver(_GROUP, name, context))
