"""Chooses the sandbox backend of a session; refuses rather than widen.

A backend that cannot enforce something a mode promises is refused, unless the user or the
administrator has accepted that gap in words (`sandbox_accept_gaps`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from ferrule_hookspecs.errors import (
    PluginError,
    PolicyUnenforceableError,
    SandboxUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule.manager import PluginManager
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import Feature, ResolvedPolicy, SandboxBackend

_GROUP: Final = "ferrule.sandboxes"


class _Offer(NamedTuple):
    """The backends that `auto` tries on a system, best first, and how to get the best one."""

    backends: tuple[str, ...]
    install: str


_USUAL: Final = _Offer(
    ("bubblewrap", "landlock"), "install bubblewrap, as in `apt install bubblewrap`"
)
_OFFERS: Final[dict[str, _Offer]] = {
    "darwin": _Offer(("seatbelt",), "install it: pip install ferrule-sandbox-seatbelt"),
    "win32": _Offer(("windows",), "install it: pip install ferrule-sandbox-windows"),
}
Verdict = Literal["chosen", "not needed", "insufficient", "unavailable", "not installed"]
"""chosen: commands run in it. not needed: another one was chosen first. insufficient: it works here
but cannot enforce what the mode promises. unavailable: it does not work here."""

_PLAIN_WORDS: Final[dict[Feature, str]] = {
    "filesystem": "writes outside of the writable folders",
    "protected_paths": "protected places in writable folders, such as .git/hooks",
    "missing_names": "protected names that do not exist yet, such as .vscode",
    "deny_read": "reading of credentials",
    "network": "the network",
    "unix_sockets": "sockets of local services",
    "pids": "other processes of yours",
    "ipc": "shared memory of other programs",
    "seccomp": "dangerous system calls",
    "proc_sys": "kernel settings",
    "resources": "the number of processes",
    "readable_roots": "reading outside of the readable folders",
    "metadata": "permissions, owners and times of files outside",
    "door": "the managed proxy as the only way to the network",
}


_ON_DEMAND: Final[frozenset[Feature]] = frozenset(("readable_roots", "door"))
"""What matters to policies alone that ask for it."""


class Explanation(NamedTuple):
    """Why a backend is or is not the one that commands run in."""

    backend: str
    verdict: Verdict
    reason: str


class _Judgement(NamedTuple):
    """What one backend can do for a policy; `missing` is what nobody has accepted."""

    backend: SandboxBackend
    explanation: Explanation
    enforced: frozenset[Feature]
    missing: tuple[Feature, ...] = ()


def choose_backend(
    manager: PluginManager,
    name: str,
    context: PluginContext,
    policy: ResolvedPolicy,
    warn: Callable[[str], None] = lambda _: None,
) -> SandboxBackend:
    """Return the named backend, or with `auto` the best one that works here.

    Args:
        manager: Makes the backends.
        name: The configured `sandbox_backend`.
        context: What backends are made with; its configuration may accept gaps.
        policy: What is to be enforced.
        warn: Told what is not confined where a gap was accepted or a lesser backend fallen back to.

    Raises:
        SandboxUnavailableError: None works here, or the configured one does not.
        PolicyUnenforceableError: The configured one cannot enforce what the mode promises.
        PluginError: The configured one is not installed.
    """
    if policy.unconfined:
        return unconfined_backend(manager, name, context)
    judged: list[_Judgement] = []
    for candidate in _candidates(manager, name):
        judgement = _judge(_driver(manager, candidate, context), context, policy)
        if judgement.explanation.verdict == "chosen":
            _tell(judgement, judged, context, policy, warn)
            return judgement.backend
        judged.append(judgement)
    raise _refusal(judged)


def unconfined_backend(manager: PluginManager, name: str, context: PluginContext) -> SandboxBackend:
    """Return the backend for commands that nothing confines.

    A configured one whose files are not this machine's stays the one: whoever works on another
    machine means that one with all its rights, never this one.
    """
    if name not in ("auto", "none") and name in manager.names(_GROUP):
        backend = _driver(manager, name, context)
        if not backend.probe().local_files:
            return backend
    return _driver(manager, "none", context)


def explain_choice(
    manager: PluginManager, name: str, context: PluginContext, policy: ResolvedPolicy
) -> list[Explanation]:
    """Say of every backend that could serve why it is chosen or not; a fault is a reason, too."""
    if policy.unconfined:
        chosen = unconfined_backend(manager, name, context).name
        return [Explanation(chosen, "chosen", f"{policy.mode} confines nothing")]
    installed = manager.names(_GROUP)
    found: list[Explanation] = []
    for candidate in _offer().backends if name == "auto" else (name,):
        if candidate not in installed:
            reason = f"install it with: pip install ferrule-sandbox-{candidate}"
            found.append(Explanation(candidate, "not installed", reason))
            continue
        try:
            explanation = _judge(_driver(manager, candidate, context), context, policy).explanation
        except PluginError as error:
            explanation = Explanation(candidate, "unavailable", str(error))
        if explanation.verdict == "chosen" and any(each.verdict == "chosen" for each in found):
            explanation = explanation._replace(verdict="not needed")
        found.append(explanation)
    return found


def needed_features(policy: ResolvedPolicy) -> frozenset[Feature]:
    """What a backend must enforce of a policy."""
    needed: set[Feature] = {"filesystem", "deny_read"}
    if policy.mode == "workspace-write":
        needed |= {"protected_paths", "missing_names"}
    if policy.readable_roots is not None:
        needed.add("readable_roots")
    return frozenset(needed if policy.network else {*needed, "network"})


def accepted_gaps(values: Mapping[str, object]) -> frozenset[Feature]:
    """What a person has accepted in words not to be enforced."""
    named = values.get("sandbox_accept_gaps")
    return frozenset(cast("list[Feature]", named) if isinstance(named, list) else ())


def _offer() -> _Offer:
    return _OFFERS.get(sys.platform, _USUAL)


def _candidates(manager: PluginManager, name: str) -> tuple[str, ...]:
    if name != "auto":
        return (name,)
    installed = manager.names(_GROUP)
    return tuple(candidate for candidate in _offer().backends if candidate in installed)


def _judge(backend: SandboxBackend, context: PluginContext, policy: ResolvedPolicy) -> _Judgement:
    found = backend.probe()
    name = backend.name
    if not found.available:
        return _Judgement(backend, Explanation(name, "unavailable", found.reason), found.enforced)
    needed = needed_features(policy) - accepted_gaps(context.config)
    missing = _ordered(needed - found.enforced)
    verdict: Verdict = "insufficient" if missing else "chosen"
    reason = found.reason
    if missing:
        reason = f"it cannot enforce {', '.join(missing)} here ({found.reason})"
    return _Judgement(backend, Explanation(name, verdict, reason), found.enforced, missing)


def _tell(
    chosen: _Judgement,
    passed_over: list[_Judgement],
    context: PluginContext,
    policy: ResolvedPolicy,
    warn: Callable[[str], None],
) -> None:
    """Say what is not confined, where that is less than the best backend or the mode gives."""
    accepted = needed_features(policy) & accepted_gaps(context.config) - chosen.enforced
    if not accepted and not passed_over:
        return
    why = "; ".join(_complaint(each) for each in passed_over) or "it is the configured backend"
    lacking = _ordered(frozenset(_PLAIN_WORDS) - _ON_DEMAND - chosen.enforced)
    text = f"commands run in the sandbox {chosen.backend.name}: {why}"
    if lacking:
        words = ", ".join(_PLAIN_WORDS[feature] for feature in lacking)
        text += f". It does not confine: {words}"
    if accepted:
        text += f" (accepted by sandbox_accept_gaps: {', '.join(_ordered(accepted))})"
    warn(text)


def _refusal(judged: list[_Judgement]) -> SandboxUnavailableError:
    """Word why no backend serves, with the better mend first and then the line to write."""
    if not judged:
        return SandboxUnavailableError(
            f"no sandbox that works by itself is installed; {_offer().install},"
            " or name a sandbox_backend"
        )
    text = "; ".join(_complaint(each) for each in judged)
    gaps = [each.missing for each in judged if each.missing]
    if not gaps:
        return SandboxUnavailableError(text)
    fewest = min(gaps, key=len)
    best, mend = _offer().backends[0], _offer().install
    if any(each.backend.name == best for each in judged):
        mend = f"make {best} work"
    if "filesystem" not in fewest:
        names = ", ".join(f'"{feature}"' for feature in fewest)
        mend += (
            ", or accept in your config.toml that these are not enforced: "
            f"sandbox_accept_gaps = [{names}]"
        )
    return PolicyUnenforceableError(f"{text}; {mend}")


def _complaint(judgement: _Judgement) -> str:
    name, verdict, reason = judgement.explanation
    if verdict == "insufficient":
        return f"the sandbox {name} cannot enforce {reason.removeprefix('it cannot enforce ')}"
    return f"the sandbox {name} is not usable: {reason}"


def _ordered(features: frozenset[Feature]) -> tuple[Feature, ...]:
    return tuple(feature for feature in _PLAIN_WORDS if feature in features)


def _driver(manager: PluginManager, name: str, context: PluginContext) -> SandboxBackend:
    return cast("SandboxBackend", manager.driver(_GROUP, name, context))
