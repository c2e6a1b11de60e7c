"""What a thread may do that works for another: never more than that one, at any moment.

Nothing of this is settled when the child is opened: every attempt, every ruling and every
environment looks at what holds for all threads above it then. Used by attempts, the orchestrator
and the managed network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule.approvals import may_ask, policy_name
from ferrule.policy import policy_mode
from ferrule.ruling import ruled
from ferrule_hookspecs.evaluator import is_inside
from ferrule_hookspecs.ruling import Ruling
from ferrule_hookspecs.sandbox import ResolvedPolicy, WritableRoot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxPolicy
    from ferrule_hookspecs.ruling import Case, QuestionKind


class Standing(NamedTuple):
    """What holds for a thread that others work for."""

    approval_policy: ApprovalPolicy
    sandbox_policy: SandboxPolicy
    cwd: str
    extra_roots: tuple[str, ...]

    @property
    def network_rules(self) -> tuple[str, ...]:
        """Rules of the managed network that the permission profile brings along."""
        policy = self.sandbox_policy
        named = policy["type"] == "permissionProfile"
        return tuple(policy.get("networkRules", ())) if named else ()


def standings(parts: SessionParts) -> Iterator[Standing]:
    """What holds in a thread's running turn, and what holds for it from the next one on."""
    now = parts.settings
    first = Standing(now.approval_policy, now.sandbox_policy, now.cwd, tuple(now.extra_roots))
    yield first
    if parts.family is not None:
        then = parts.family.facts
        next_one = Standing(
            then.approval_policy, then.sandbox_policy, then.cwd, tuple(then.writable_roots)
        )
        if next_one != first:
            yield next_one


def above(parts: SessionParts) -> Iterator[SessionParts]:
    """The threads that a thread works for, the nearest first."""
    parent = parts.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def sandbox_policies(parts: SessionParts) -> Sequence[SandboxPolicy]:
    """The sandbox policies that count for a thread: its own first.

    What was accepted for it holds under these: who chooses another one for any of them means it.
    """
    policies = [parts.settings.sandbox_policy]
    for one in above(parts):
        policies.extend(standing.sandbox_policy for standing in standings(one))
    return policies


def has_recipes(parts: SessionParts) -> bool:
    """Whether recipes count for a thread: in `workspace-write`, below nothing that is read-only."""
    own, *theirs = (policy_mode(policy) for policy in sandbox_policies(parts))
    return own == "workspace-write" and "read-only" not in theirs


def approval_policies(parts: SessionParts) -> Sequence[ApprovalPolicy]:
    """The approval policies that count for a thread: its own first."""
    policies: list[ApprovalPolicy] = [parts.settings.approval_policy]
    for one in above(parts):
        policies.extend(standing.approval_policy for standing in standings(one))
    return policies


def may_all_ask(parts: SessionParts, kinds: Iterable[QuestionKind]) -> bool:
    """Whether a call may be put before a reviewer as far as all policies that count say."""
    asked = tuple(kinds)
    return all(may_ask(policy, asked) for policy in approval_policies(parts))


def ruled_within(parts: SessionParts, case: Case) -> Ruling:
    """Decide a case under every approval policy that counts; the strictest wins."""
    own = ruled(case)
    if parts.parent is None:
        return own
    policies = approval_policies(parts)
    rulings = [ruled(case._replace(approval_policy=policy)) for policy in policies]
    denied = next((each for each in rulings if each.decision == "deny"), None)
    asking = next((each for each in rulings if each.decision == "ask"), None)
    if denied is not None or asking is None:
        return denied or own
    for policy in policies:
        if not may_ask(policy, asking.kinds):
            name = policy_name(policy)
            words = f"approval policy {name!r} does not allow asking"
            return Ruling("deny", f"{asking.reason}; {words}", name, kinds=asking.kinds)
    return asking


def network_rules(parts: SessionParts) -> tuple[tuple[str, ...], bool]:
    """Rules of the managed network for a thread, and whether they alone switch it on."""
    rules = parts.settings.network_rules
    is_enabled = bool(rules)
    for one in above(parts):
        for standing in standings(one):
            theirs = standing.network_rules
            is_enabled = is_enabled and bool(theirs)
            shared = [rule for rule in rules if rule in theirs or not _allows(rule)]
            stricter = [rule for rule in theirs if rule not in rules and not _allows(rule)]
            rules = (*shared, *stricter)
    return rules, is_enabled


def _allows(rule: str) -> bool:
    return rule.split(maxsplit=1)[:1] == ["allow"]


def kept_variables(
    environment: Mapping[str, str], others: Iterable[Mapping[str, str]]
) -> dict[str, str]:
    """Return the variables of a command that those of all other environments have, too."""
    kept = dict(environment)
    for other in others:
        kept = {name: value for name, value in kept.items() if name in other}
    return kept


def narrowed(policy: ResolvedPolicy, ceiling: ResolvedPolicy) -> ResolvedPolicy:
    """Return a policy that allows exactly what both of two policies allow."""
    if ceiling.unconfined:
        return policy
    if policy.unconfined:
        return ceiling._replace(cwd=policy.cwd)
    roots = _shared_roots(policy, ceiling)
    is_read_only = "read-only" in (policy.mode, ceiling.mode) or not roots
    sockets = set(ceiling.unix_sockets)
    return policy._replace(
        mode="read-only" if is_read_only else "workspace-write",
        writable_roots=() if is_read_only else roots,
        deny_read=tuple(dict.fromkeys((*policy.deny_read, *ceiling.deny_read))),
        network=policy.network and ceiling.network,
        max_processes=_least(policy.max_processes, ceiling.max_processes),
        max_memory_bytes=_least(policy.max_memory_bytes, ceiling.max_memory_bytes),
        readable_roots=_shared_readable(policy, ceiling),
        unix_sockets=tuple(each for each in policy.unix_sockets if each in sockets),
        debugging=policy.debugging and ceiling.debugging,
    )


def _least(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _shared_folders(some: Iterable[str], others: Iterable[str]) -> list[str]:
    """The folders that lie within one of both lists, each by its inner name."""
    right = list(others)
    found: set[str] = set()
    for one in some:
        for other in right:
            if is_inside(one, other):
                found.add(one)
            elif is_inside(other, one):
                found.add(other)
    return sorted(found)


def _shared_readable(policy: ResolvedPolicy, ceiling: ResolvedPolicy) -> tuple[str, ...] | None:
    sides = [
        (*each.readable_roots, *(root.path for root in each.writable_roots))
        for each in (policy, ceiling)
        if each.readable_roots is not None
    ]
    if not sides:
        return None
    return tuple(dict.fromkeys(sides[0])) if len(sides) == 1 else tuple(_shared_folders(*sides))


def _shared_roots(policy: ResolvedPolicy, ceiling: ResolvedPolicy) -> tuple[WritableRoot, ...]:
    """The folders that both let be written, less what either protects inside them."""
    every = (*policy.writable_roots, *ceiling.writable_roots)
    read_only = {place for root in every for place in root.read_only}
    forbidden = {place for root in every for place in root.forbidden}
    kept = {path for root in every for path in (root.path, *root.pinned)}
    shared = _shared_folders(
        (root.path for root in policy.writable_roots),
        (root.path for root in ceiling.writable_roots),
    )
    closed = read_only | forbidden
    return tuple(
        WritableRoot(
            path,
            read_only=_below(path, read_only),
            forbidden=_below(path, forbidden),
            pinned=tuple(each for each in _below(path, kept) if each != path),
        )
        for path in shared
        if not any(is_inside(path, place) for place in closed)
    )


def _below(path: str, places: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(place for place in places if is_inside(place, path)))
