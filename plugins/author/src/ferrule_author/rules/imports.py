"""The code as it is imported, in a child process: what it costs, what it does, what it is."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from ferrule_author.finding import Finding, error, warning
from ferrule_author.import_child import Answer, Problem
from ferrule_hookspecs.slots import ALL_GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ferrule_author.subject import Point, Subject

BUDGET_MS: Final = 100.0
_UNBEARABLE_MS: Final = 1000.0
_MORE_TRIES: Final = 2
LIMIT_S: Final = 60.0
_SHOWN: Final = 3
_ROW: Final = re.compile(r"import time:\s*(\d+) \|\s*\d+ \|\s*(\S+)")
_SECRET: Final = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_MENDS: Final = {
    "import.works": "install its dependencies beside ferrule, or correct the code",
    "import.object": "correct the object, or the entry point",
    "import.quiet": "take the print out",
    "import.effects": "do it in a function that is called, not when the module is imported",
    "import.time": "import what takes long in the function that needs it",
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


def look_at_imports(subject: Subject, *, limit_s: float = LIMIT_S) -> Iterator[Finding]:
    """Import every entry point whose module is there; all of them within a time limit."""
    points = [
        point
        for point in subject.points
        if point.group in ALL_GROUPS and subject.file_of(point.module)
    ]
    if not points:
        return
    trial = _tried(subject, points, limit_s)
    for point, answer in zip(points, trial.answers, strict=False):
        for problem in answer.problems:
            make = error if problem.is_error else warning
            yield make(problem.rule, _where(point), problem.message, _MENDS[problem.rule])
    if len(trial.answers) < len(points):
        text = f"its import did not end within {limit_s:g} s"
        if trial.exit_code is not None:
            text = f"its import ended the interpreter ({_way(trial.exit_code)})"
        yield error("import.works", _where(points[len(trial.answers)]), text, "correct the code")
        return
    yield from _slow(subject, points, trial)


def _slow(subject: Subject, points: Sequence[Point], first: Trial) -> Iterator[Finding]:
    trials = [first]
    if any(answer.milliseconds > BUDGET_MS for answer in first.answers):  # of a busy machine?
        again = [_tried(subject, points, LIMIT_S) for _ in range(_MORE_TRIES)]
        trials += [trial for trial in again if len(trial.answers) == len(points)]
    for number, point in enumerate(points):
        spent = min(trial.answers[number].milliseconds for trial in trials)
        if spent > BUDGET_MS:
            costs = first.costs[number][:_SHOWN] if number < len(first.costs) else ()
            dear = ", ".join(f"{module} {cost:.0f} ms" for module, cost in costs)
            text = f"its import takes {spent:.0f} ms of processor time: {dear}"
            make = error if spent > _UNBEARABLE_MS else warning
            yield make("import.time", _where(point), text, _MENDS["import.time"])


def _tried(subject: Subject, points: Sequence[Point], limit_s: float) -> Trial:
    request = {"source": str(subject.source), "points": [list(point) for point in points]}
    flags = ["-E", "-P", "-B", "-X", "importtime", *(["-s"] if sys.flags.no_user_site else [])]
    with (
        tempfile.TemporaryDirectory(prefix="ferrule-check-") as folder,
        tempfile.TemporaryFile() as said,  # files: a pipe stays open where something was started
        tempfile.TemporaryFile() as costs,
    ):
        process = subprocess.Popen(
            [sys.executable, *flags, "-m", "ferrule_author.import_child"],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=costs,
            cwd=folder,
            env={**harmless(os.environ), "HOME": folder},
            start_new_session=True,
        )
        try:
            process.communicate((json.dumps(request) + "\n").encode(), timeout=limit_s)
            code = process.returncode
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
        return Trial(_answers(_text(said)), _costs(_text(costs)), code)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the child and of what it may have started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except OSError:  # nobody is left
        pass
    process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def harmless(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without what looks like a secret, for code of the plugin."""
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
