"""What `ferrule plugins check` looks at, and what it finds."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Level = Literal["error", "warning"]

RULES: Final[dict[str, str]] = {
    "metadata.name": "the project has a name that installers understand",
    "metadata.version": "the project has a version",
    "metadata.description": "the project says in one sentence what it is",
    "metadata.license": "the licence is chosen",
    "metadata.author": "an author is named, whom users are shown before they trust it",
    "metadata.python": "requires-python says which versions of Python it needs",
    "metadata.readme": "there is a README",
    "names.group": "entry points are in groups that Ferrule knows",
    "names.form": "names of entry points are small letters, digits and underscores",
    "names.taken": "no name is reserved or belongs to another installed distribution",
    "names.module": "every entry point names a module that is there",
    "contract.range": "the dependency on ferrule-hookspecs has a lower and an upper bound",
    "contract.fits": "the installed ferrule-hookspecs is within these",
    "docs.readme": "the README shows the plugin's name, to turn it on",
    "docs.docstrings": "public classes and functions of the plugin's module say what they are",
    "manifest.form": "ferrule.toml can be read",
    "manifest.environment": "variables the code reads are declared in ferrule.toml",
    "manifest.hosts": "hosts the code names are declared in ferrule.toml",
    "code.syntax": "every file can be parsed",
    "code.kernel": "nothing of the kernel is imported",
    "code.plugins": "no other plugin is imported",
    "code.private": "no private name of the contract is used",
    "import.works": "every entry point can be imported",
    "import.object": "it is what its group asks for, under the same name",
    "import.quiet": "an import prints nothing",
    "import.effects": "an import opens no connection, starts no process and changes no file",
    "import.time": "an import takes less than 100 ms of processor time beside the contract",
    "hooks.valid": "every hook exists, is marked, and takes arguments that it is given",
    "hooks.deprecated": "no hook takes an argument that is about to go",
    "settings.single": "there is one table of settings at most",
    "settings.defaults": "settings are valid where the user sets nothing",
    "typing.marker": "the package has py.typed",
    "wheel.builds": "a wheel can be built",
    "wheel.contents": "the wheel holds the modules, ferrule.toml and py.typed, and no tests",
    "tests.present": "there are tests",
    "tests.conformance": "a conformance suite of ferrule-testkit is among them",
}
"""Every rule, with what it asks for."""


class Finding(NamedTuple):
    """Something that breaks a rule.

    Attributes:
        rule: One of `RULES`.
        level: Whether the check fails by it.
        place: A file, with the line where that is known, or what else it is about.
        message: What was found, one sentence.
        mend: What to do about it.
    """

    rule: str
    level: Level
    place: str
    message: str
    mend: str


def error(rule: str, place: object, message: str, mend: str) -> Finding:
    """Make a finding that the check fails by."""
    return Finding(rule, "error", str(place), message, mend)


def warning(rule: str, place: object, message: str, mend: str) -> Finding:
    """Make a finding that is only told."""
    return Finding(rule, "warning", str(place), message, mend)
