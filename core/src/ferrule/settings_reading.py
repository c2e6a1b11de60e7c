"""Reads the table of one plugin with the plugin's own model, and words what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.config.check import Problem, show, suggestion
from ferrule.config.provenance import placed
from ferrule.config.tables import MISSING, Table, is_table, join_key, lookup, table_at
from ferrule.settings_model import RefusedSettingsError
from ferrule_hookspecs.errors import ConfigError, PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule.settings_declaration import Declaration
    from ferrule.settings_model import Refusal
    from ferrule_hookspecs.host import Config


class WrongSettingsError(ConfigError):
    """The table of a plugin cannot be used."""

    def __init__(self, declaration: Declaration, problems: Sequence[Problem]) -> None:
        self.declaration = declaration
        self.problems = problems
        super().__init__(_told(declaration, [each.text + each.hint for each in problems]))

    def placed(self, config: Config) -> ConfigError:
        """Word it with file and line of everything that is wrong."""
        texts = [placed(problem, config) for problem in self.problems]
        return ConfigError(_told(self.declaration, texts))


def read_settings(
    declaration: Declaration,
    values: Mapping[str, object],
    ask: Callable[[Mapping[str, object]], Mapping[str, object]],
) -> Mapping[str, object]:
    """Return what a plugin is given of the configuration.

    Args:
        declaration: What the plugin declares.
        values: The effective configuration.
        ask: Asks the plugin's model about a table; not called where defaults are known and do.

    Raises:
        WrongSettingsError: The table cannot be used.
    """
    table = table_at(values, *declaration.path)
    if not table and declaration.defaults is not None:
        return declaration.defaults
    try:
        return ask(table)
    except RefusedSettingsError as refused:
        problems = [_problem(declaration, each, table) for each in refused.refusals]
        raise WrongSettingsError(declaration, problems) from None
    except PluginError as error:
        text = f"`{join_key(declaration.path)}` cannot be read: {error}"
        raise WrongSettingsError(declaration, [Problem(declaration.path, text)]) from error


def _problem(declaration: Declaration, refusal: Refusal, table: Table) -> Problem:
    path = (*declaration.path, *refusal.path)
    key = join_key(path)
    if refusal.is_missing:
        around = path[:-1]
        return Problem(around, f"`{join_key(around)}` lacks the key `{path[-1]}`")
    if refusal.is_unknown:
        known = _properties(declaration.field(refusal.path[:-1]))
        hint = suggestion(path[-1], known, path[:-1])
        return Problem(path, f"unknown configuration key `{key}`", False, hint)
    if declaration.is_secret(refusal.path):
        return Problem(path, f"`{key}` has a value that is not accepted; it is not shown here")
    value = lookup(table, refusal.path)
    is_shown = value is not MISSING and not is_table(value) and not declaration.hides(refusal.path)
    wrong = f", not {show(value)}" if is_shown else ""
    return Problem(path, f"`{key}`: {refusal.text}{wrong}")


def _properties(schema: Table | None) -> Table:
    return table_at(schema or {}, "properties")


def _told(declaration: Declaration, texts: Sequence[str]) -> str:
    mend = (
        f"these are settings of {declaration.owner}; mend them, or go on without it: "
        f"--no-plugin {declaration.entry.distribution}"
    )
    return "\n".join([*texts, mend])
