"""Chooses the sandbox backend of a session; refuses rather than widen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.manager import PluginManager
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import Feature, SandboxBackend

_GROUP: Final = "ferrule.sandboxes"
_AUTOMATIC: Final = ("bubblewrap", "landlock")
_UNCONFINED_MODES: Final = ("danger-full-access", "external-sandbox")
_MEND: Final = "install bubblewrap, as in `apt install bubblewrap`, or name a sandbox_backend"


def choose_backend(
    manager: PluginManager, values: Mapping[str, object], context: PluginContext
) -> SandboxBackend:
    """Return the configured backend, or the best one that works here.

    Raises:
        SandboxUnavailableError: None works here, or the configured one does not.
        PolicyUnenforceableError: The configured one cannot enforce what the mode promises.
        PluginError: The configured one is not installed.
    """
    name = str(values.get("sandbox_backend") or "auto")
    if values.get("sandbox_mode") in _UNCONFINED_MODES:
        return _driver(manager, "none", context)
    needed = needed_features(values)
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


def needed_features(values: Mapping[str, object]) -> frozenset[Feature]:
    """What a backend must enforce for the configured mode."""
    needed: set[Feature] = {"filesystem", "deny_read"}
    if values.get("sandbox_mode") == "workspace-write":
        needed |= {"protected_paths", "missing_names"}
        table = cast("Mapping[str, object]", values.get("sandbox_workspace_write") or {})
        if table.get("network_access"):
            return frozenset(needed)
    return frozenset({*needed, "network"})


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
