"""The certificate: what was examined, where and when, and every probe's verdict, as plain JSON."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from ferrule_certify.catalog import PROBES
from ferrule_certify.probe import MODES
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.sandbox import Feature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_certify.examination import Result

SCHEMA: Final = "ferrule-sandbox-certificate/1"
_SEAL: Final = ("signature", "public_key")


class Subject(NamedTuple):
    """What was examined: its name, who ships it, and what it says it enforces."""

    name: str
    distribution: str
    version: str
    declared: frozenset[Feature]


def certificate(subject: Subject, results: Sequence[Result], kit_version: str) -> dict[str, object]:
    """Write down an examination."""
    counts = Counter(result.verdict for result in results)
    modes = {trial.mode for result in results for trial in result.trials}
    return {
        "schema": SCHEMA,
        "backend": {
            "name": subject.name,
            "distribution": subject.distribution,
            "version": subject.version,
        },
        "kit": kit_version,
        "machine": {
            "system": platform.system(),
            "kernel": platform.release(),
            "architecture": platform.machine(),
            "user": "root" if os.name == "posix" and os.geteuid() == 0 else "ordinary user",
        },
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "declared": sorted(subject.declared),
        "undeclared": sorted(set(get_args(Feature)) - subject.declared),
        "is_complete": len(results) == len(PROBES) and modes == set(MODES),
        "passed": passed(results),
        "summary": dict(sorted(counts.items())),
        "unsupported": sorted(r.probe.id for r in results if r.verdict == "unsupported"),
        "probes": [_entry(result) for result in results],
    }


def passed(results: Sequence[Result]) -> bool:
    """Whether nothing escaped, everything that must work works, and every answer is clear."""
    return bool(results) and not any(is_failure(result) for result in results)


def is_failure(result: Result) -> bool:
    """Whether one result spoils a certificate."""
    return result.verdict in ("escaped", "unclear") or (
        result.verdict == "broken" and not result.probe.is_extra
    )


def canonical(content: Mapping[str, object]) -> bytes:
    """Return the bytes that are signed: everything but the seal, in one possible form."""
    plain = {key: value for key, value in content.items() if key not in _SEAL}
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode("ascii")


def parse(text: str) -> dict[str, object]:
    """Read a certificate.

    Raises:
        FerruleError: It is none, or of a schema that is not known here.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise FerruleError(f"the certificate is no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        schema = found.get("schema") if isinstance(found, dict) else None
        raise FerruleError(f"this is no certificate of {SCHEMA} (its schema is {schema!r})")
    return found


def _entry(result: Result) -> dict[str, object]:
    probe = result.probe
    return {
        "id": probe.id,
        "claim": probe.claim,
        "kind": probe.kind,
        "feature": probe.feature,
        "is_extra": probe.is_extra,
        "verdict": result.verdict,
        "trials": [trial._asdict() for trial in result.trials],
    }
