"""Examines a target: every probe quietly, then racing with others, beside a control without it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_certify.bench import Bench
from ferrule_certify.probe import Outcome, judge, worst
from ferrule_certify.stage import changes, state
from ferrule_certify.target import bare
from ferrule_hookspecs.errors import FerruleError, PolicyUnenforceableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule_certify.probe import Mode, Probe, Verdict
    from ferrule_certify.stage import Stages
    from ferrule_certify.target import Target
    from ferrule_certify.traps import Traps

RACERS: Final = 4
TRIES: Final = 3
"""How often something is tried that gives no answer or does not work: machines have bad moments."""


class Trial(NamedTuple):
    """A probe in one mode: what it came to alone and in a race, and how."""

    mode: Mode
    quiet: Verdict
    racing: Verdict
    detail: str


class Result(NamedTuple):
    """A probe with its trials; the verdict is the worst of them."""

    probe: Probe
    trials: tuple[Trial, ...]

    @property
    def verdict(self) -> Verdict:
        """What the probe came to."""
        return worst([verdict for trial in self.trials for verdict in (trial.quiet, trial.racing)])


class Examiner:
    """Runs probes against one target."""

    def __init__(self, target: Target, stages: Stages, traps: Traps) -> None:
        """Keep what the attempts are made with."""
        self._target = target
        self._stages = stages
        self._traps = traps
        self._controls: dict[str, Outcome] = {}

    def examine(
        self,
        probes: Sequence[Probe],
        modes: Sequence[Mode],
        tell: Callable[[str], None] = lambda _: None,
    ) -> list[Result]:
        """Run every probe in every mode it has among those given."""
        pairs: list[tuple[Probe, Mode]] = [
            (probe, mode) for probe in probes for mode in probe.modes if mode in modes
        ]
        quiet: list[tuple[Outcome, Verdict, str]] = []
        for probe, mode in pairs:
            tell(f"{probe.id} ({mode})")
            quiet.append(self._quietly(probe, mode))
        tell("all of them again, racing")
        with ThreadPoolExecutor(RACERS) as pool:
            racing = list(pool.map(self._racing, pairs, [control for control, _, _ in quiet]))
        trials: dict[str, list[Trial]] = {}
        for (probe, mode), (_, verdict, detail), (raced, also) in zip(
            pairs, quiet, racing, strict=True
        ):
            found = detail if worst([verdict, raced]) == verdict else also
            trials.setdefault(probe.id, []).append(Trial(mode, verdict, raced, found))
        return [Result(probe, tuple(trials[probe.id])) for probe in probes if probe.id in trials]

    def _quietly(self, probe: Probe, mode: Mode) -> tuple[Outcome, Verdict, str]:
        control = self._controls.get(probe.id) or self._attempt(bare(), probe, mode)
        if control.reached is True:
            self._controls[probe.id] = control
        if mode == "door" and probe.kind == "function":
            control = Outcome(reached=True)  # without a sandbox there is no door to go through
        if control.reached is not True:
            return control, "not applicable", f"without a sandbox: {control.detail}"
        return control, *self._judged(probe, mode, control)

    def _racing(self, pair: tuple[Probe, Mode], control: Outcome) -> tuple[Verdict, str]:
        if control.reached is not True:
            return "not applicable", ""
        return self._judged(*pair, control, is_racing=True)

    def _judged(
        self, probe: Probe, mode: Mode, control: Outcome, *, is_racing: bool = False
    ) -> tuple[Verdict, str]:
        is_declared = probe.feature is None or probe.feature in self._target.declared
        verdict: Verdict = "unclear"
        detail = ""
        for _ in range(TRIES):
            try:
                found = self._attempt(self._target, probe, mode, is_racing=is_racing)
            except PolicyUnenforceableError as error:
                return "unsupported", f"refused: {error}"
            except (FerruleError, OSError, ValueError, TimeoutExpired) as error:
                found = Outcome(None, f"{type(error).__name__}: {error}")
            verdict, detail = judge(probe, control, found, is_declared=is_declared), found.detail
            if verdict not in ("unclear", "broken"):
                break
        return verdict, detail

    def _attempt(
        self, target: Target, probe: Probe, mode: Mode, *, is_racing: bool = False
    ) -> Outcome:
        bench = Bench(target, self._stages, self._traps, mode)
        bench.is_racing = is_racing
        bench.grant(probe)
        try:
            before = state(bench.stage, bench.policy) if probe.evidence == "files" else {}
            found = probe.driver(bench) if probe.driver else bench.attempt(probe)
            return found if found.is_absent else _proved(probe, bench, found, before)
        finally:
            bench.close()


def _proved(probe: Probe, bench: Bench, found: Outcome, before: dict[str, object]) -> Outcome:
    """Replace what a probe says by what the host sees, where the host can see it."""
    if probe.evidence == "files":
        changed = changes(before, state(bench.stage, bench.policy))
        root = str(bench.stage.path) + "/"
        named = ", ".join(name.replace(root, "") for name in changed[:5])
        return _seen(found, bool(changed), f"changed: {named}")
    if probe.evidence == "secret":
        was_read = any(each in found.detail for each in (bench.stage.secret, bench.traps.secret))
        return _seen(found._replace(detail=_short(found)), was_read, "the secret was read")
    if probe.evidence == "message":
        is_door = probe.id == "door.way_out"
        heard = bench.traps.listeners.heard(bench.word, through_door=is_door)
        return _seen(found, heard, "the host heard it")
    return found


def _seen(found: Outcome, is_proved: bool, proof: str) -> Outcome:
    """What the host saw; where it saw nothing, a probe that gave no answer stays without."""
    if is_proved:
        return Outcome(True, proof)
    return found if found.reached is None else Outcome(False, found.detail)


def _short(found: Outcome) -> str:
    """What a failed reading may tell: its error, but nothing of what it did read."""
    return "something else was read" if found.reached else found.detail[:200]
