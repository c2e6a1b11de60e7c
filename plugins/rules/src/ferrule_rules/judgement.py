"""What the rules and the heuristics say about a command line."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule_rules.reading import FoundCommand
from ferrule_rules.rule_set import strictest
from ferrule_rules.safe import is_known_safe
from ferrule_rules.strict import PlainCommand, read_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_rules.danger import Danger
    from ferrule_rules.reading import Reading
    from ferrule_rules.rule import Decision, Rule
    from ferrule_rules.rule_set import Match
    from ferrule_rules.sources import Policy

SYSTEM_FOLDERS: Final = ("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/")
_SCRIPT_WORDS: Final = 3
"""As many words has `bash -c SCRIPT`."""
Standing = Literal["rule", "safe", "none"]


class Segment(NamedTuple):
    """A plain command and why it may run unasked: by a rule, because it only reads, or not."""

    command: PlainCommand
    standing: Standing
    match: Match | None = None


class Restriction(NamedTuple):
    """A rule that asks or forbids, and the command it speaks for."""

    rule: Rule
    command: FoundCommand
    is_certain: bool

    @property
    def decision(self) -> Decision:
        """What is decided; a rule that only may apply does not forbid, it asks."""
        return self.rule.decision if self.is_certain else "prompt"


class Threat(NamedTuple):
    """A dangerous command."""

    danger: Danger
    command: FoundCommand


class Judgement(NamedTuple):
    """All that is known about a command line.

    Attributes:
        commands: Every command found in it.
        segments: The same as the strict reader understands it; None where it does not.
        restrictions: Rules that ask or forbid.
        threats: What is dangerous and no rule allows.
        unread: Why it could not be read as a whole; empty where it could.
    """

    commands: tuple[FoundCommand, ...]
    segments: tuple[Segment, ...] | None
    restrictions: tuple[Restriction, ...]
    threats: tuple[Threat, ...]
    unread: str = ""

    @property
    def is_allowed(self) -> bool:
        """Whether rules allow every command."""
        return bool(self.segments) and all(one.standing == "rule" for one in self.segments or ())

    @property
    def is_harmless(self) -> bool:
        """Whether every command is allowed by a rule or only reads."""
        return bool(self.segments) and all(one.standing != "none" for one in self.segments or ())

    @property
    def decision(self) -> Decision | None:
        """What the rules alone decide; None where they say nothing."""
        if self.restrictions:
            return strictest(one.decision for one in self.restrictions)
        return "allow" if self.is_allowed else None


class Judge:
    """Judges command lines by one policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._rules = policy.rules
        self._restricts = any(True for _ in self._rules.restricting())

    def script(self, script: str, shell: Sequence[str] = ()) -> Judgement:
        """Judge a script.

        Args:
            script: The script.
            shell: What runs it, such as `/bin/bash -lc`; rules may speak of that, too.
        """
        plain = read_plain(script)
        if plain is not None and (harmless := self._harmless(plain)):
            return harmless
        from ferrule_rules.lenient import read_all

        reading = read_all(script)
        plain = plain if reading.is_whole else None
        found = self._judged(reading, plain, script)
        if plain is not None or not shell:
            return found
        whole = FoundCommand((*shell, script), text=shlex.join((*shell, script)))
        more = tuple(
            Restriction(match.rule, whole, is_certain=True)
            for match in self._rules.matches((*shell, script), resolve=True)
            if match.rule.decision != "allow"
        )
        return found._replace(restrictions=(*found.restrictions, *more))

    def _harmless(self, plain: Sequence[PlainCommand]) -> Judgement | None:
        """Judge a script that only reads, where no rule restricts anything.

        Nothing else needs to be known about it, and what would find that out need not be loaded.
        """
        if self._restricts:
            return None
        segments = tuple(map(self._segment, plain))
        if not all(one.standing == "safe" for one in segments):
            return None
        commands = tuple(FoundCommand(tuple(one.argv)) for one in plain)
        return Judgement(commands, segments, (), ())

    def powershell(self, script: str) -> Judgement:
        """Judge a PowerShell script; none is ever allowed."""
        from ferrule_rules.powershell import read_powershell

        return self._judged(read_powershell(script), None, script)

    def argv(self, argv: Sequence[str]) -> Judgement:
        """Judge an argument list."""
        from ferrule_rules.lenient import read_argv

        return self._judged(read_argv(argv), [PlainCommand(tuple(argv))], "")

    def _judged(
        self, reading: Reading, plain: Sequence[PlainCommand] | None, script: str
    ) -> Judgement:
        from ferrule_rules.danger import script_danger

        segments = None if plain is None else tuple(map(self._segment, plain))
        restrictions = tuple(self._restrictions(reading)) if self._restricts else ()
        threats: list[Threat] = _threats(reading, segments or ())
        if script and (danger := script_danger(script)):
            threats.append(Threat(danger, FoundCommand((), text=script)))
        unread = "" if reading.is_whole else "it is too long or too deeply nested to be read"
        return Judgement(reading.commands, segments, restrictions, tuple(threats), unread)

    def _segment(self, command: PlainCommand) -> Segment:
        targets = [one.target for one in command.redirects if one.operator != "<"]
        for match in self._rules.matches(command.argv, resolve=True):
            is_allowing = match.rule.decision == "allow" and match.rule.covers_writes(targets)
            if is_allowing and (not match.resolved or self._is_real(match.resolved)):
                return Segment(command, "rule", match)
        writes = any(target not in ("/dev/null",) for target in targets)
        if not writes and is_known_safe(command.argv):
            return Segment(command, "safe")
        return Segment(command, "none")

    def _is_real(self, path: str) -> bool:
        """Whether a program's path is one that its name stands for."""
        name = path.rpartition("/")[2]
        if name in self._rules.hosts:
            return path in self._rules.hosts[name]
        return path.startswith(SYSTEM_FOLDERS)

    def _restrictions(self, reading: Reading) -> list[Restriction]:
        from ferrule_rules.loose import loose_matches

        found: list[Restriction] = []
        for command in reading.commands:
            targets = [one.target for one in command.redirects]
            for rule, is_certain in loose_matches(self._rules, command.argv):
                if rule.covers_writes(targets):
                    found.append(Restriction(rule, command, is_certain))
        return found


def _threats(reading: Reading, segments: Sequence[Segment]) -> list[Threat]:
    """Find what is dangerous and not named by an allowing rule, wrapped commands included."""
    from ferrule_rules.danger import danger_of

    allowed = {
        one.command.argv: len(one.match.words)
        for one in segments
        if one.standing == "rule" and one.match
    }
    found: list[Threat] = []
    outer = FoundCommand(())
    for command in reading.commands:
        if not command.wrapped_in:
            outer = command
        named = allowed.get(outer.argv, 0)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if not _is_named(command, outer, named) and (danger := danger_of(command)):
            found.append(Threat(danger, command))
    return found


def _is_named(command: FoundCommand, outer: FoundCommand, named: int) -> bool:
    """Whether the words that an allowing rule names tell of this very command.

    Allowing `sudo` does not allow `sudo rm -rf x`; allowing `sudo rm` does.
    """
    if not named or command is outer:
        return named > 0
    size = len(command.argv)
    if outer.argv[-size:] == command.argv:
        return named > len(outer.argv) - size
    return named == len(outer.argv) >= _SCRIPT_WORDS
