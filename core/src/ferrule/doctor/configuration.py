"""The configuration: which files count, what they warn of, trust, the administrator's rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule.config.provenance import LoadedConfig
    from ferrule.doctor.examination import Examination

_UNKNOWN = "the configuration cannot be used"


def checks(examination: Examination) -> Iterator[Check]:
    """Look at the configuration."""
    from ferrule.config.load import ADMIN_FOLDER

    config = examination.config
    if config is None:
        yield Check("config.files", "fail", examination.fault, "correct what is named there")
        yield Check("config.warnings", "skip", _UNKNOWN)
        yield Check("config.trust", "skip", _UNKNOWN)
        yield Check("config.plugins", "skip", _UNKNOWN)
    else:
        yield _files(config, examination.kernel.home)
        yield _warnings(config)
        yield _trust(config)
        yield _plugins(config, examination)
    yield requirements_check(ADMIN_FOLDER)


def _files(config: LoadedConfig, home: Path) -> Check:
    files = [f"{layer.file} ({layer.name})" for layer in config.layers if layer.file]
    others = [layer for layer in config.layers[1:] if layer.values and not layer.file]
    if not files:
        text = f"no file; the defaults count, and {home / 'config.toml'} would be yours"
    else:
        text = f"read, later ones win: {', '.join(files)}"
    if others:
        text += f"; also set by {', '.join(layer.source or layer.name for layer in others)}"
    return Check("config.files", "ok", text)


def _warnings(config: LoadedConfig) -> Check:
    warnings = [each for each in config.warnings if "is not trusted" not in each]
    if not warnings:
        return Check("config.warnings", "ok", "every key is known and none is ignored")
    return Check(
        "config.warnings",
        "warn",
        "; ".join(warnings),
        "correct these keys; `ferrule config explain KEY` tells what counts",
    )


def _plugins(config: LoadedConfig, examination: Examination) -> Check:
    """Have the tables of plugins checked, in processes of their own."""
    from ferrule.config.tables import SETTINGS_PATH, table_at
    from ferrule.plugin_config import check_tables

    tables = table_at(config.values, *SETTINGS_PATH)
    if not tables:
        return Check("config.plugins", "ok", "no plugin is configured in plugins.settings")
    try:
        check_tables(config, examination.host.index)
    except ConfigError as error:
        return Check("config.plugins", "fail", str(error), "correct what is named there")
    return Check("config.plugins", "ok", f"plugins take their settings: {', '.join(tables)}")


def _trust(config: LoadedConfig) -> Check:
    root = config.project_root
    if config.is_trusted:
        return Check("config.trust", "ok", f"you trust the project {root}")
    for warning in config.warnings:
        if "is not trusted" in warning:
            text, _, mend = warning.partition("; ")
            return Check("config.trust", "warn", text, mend)
    text = f"you do not trust the project {root}; it has no configuration that would be left out"
    return Check("config.trust", "ok", text)


def requirements_check(folder: Path) -> Check:
    """Look at the administrator's rules in a folder."""
    from ferrule.config.requirements import read_requirements

    try:
        rules = read_requirements(folder)
    except ConfigError as error:
        return Check("config.requirements", "fail", str(error), "ask the administrator to mend it")
    if rules is None:
        return Check("config.requirements", "skip", f"no {folder / 'requirements.toml'}")
    keys = ", ".join(sorted(rules.values)) or "nothing"
    return Check("config.requirements", "ok", f"{rules.file} constrains {keys}")
