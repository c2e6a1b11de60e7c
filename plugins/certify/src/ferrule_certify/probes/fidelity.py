"""Probes made from the host: how faithfully commands start and end, and what they leave behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_certify import drivers, terminal
from ferrule_certify.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_certify.bench import Bench
    from ferrule_certify.probe import Evidence, Mode, Outcome
    from ferrule_hookspecs.sandbox import Feature

_BOTH: Final[tuple[Mode, ...]] = ("read-only", "workspace-write")
_WRITING: Final[tuple[Mode, ...]] = ("workspace-write",)
_BOUNDS: Final[tuple[Mode, ...]] = ("bounds",)

_FAITHFUL: Final[dict[str, tuple[Callable[[Bench], Outcome], str]]] = {
    "fidelity.exit_codes": (drivers.exit_codes, "Exit codes come through."),
    "fidelity.deadly_signals": (
        drivers.deadly_signals,
        "A command that a signal ends is seen as 128 + n.",
    ),
    "fidelity.missing_program": (drivers.missing_program, "A missing program gives 127."),
    "fidelity.closed_program": (drivers.closed_program, "A file that is no program gives 126."),
    "fidelity.input": (drivers.standard_input, "A mebibyte of input arrives."),
    "fidelity.output": (drivers.standard_output, "Output arrives whole, errors apart from it."),
    "fidelity.argument_bytes": (drivers.argument_bytes, "Arguments may be bytes that are no text."),
    "fidelity.environment_bytes": (
        drivers.environment_bytes,
        "Variables may hold bytes that are no text.",
    ),
    "fidelity.long_argument": (drivers.long_argument, "An argument of 120 KiB comes through."),
    "fidelity.many_arguments": (drivers.many_arguments, "Five thousand arguments come through."),
    "fidelity.dashes": (drivers.dashes, "Arguments that look like options reach the command."),
    "fidelity.environment": (drivers.environment, "Every variable given is there."),
    "fidelity.limits": (drivers.limits, "The permission mask and the bound on files stay."),
    "fidelity.signal_state": (drivers.signal_state, "No signal is ignored or held back at first."),
    "fidelity.early_reader": (drivers.early_reader, "A reader that leaves early ends the writer."),
    "fidelity.working_directory": (
        drivers.working_directory,
        "A command starts in its working directory.",
    ),
    "fidelity.parallel": (drivers.parallel, "Eight commands at once end as they should."),
    "fidelity.terminated": (drivers.terminated, "A request to end reaches the command's handler."),
    "fidelity.interrupted": (drivers.interrupted, "An interrupt reaches the command's handler."),
    "fidelity.terminal": (terminal.size, "A command on a terminal knows it and its size."),
    "fidelity.refusal_is_told": (
        drivers.refusal_is_told,
        "The backend knows its own refusal from a failure of the command's own.",
    ),
}
_FAITHFUL_WRITES: Final[dict[str, tuple[Callable[[Bench], Outcome], str]]] = {
    "fidelity.removed_directory": (
        drivers.removed_directory,
        "A command that removes its working directory still ends as it should.",
    ),
    "fidelity.ownership": (drivers.ownership, "What a command creates belongs to the user."),
}


def _from_host(
    name: str,
    claim: str,
    driver: Callable[[Bench], Outcome],
    feature: Feature | None,
    *,
    modes: tuple[Mode, ...] = _WRITING,
    evidence: Evidence = "answer",
) -> Probe:
    return Probe(name, claim, "confinement", modes, feature, evidence, driver=driver)


FIDELITY: Final[tuple[Probe, ...]] = (
    *(
        Probe(name, claim, "function", _WRITING, driver=driver)
        for name, (driver, claim) in {**_FAITHFUL, **_FAITHFUL_WRITES}.items()
    ),
    Probe(
        "fidelity.background",
        "A process left in the background ends with the command and does not hold it up.",
        *("function", _WRITING, "pids"),
        driver=drivers.background,
    ),
    _from_host(
        "processes.daemon",
        "A process in a session of its own ends with the command.",
        *(drivers.daemon, "pids"),
        modes=_BOTH,
    ),
    _from_host(
        "processes.killed",
        "When the command's starter is killed, none of its processes goes on.",
        *(drivers.killed, "pids"),
    ),
    _from_host(
        "network.serve",
        "A server that the command opens cannot be reached from outside.",
        *(drivers.served, "network"),
        modes=_BOTH,
    ),
    _from_host(
        "unix.workspace",
        "The socket of a service in the workspace is out of reach.",
        *(drivers.service_of_workspace, "unix_sockets"),
        evidence="message",
        modes=_BOTH,
    ),
    _from_host(
        "terminal.type_ahead",
        "Nothing can be typed into the terminal for whoever reads it next.",
        *(terminal.type_ahead, None),
    ),
    _from_host(
        "terminal.selection",
        "The console's special requests cannot be made of a terminal.",
        *(terminal.selection, "seccomp"),
    ),
    *(
        Probe(name, claim, "confinement", _BOUNDS, "resources", module="processes")
        for name, claim in (
            ("bounds.processes", "No more processes than the policy's bound can be started."),
            ("bounds.memory", "No more memory than the policy's bound can be used."),
            ("bounds.core_files", "Core files cannot be switched on."),
        )
    ),
    *(
        Probe(name, claim, "function", _WRITING, "missing_names", driver=driver)
        for name, claim, driver in (
            (
                "missing.nothing_left",
                "Nothing stands afterwards where a protected name was missing.",
                drivers.nothing_left,
            ),
            (
                "missing.nothing_left_when_killed",
                "Nothing stands where a protected name was missing when the command was killed.",
                drivers.nothing_left_when_killed,
            ),
        )
    ),
)
