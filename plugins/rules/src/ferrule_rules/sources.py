"""Which files of rules there are, and what all of them say together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_rules.rule_file import Flaw, RuleFile, read_rules
from ferrule_rules.rule_set import RuleSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext

AMENDED: Final = "default.rules"
"""The file that accepted amendments are added to."""


class Policy(NamedTuple):
    """All rules that count.

    Attributes:
        rules: The rules.
        flaws: What is wrong with files.
        files: What was read, in order.
        notes: What else the user should know.
    """

    rules: RuleSet
    flaws: tuple[Flaw, ...] = ()
    files: tuple[RuleFile, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def hidden(self) -> Flaw | None:
        """A flaw that may hide a rule which asks or forbids."""
        return next((flaw for flaw in self.flaws if flaw.may_restrict), None)


class Places(NamedTuple):
    """Where rules are looked for."""

    folders: tuple[Path, ...]
    requirements: Path | None = None
    untrusted: tuple[Path, ...] = ()


def places_of(context: PluginContext) -> Places:
    """The places that count for a session: the administrator's, the user's, the project's.

    What lies in a project that is not trusted is not read: a rule file is a program.
    """
    own = (context.admin / "rules", context.home / "rules")
    found = _project_folder(context.project_root)
    project = (found,) if found else ()
    requirements = context.admin / "requirements.toml"
    if context.is_trusted:
        return Places((*own, *project), requirements)
    return Places(own, requirements, project)


def _project_folder(root: str) -> Path | None:
    """The project's rules; `.codex/` counts where there is no `.ferrule/`."""
    if not root:
        return None
    name = next((name for name in (".ferrule", ".codex") if os.path.isdir(f"{root}/{name}")), "")
    folder = Path(root, name, "rules")
    return folder if name and folder.is_dir() else None


class Source:
    """The rules of some places, read again when a file changes."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._read: dict[str, tuple[object, RuleFile]] = {}
        self._stamps: object = None
        self.version = 0
        self._policy = Policy(RuleSet())

    def policy(self) -> Policy:
        """All rules as they are now."""
        stamps = self._look()
        if stamps != self._stamps:
            self._stamps = stamps
            self.version += 1
            self._policy = self._load(stamps)
        return self._policy

    def _look(self) -> dict[str, object]:
        files: list[str] = []
        for folder in self._places.folders:
            files += rule_files(folder)
        if self._places.requirements is not None:
            files.append(str(self._places.requirements))
        stamps = {file: _stamp(file) for file in files}
        return {file: stamp for file, stamp in stamps.items() if stamp is not None}

    def _load(self, stamps: dict[str, object]) -> Policy:
        self._read = {
            file: known
            if (known := self._read.get(file)) is not None and known[0] == stamp
            else (stamp, read_file(file))
            for file, stamp in stamps.items()
        }
        notes = tuple(
            f"the rules in {folder} are not read, because the project is not trusted"
            for folder in self._places.untrusted
        )
        return together([found for _, found in self._read.values()], notes)


def together(files: Sequence[RuleFile], notes: tuple[str, ...] = ()) -> Policy:
    """Combine files; the order does not matter, because the strictest rule wins."""
    rules = RuleSet()
    for found in files:
        rules.merge(found.usable())
    flaws = tuple(flaw for found in files for flaw in found.flaws)
    return Policy(rules, flaws, tuple(files), notes)


def rule_files(folder: Path) -> list[str]:
    """The files of a folder that hold rules, sorted."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".rules"))
    except OSError:
        return []
    return [str(folder / name) for name in names]


def read_file(path: str) -> RuleFile:
    """Read one file; one that cannot be read at all may hold any rule."""
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return RuleFile(path, flaws=[Flaw(path, 1, 1, f"it cannot be read: {error}")])
    if path.endswith(".toml"):
        from ferrule_rules.required_front import read_required

        return read_required(path, text)
    return read_rules(path, text)


def _stamp(path: str) -> object:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return str(error)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
