"""The code as it is imported, in a child process: what it costs, what it does, what it is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_author.finding import Finding, error, warning
from ferrule_author.import_child import Answer, Problem
from ferrule_hookspecs.slots import ALL_GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_author.subject import Point, Subject

BUDGET_MS: Final = 100.0
_UNBEARABLE_MS: Final = 1000.0
_TRIES: Final = 3
_LIMIT_S: Final = 120
_SHOWN: Final = 3
_ROW: Final = re.compile(r"import time:\s*(\d+) \|\s*\d+ \|\s*(\S+)")
_SECRET: Final = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_MENDS: Final = {
    "import.works": "install its dependencies beside ferrule, or correct the code",
    "import.object": "correct the object, or the entry point",
    "import.quiet": "take the print out",
    "import.effects": "do it in a function that is called, not when the module is imported",
    "hooks.valid": "see docs/hooks.md",
    "hooks.deprecated": "do without it; docs/hooks.md says what there is instead",
    "settings.defaults": "give every field a default, so that the plugin works as it is installed",
}


class Trial(NamedTuple):
    """What one child said: an answer for each entry point it came to, the costs, and how it ended.

    Attributes:
        answers: One for each entry point it came to.
        costs: Modules with their own time in ms, the dearest first, for each of these.
        exit_code: Its exit code; None where it was ended.
    """

    answers: Sequence[Answer]
    costs: Sequence[Sequence[tuple[str, float]]]
    exit_code: int | None


def look_at_imports(subject: Subject) -> Iterator[Finding]:
    """Import every entry point whose module is there."""
    points = [
        point
        for point in subject.points
        if point.group in ALL_GROUPS and subject.file_of(point.module)
    ]
    if not points:
        return
    trial = _tried(subject, points)
    for point, answer in zip(points, trial.answers, strict=False):
        for problem in answer.problems:
            make = error if problem.is_error else warning
            yield make(problem.rule, _where(point), problem.message, _MENDS[problem.rule])
    if len(trial.answers) < len(points):
        how = "did not end" if trial.exit_code is None else f"ended it ({_way(trial.exit_code)})"
        text = f"the interpreter that imported it: its import {how}"
        yield error("import.works", _where(points[len(trial.answers)]), text, "correct the code")
        return
    yield from _slow(subject, points, trial)


def _slow(subject: Subject, points: Sequence[Point], first: Trial) -> Iterator[Finding]:
    trials = [first]
    while len(trials) < _TRIES and _dearest(trials) > BUDGET_MS:
        trials.append(_tried(subject, points))
    for number, point in enumerate(points):
        spent = min(trial.answers[number].milliseconds for trial in trials)
        if spent > BUDGET_MS:
            costs = first.costs[number][:_SHOWN] if number < len(first.costs) else ()
            dear = ", ".join(f"{module} {cost:.0f} ms" for module, cost in costs)
            text = f"its import takes {spent:.0f} ms of processor time: {dear}"
            make = error if spent > _UNBEARABLE_MS else warning
            yield make(
                "import.time", _where(point), text, "import it in the function that needs it"
            )


def _dearest(trials: Sequence[Trial]) -> float:
    """The time of the dearest entry point, in the trial where that was least."""
    return min(max(answer.milliseconds for answer in trial.answers) for trial in trials)


def _tried(subject: Subject, points: Sequence[Point]) -> Trial:
    request = {"source": str(subject.source), "points": [list(point) for point in points]}
    flags = ["-E", "-P", "-B", "-X", "importtime", *(["-s"] if sys.flags.no_user_site else [])]
    with tempfile.TemporaryDirectory(prefix="ferrule-check-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, *flags, "-m", "ferrule_author.import_child"],
                input=json.dumps(request) + "\n",
                capture_output=True,
                text=True,
                errors="replace",
                cwd=folder,
                env={**_harmless(os.environ), "HOME": folder},
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            return Trial(_answers((late.stdout or b"").decode(errors="replace")), (), None)
    return Trial(_answers(done.stdout), _costs(done.stderr), done.returncode)


def _harmless(environ: os._Environ[str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not _SECRET.search(name)}


def _answers(text: str) -> list[Answer]:
    rows = [json.loads(line) for line in text.splitlines() if line.endswith("]")]
    return [Answer(spent, [Problem(*problem) for problem in found]) for spent, found in rows]


def _costs(text: str) -> list[list[tuple[str, float]]]:
    """Read what `-X importtime` wrote between the marks of each entry point."""
    found: list[list[tuple[str, float]]] = []
    for part in text.split("==== begin\n")[1:]:
        rows = _ROW.findall(part.partition("==== end\n")[0])
        costs = [(module, int(micros) / 1000) for micros, module in rows]
        found.append(sorted(costs, key=lambda row: -row[1]))
    return found


def _where(point: Point) -> str:
    return f"[{point.group}] {point.name} = {point.target}"


def _way(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
