"""Brings the configuration over: `config.toml`, profile files and the old profile tables.

What Ferrule's own loader refuses is left out and told. A file is written only after the loader has
read the new text.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_import_codex.files import write_whole
from ferrule_import_codex.key_notes import GONE, PATH_KEYS, find_note, matches
from ferrule_import_codex.merging import choose
from ferrule_import_codex.report import Area, Finding, Status
from ferrule_import_codex.source import CodexHome, UnreadableError
from ferrule_import_codex.tables import Table, as_table, join_key, leaves, lookup, place, remove
from ferrule_import_codex.toml_text import merged, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ferrule_hookspecs.host import Host
    from ferrule_import_codex.tables import KeyPath

_LARGEST: Final = 4 << 20
_ENDING: Final = ".config.toml"
_FLAG: Final = "command-line flag: "
_MODES: Final = {":workspace": "workspace-write", ":danger-full-access": "danger-full-access"}
_NOT_WRITTEN: Final = "the file could not be written"
_TRIAL: Final = ".import-check"
_ENVIRONMENT: Final = ("shell_environment_policy", "ignore_default_excludes")


@dataclass(slots=True)
class _Plan:
    """What is to become of one file's keys."""

    dropped: list[KeyPath] = field(default_factory=list["KeyPath"])
    changed: list[tuple[KeyPath, object]] = field(default_factory=list["tuple[KeyPath, object]"])
    findings: dict[KeyPath, Finding] = field(default_factory=dict["KeyPath", Finding])

    def give_up(self) -> None:
        """Tell that nothing is taken over after all."""
        for path, finding in self.findings.items():
            if finding.status != "left":
                self.findings[path] = Finding("config", finding.name, "left", _NOT_WRITTEN)


@dataclass(frozen=True, slots=True)
class SettingsImport:
    """Merges Codex's configuration files into Ferrule's.

    Attributes:
        source: The Codex home.
        host: Checks keys and tells where `$FERRULE_HOME` is.
        areas: `config`, `mcp` or both.
        parts: Names of the installed plugins.
        overwrite: Replace values that differ.
        allow_dangerous: Take over what switches the sandbox off.
        dry_run: Write nothing.
    """

    source: CodexHome
    host: Host
    areas: frozenset[str]
    parts: frozenset[str]
    overwrite: bool = False
    allow_dangerous: bool = False
    dry_run: bool = False

    def run(self) -> Iterator[Finding]:
        """Bring every file over."""
        if self.source.has("config.toml"):
            yield from self._file("config.toml")
        if "config" in self.areas:
            for name in self.source.top():
                if name.endswith(_ENDING) and name != _ENDING:
                    yield from self._file(name)

    def lasting_provider(self) -> str:
        """Return the provider that served Codex and will serve Ferrule; empty when it changes.

        Told the same before the import and after it.
        """
        theirs = self._values(self._theirs)
        values = self._values(self._own)
        if "config" in self.areas:
            choice = choose(values, theirs, overwrite=self.overwrite)
            for path in choice.cleared:
                remove(values, path)
            for path in choice.taken:
                place(values, path, lookup(theirs, path))
        chosen, former = (str(table.get("model_provider", "openai")) for table in (values, theirs))
        is_same = chosen == former and _address(values, chosen) == _address(theirs, chosen)
        return chosen if is_same else ""

    def _values(self, read: Callable[[], str]) -> Table:
        """Read a configuration; one that cannot be read is told of elsewhere."""
        try:
            return tomllib.loads(read())
        except (UnreadableError, OSError, ValueError):
            return {}

    def _theirs(self) -> str:
        return self.source.read("config.toml", limit=_LARGEST).decode("utf-8-sig")

    def _file(self, name: str) -> Iterator[Finding]:
        try:
            text = self.source.read(name, limit=_LARGEST).decode("utf-8-sig")
            values = tomllib.loads(text)
        except UnreadableError as error:
            yield Finding("config", name, "failed", f"not read: {error}")
            return
        except ValueError as error:  # bad UTF-8 or bad TOML
            yield Finding("config", name, "failed", f"no valid TOML: {error}")
            return
        profiles = as_table(values.pop("profiles", None)) or {}
        place_in = "" if name == "config.toml" else f"{name}: "
        yield from self._bring(name, without(text, [("profiles",)], ()), values, place_in)
        if "config" in self.areas:
            for profile, table in profiles.items():
                yield from self._old_profile(profile, as_table(table) or {})

    def _old_profile(self, profile: str, table: Table) -> Iterator[Finding]:
        import tomlkit

        label = join_key(("profiles", profile))
        if not profile or Path(profile).name != profile or profile.startswith("."):
            yield Finding("config", label, "left", "its name cannot name a file")
            return
        target = f"{profile}{_ENDING}"
        if self.source.has(target):
            yield Finding("config", label, "left", f"Codex reads {target} instead")
            return
        note = f"now the file {target}; use it with `--profile {profile}`"
        yield Finding("config", label, "changed", note)
        yield from self._bring(target, tomlkit.dumps(table), table, f"{label}.")

    def _bring(self, target: str, text: str, values: Table, label: str) -> Iterator[Finding]:
        """Judge every key of one file and merge what is taken over into its counterpart."""
        plan = self._plan(values, is_main=target == "config.toml")
        try:
            self._merge(target, without(text, plan.dropped, plan.changed), plan)
        except (ConfigError, OSError, ValueError) as error:
            yield Finding("config", target, "failed", f"nothing of it is taken over: {error}")
            plan.give_up()
        for path, finding in plan.findings.items():
            area: Area = "mcp" if path[0] == "mcp_servers" else "config"
            yield Finding(area, f"{label}{finding.name}", finding.status, finding.note)

    def _plan(self, values: Table, *, is_main: bool) -> _Plan:
        plan = _Plan()
        refused = dict(self._refused(values))
        for path, value in leaves(values):
            if ("mcp" if path[0] == "mcp_servers" else "config") not in self.areas:
                plan.dropped.append(path)
                continue
            status, text, drops = self._judge(path, value, refused)
            plan.findings[path] = Finding("config", join_key(path), status, text)
            if drops:
                plan.dropped.append(path)
            elif (new := self._absolute(path, value)) != value:
                plan.changed.append((path, new))
        if is_main and "config" in self.areas:
            self._stand_in(values, plan)
        return plan

    def _judge(
        self, path: KeyPath, value: object, refused: Mapping[KeyPath, str]
    ) -> tuple[Status, str, bool]:
        """Tell what becomes of a key: its status, why, and whether it is kept out."""
        note = find_note(path, value, self.parts)
        if path[0] == "profile":
            return "changed", note.text if note else "", True
        if note is not None and note.status == "left":
            return "left", note.text, True
        if path[0] in GONE:
            return "left", f"no longer a key: {GONE[path[0]]}", True
        for length in range(1, len(path) + 1):
            if path[:length] in refused:
                return "left", refused[path[:length]], True
        if note is None:
            status = "changed" if self._absolute(path, value) != value else "taken"
            return status, "" if status == "taken" else "its path is written out", False
        if note.drops and not self.allow_dangerous:
            return note.status, note.text, True
        return note.status, note.text, False

    def _stand_in(self, values: Table, plan: _Plan) -> None:
        """Put what keeps the meaning in place of what is not taken over, never anything wider."""
        profile = values.get("default_permissions")
        if isinstance(profile, str) and "sandbox_mode" not in values:
            mode = _MODES.get(profile, "read-only")
            is_open = mode == "danger-full-access"
            if is_open and not self.allow_dangerous:
                mode = "workspace-write"
            text = f"{mode!r} stands for the permission profile {profile!r}"
            finding = Finding("config", "sandbox_mode", "danger" if is_open else "changed", text)
            plan.findings["sandbox_mode",] = finding
            plan.changed.append((("sandbox_mode",), mode))
        if lookup(values, _ENVIRONMENT) is None:
            text = (
                "not set: Codex gives commands every variable, here those whose names look like"
                " secrets are kept out; `true` gives them, too"
            )
            finding = Finding("config", join_key(_ENVIRONMENT), "changed", text)
            plan.findings[_ENVIRONMENT] = finding

    def _absolute(self, path: KeyPath, value: object) -> object:
        """Write out a path that is looked up from the folder of its file."""
        if path == ("skills", "config") and isinstance(value, list):
            return [self._skill(entry) for entry in value]
        if not isinstance(value, str) or not any(matches(key, path) for key in PATH_KEYS):
            return value
        if not value or value.startswith("~") or os.path.isabs(value):
            return value
        return str(self.source.root / value)

    def _skill(self, entry: object) -> object:
        table = as_table(entry)
        if table is None:
            return entry
        paths = ("skills", "config", "*")
        return {key: self._absolute((*paths, key), value) for key, value in table.items()}

    def _refused(self, values: Table, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
        """Yield the keys that Ferrule's loader does not accept, with its words."""
        for key, value in values.items():
            here = (*path, key)
            reason = self._refusal(here, value)
            if not reason:
                continue
            inner = dict(self._refused(table, here)) if (table := as_table(value)) else {}
            if inner:
                yield from inner.items()
            else:
                yield here, reason

    def _refusal(self, path: KeyPath, value: object) -> str:
        flags: dict[str, object] = {join_key(path): value}
        if path == ("model_provider",):
            flags["model_providers"] = self._known_providers()
        request = ConfigRequest(cwd=os.sep, flags=flags, strict=True, ignore_user=True)
        try:
            self.host.config(request)
        except ConfigError as error:
            return str(error).removeprefix(_FLAG).splitlines()[0]
        return ""

    def _known_providers(self) -> Table:
        """Collect the providers that will be known, under any of whose names one may be chosen."""
        known: Table = {}
        for read in (self._own, self._theirs):
            known |= as_table(self._values(read).get("model_providers")) or {}
        return {name: {"name": name} for name in known if name != "openai"}

    def _own(self) -> str:
        return (self.host.home / "config.toml").read_text(encoding="utf-8")

    def _merge(self, name: str, text: str, plan: _Plan) -> None:
        """Write the merged file, once Ferrule itself has read it."""
        file = self.host.home / name
        own_text = file.read_text(encoding="utf-8") if file.exists() else ""
        choice = choose(tomllib.loads(own_text), tomllib.loads(text), overwrite=self.overwrite)
        for path in choice.present:
            plan.findings[path] = Finding("config", join_key(path), "present")
        for path in choice.kept:
            note = "--overwrite takes Codex's"
            plan.findings[path] = Finding("config", join_key(path), "kept", note)
        if not choice.taken:
            return
        new_text = merged(without(own_text, choice.cleared, ()), text, choice.taken)
        if self.dry_run or new_text == own_text:
            return
        self._check(new_text)
        backup = write_whole(file.resolve(), new_text.encode())
        if backup is not None:
            note = f"the former {name} was kept as {backup.name}"
            plan.findings["", name] = Finding("config", name, "changed", note)

    def _check(self, text: str) -> None:
        """Have the loader read a text in the place where it will stand.

        Raises:
            ConfigError: It would not be read.
        """
        file = self.host.home / f"{_TRIAL}{_ENDING}"
        file.unlink(missing_ok=True)
        write_whole(file, text.encode())
        try:
            self.host.config(ConfigRequest(cwd=os.sep, profile=_TRIAL, ignore_user=True))
        finally:
            file.unlink()


def _address(values: Table, provider: str) -> object:
    if provider == "openai":
        return values.get("openai_base_url")
    return lookup(values, ("model_providers", provider, "base_url"))
