"""What a probe is: the claim it tests, where it applies, and what counts as proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from ferrule_certify.bench import Bench
    from ferrule_hookspecs.sandbox import Feature

Mode = Literal[
    "read-only", "workspace-write", "network", "deny-read", "readable-roots", "door", "bounds"
]
"""The policy under which a probe runs. network: workspace-write with the network on. deny-read,
readable-roots: workspace-write with unreadable places, or with few readable ones. door:
workspace-write with a managed proxy. bounds: workspace-write with few processes and little memory.
"""
MODES: Final[tuple[Mode, ...]] = (
    "read-only",
    "workspace-write",
    "network",
    "deny-read",
    "readable-roots",
    "door",
    "bounds",
)
Verdict = Literal["held", "escaped", "works", "broken", "unsupported", "not applicable", "unclear"]
"""held: the attack failed. escaped: it got through although the backend says it prevents it.
unsupported: it got through, or something does not work, and the backend says so. works, broken: of
functions. not applicable: without a sandbox it cannot be done here either. unclear: the probe gave
no answer.
"""
WORST_FIRST: Final[tuple[Verdict, ...]] = (
    "escaped",
    "broken",
    "unclear",
    "unsupported",
    "held",
    "works",
    "not applicable",
)
Evidence = Literal["files", "answer", "secret", "message"]
"""files: the host sees that something protected changed. answer: the probe says that it got
through. secret: what the probe read is the secret. message: the host heard the probe's word.
"""


class Outcome(NamedTuple):
    """How one attempt ended: whether it got what it wanted (None: it gave no answer), and how."""

    reached: bool | None
    detail: str = ""
    is_absent: bool = False


class Probe(NamedTuple):
    """A probe.

    Attributes:
        id: Its name, such as `files.create`.
        claim: What it tests, in one sentence.
        kind: Whether it tries to get out, or tries to get work done.
        modes: The policies it runs under.
        feature: What a backend that declares it must enforce for the probe to pass; None for what
            every backend owes.
        evidence: What proves that an attempt got through.
        module: The module of the program inside that makes the attempt.
        driver: Makes the attempt from the host instead.
        is_extra: A function that is good to have; that it is broken spoils no certificate.
        changes: What differs from the mode's usual policy.
    """

    id: str
    claim: str
    kind: Literal["confinement", "function"]
    modes: tuple[Mode, ...]
    feature: Feature | None = None
    evidence: Evidence = "answer"
    module: str = ""
    driver: Callable[[Bench], Outcome] | None = None
    is_extra: bool = False
    changes: Mapping[str, object] = MappingProxyType({})


def judge(probe: Probe, control: Outcome, found: Outcome, *, is_declared: bool) -> Verdict:
    """Say what an attempt in the sandbox means, knowing how it went without one."""
    if control.reached is not True or found.is_absent:
        return "not applicable"
    if probe.kind == "function":
        if found.reached:
            return "works"
        return "broken" if is_declared else "unsupported"
    if found.reached is None:
        return "unclear"
    if not found.reached:
        return "held"
    return "escaped" if is_declared else "unsupported"


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the one that matters most."""
    for verdict in WORST_FIRST:
        if verdict in verdicts:
            return verdict
    return "not applicable"
