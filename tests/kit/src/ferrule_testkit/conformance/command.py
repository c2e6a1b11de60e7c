"""The suite for commands: words of `ferrule`, of `ferrule sandbox` and of `ferrule plugins`.

from ferrule_testkit import CommandConformance
from ferrule_acme.command import command

class TestCommand(CommandConformance):
    def make(self):
        return command
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, cast

import pytest

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_testkit.conformance.suite import Conformance, must

if TYPE_CHECKING:
    from ferrule_hookspecs.host import Host, RawCommand

_WHERE: Final = "host.RawCommand"


class CommandConformance(Conformance):
    """What every command has to do, be it a `RawCommand` or a Typer app.

    Attributes:
        takes_options: Whether it reads its options itself; one that hands its words to another
            program does not.
    """

    takes_options: ClassVar[bool] = True

    def make(self) -> object:
        """Name the command under test."""
        raise NotImplementedError("say with `make` which command is tested")

    def modules(self, context: PluginContext) -> Sequence[str]:
        """Where the command is defined; a Typer app does not say."""
        return () if _is_typer(self.make()) else (type(self.make()).__module__,)

    @pytest.fixture
    def host(self, context: PluginContext) -> Host:
        """As much of the `ferrule` command as is there before a configuration is read."""
        return cast("Host", _BareHost(context.home, dict(os.environ)))

    def test_it_says_in_one_line_what_it_is_for(self) -> None:
        made = self.make()
        if _is_typer(made):
            must(_typer_help(made), "the app or its callback has a help", "host.RawCommand.help")
            return
        text = getattr(made, "help", "")
        must(isinstance(text, str) and text.strip(), "there is a help", "host.RawCommand.help")
        must("\n" not in text.strip(), "it is one line", "host.RawCommand.help")

    def test_its_options_can_be_completed(self) -> None:
        made = self.make()
        if _is_typer(made):
            pytest.skip("Typer knows them")
        options = cast("Sequence[object]", getattr(made, "options", ()))
        fine = all(isinstance(each, str) and each and " " not in each for each in options)
        must(fine, f"options are single words: {options!r}", "host.RawCommand.options")

    def test_help_is_shown_and_nothing_is_done(
        self, host: Host, capfd: pytest.CaptureFixture[str]
    ) -> None:
        code = _run(self.make(), ["--help"], host)
        shown = capfd.readouterr().out
        must(code == 0, f"--help ends with 0, not {code}", _WHERE)
        must(shown.strip(), "--help is written to standard output", _WHERE)

    def test_what_it_does_not_know_is_an_error_in_words(
        self, host: Host, capfd: pytest.CaptureFixture[str]
    ) -> None:
        if not self.takes_options:
            pytest.skip("it reads no options")
        code = _run(self.make(), ["--no-such-option-of-anybody"], host)
        told = capfd.readouterr()
        must(code != 0, "an option nobody knows is an error", _WHERE)
        said = f"{told.err}{told.out}"
        must(said.strip(), "the error is told", _WHERE)
        must("Traceback" not in said, "it is told in words", _WHERE)


class _BareHost:
    """The `ferrule` command before anything of it was used."""

    version = "0"

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self.home = home
        self.environ = environ


def _is_typer(made: object) -> bool:
    return hasattr(made, "registered_commands")


def _typer_help(app: object) -> str:
    from typer.main import get_command

    return (get_command(app).help or get_command(app).short_help or "").strip()  # pyright: ignore[reportArgumentType] -- a Typer app, seen by `_is_typer`


def _run(made: object, words: Sequence[str], host: Host) -> int:
    """Run a command as `ferrule` does; what it raises for the user counts as told."""
    try:
        if _is_typer(made):
            from typer.main import get_command

            get_command(made).main(list(words), "command", obj=host)  # pyright: ignore[reportArgumentType] -- a Typer app, seen by `_is_typer`
            return 0
        return cast("RawCommand", made).main(list(words), host)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except FerruleError as error:
        import sys

        sys.stderr.write(f"{error}\n")
        return 1
