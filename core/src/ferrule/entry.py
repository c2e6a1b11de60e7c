"""One entry point of a plugin, with what was found out about it without importing it here.

The index makes entries, the probe fills in what an import showed, and the manager, the dispatcher
and the command line read them.
"""

from __future__ import annotations

from typing import NamedTuple

from ferrule_hookspecs.manifest import Manifest


class Probe(NamedTuple):
    """What importing an entry in a child process showed.

    Attributes:
        ok: Whether the import gave something usable.
        fault: Why not, in one line.
        hooks: Hooks the module serves.
        import_ms: How long the import took.
        help: Help line of a command.
        options: Option strings of a command, for completion.
        before: Plugins this one wants to be called before.
        after: Plugins this one wants to be called after.
        is_outermost: Whether it wants to be called before all others.
        file: The file it was imported from.
        settings: What is known of the table it lets users configure, as JSON.
        deprecated: What it uses that will be gone, one sentence each.
    """

    ok: bool
    fault: str = ""
    hooks: tuple[str, ...] = ()
    import_ms: float = 0.0
    help: str = ""
    options: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    is_outermost: bool = False
    file: str = ""
    settings: str = ""
    deprecated: tuple[str, ...] = ()


class Approval(NamedTuple):
    """What the user approved of a distribution with `ferrule plugins trust`.

    Attributes:
        version: The version that was approved.
        record_hash: Hash over what it was made of.
        checkout: The folder it ran from; its contents were not part of the approval.
        when: When it was approved, in UTC.
        hooks: The hooks it served.
        guards: Whether it said of itself that it guards.
        fault: Why nobody can tell what was approved; empty when it is known.
    """

    version: str = ""
    record_hash: str = ""
    checkout: str = ""
    when: str = ""
    hooks: tuple[str, ...] = ()
    guards: bool = False
    fault: str = ""


class Entry(NamedTuple):
    """An entry point.

    Attributes:
        group: The entry-point group.
        name: The entry point's name: the plugin's name.
        target: `module` or `module:attribute`.
        distribution: Normalised name of the distribution.
        version: The distribution's version.
        location: Its metadata folder, or the checkout of a development plugin.
        summary: The distribution's one-line description.
        publisher: Who its metadata says made it.
        requires_hookspecs: The version specifier on `ferrule-hookspecs`.
        record_hash: Hash over what the installed distribution is made of.
        roots: The only folders its code may come from.
        import_path: Folder that must be on the import path; empty when it is there already.
        is_editable: Whether the distribution is installed in editable mode.
        is_dev: Whether it was named with `--dev-plugin` for this run.
        first_seen: When this distribution was first seen, in UTC.
        changed: How it differs from what was first seen; empty when it does not.
        stamp: Fingerprint under which a probe's result stays valid.
        probe: What the probe showed; None before it.
        off: Why the command line switched it off for this run; empty when it did not.
        manifest: What its package says about itself.
        manifest_fault: Why that cannot be read; empty when it can, or there is nothing.
        approval: What the user approved of its distribution; None where nothing was.
        requires_python: The version specifier on Python.
    """

    group: str
    name: str
    target: str
    distribution: str
    version: str
    location: str
    summary: str = ""
    publisher: str = ""
    requires_hookspecs: str = ""
    record_hash: str = ""
    roots: tuple[str, ...] = ()
    import_path: str = ""
    is_editable: bool = False
    is_dev: bool = False
    first_seen: str = ""
    changed: str = ""
    stamp: str = ""
    probe: Probe | None = None
    off: str = ""
    manifest: Manifest = Manifest()
    manifest_fault: str = ""
    approval: Approval | None = None
    requires_python: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Group, name and distribution."""
        return self.group, self.name, self.distribution

    @property
    def ok(self) -> bool | None:
        """Whether the probe found it usable; None before the probe."""
        return None if self.probe is None else self.probe.ok

    @property
    def fault(self) -> str:
        """Why it cannot be used, in one line; empty when nothing is known against it."""
        return "" if self.probe is None else self.probe.fault

    @property
    def hooks(self) -> tuple[str, ...]:
        """The hooks it serves, as the probe found."""
        return () if self.probe is None else self.probe.hooks

    @property
    def deprecated(self) -> tuple[str, ...]:
        """What it uses that will be gone, one sentence each."""
        return () if self.probe is None else self.probe.deprecated

    @property
    def import_ms(self) -> float:
        """How long its import took in the probe, in milliseconds."""
        return 0.0 if self.probe is None else self.probe.import_ms

    @property
    def help(self) -> str:
        """Help line of a command, else the distribution's description."""
        return (self.probe.help if self.probe else "") or self.summary

    @property
    def options(self) -> tuple[str, ...]:
        """Option strings of a command, for completion."""
        return () if self.probe is None else self.probe.options

    @property
    def file(self) -> str:
        """Where its code is, as far as known."""
        return (self.probe.file if self.probe else "") or self.location

    @property
    def label(self) -> str:
        """The plugin with its origin, for messages."""
        return f"plugin {self.name!r} ({self.distribution} {self.version}, {self.file})"

    @property
    def mend(self) -> str:
        """What a user can do when this plugin fails."""
        if self.is_dev:
            return "mend the checkout, or leave out --dev-plugin"
        return (
            f"update or uninstall {self.distribution}, or go on without it: --no-plugin {self.name}"
        )
