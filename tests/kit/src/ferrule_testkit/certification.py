"""The probes of `ferrule-certify` as parametrised tests of a backend author's own suite.

Needs the distribution `ferrule-certify`. In a test module:

    from ferrule_testkit.certification import probe_cases, run_probe

    @pytest.mark.parametrize("case", probe_cases("files.*"), ids=str)
    def test_the_box_holds(case, tmp_path):
        run_probe(AcmeBox(context), case, tmp_path)
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from ferrule_certify.probe import Mode, Probe
    from ferrule_hookspecs.sandbox import SandboxBackend


class ProbeCase(NamedTuple):
    """One probe in one mode; its text is the test's id."""

    probe: Probe
    mode: Mode

    def __str__(self) -> str:
        return f"{self.probe.id}-{self.mode}"


def probe_cases(*patterns: str, left_out: tuple[str, ...] = ()) -> list[ProbeCase]:
    """List the probes whose ids match, in every mode they have; without patterns all of them."""
    from ferrule_certify.catalog import picked

    return [ProbeCase(probe, mode) for probe in picked(patterns, left_out) for mode in probe.modes]


def run_probe(backend: SandboxBackend, case: ProbeCase, stage: Path | None = None) -> None:
    """Run one probe alone and in a race; fails where it escapes or does not work.

    Skips what does not apply to this machine or what the backend says it does not enforce.

    Args:
        backend: The backend, which stays open.
        case: One of `probe_cases`.
        stage: Where the probe's folders are made; paths of sockets there must not be long.
    """
    from ferrule_certify.certificate import is_failure
    from ferrule_certify.examination import Examiner
    from ferrule_certify.stage import Names, Stages
    from ferrule_certify.target import Backend
    from ferrule_certify.traps import Traps

    found = backend.probe()
    if not found.available:
        pytest.skip(f"{backend.name} does not work here: {found.reason}")
    base = Path(tempfile.mkdtemp(prefix="fc", dir=stage)).resolve()
    try:
        with Traps(base) as traps:
            examiner = Examiner(Backend(backend, found), Stages(base, Names()), traps)
            (result,) = examiner.examine([case.probe], [case.mode])
    finally:
        shutil.rmtree(base, ignore_errors=True)
    detail = f"{case.probe.claim} {result.verdict}: {result.trials[0].detail}"
    if is_failure(result):
        pytest.fail(detail)
    if result.verdict in ("unsupported", "not applicable"):
        pytest.skip(detail)
