"""What the user approved with `ferrule plugins trust`: `$FERRULE_HOME/approved-plugins.json`.

A safety file: where it is there and cannot be read, no plugin of others is used until it is mended,
so that what changed never counts as new. The index reads it, `trust.py` judges by it.
"""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
from ferrule.entry import Approval
from ferrule.home_file import home_of, locked, replace_text
from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from ferrule.entry import Entry

_FORMAT: Final = 1


class Approvals(NamedTuple):
    """All approvals, by the key of what was approved, and why they cannot be read."""

    given: Mapping[str, Approval]
    fault: str = ""

    def of(self, entry: Entry) -> Approval | None:
        """Return what was approved of an entry's distribution; None where nothing was."""
        if self.fault:
            return Approval(fault=self.fault)
        return self.given.get(approval_key(entry))


def approval_key(entry: Entry) -> str:
    """Name what is approved: a distribution, or the folder of a checkout named for a run."""
    return f"{entry.distribution} at {entry.location}" if entry.is_dev else entry.distribution


def approvals_file(environ: Mapping[str, str]) -> Path:
    """Return where approvals are kept."""
    return home_of(environ) / "approved-plugins.json"


def read_approvals(environ: Mapping[str, str]) -> Approvals:
    """Read the file; one that is there and cannot be understood is a fault, not an absence."""
    path = approvals_file(environ)
    try:
        with path.open("rb") as file:
            _require_ours(os.fstat(file.fileno()))
            return Approvals(_parsed(json.loads(file.read())))
    except FileNotFoundError:
        return Approvals({})
    except OSError as error:
        cause = error.strerror or str(error)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        cause = str(error) or type(error).__name__
    return Approvals(
        {},
        f"{path} says what you approved and cannot be read: {cause}; mend the file, or remove it"
        " and approve again with: ferrule plugins trust",
    )


def record_approval(
    entry: Entry, hooks: Iterable[str], when: str, environ: Mapping[str, str]
) -> None:
    """Remember that the user approved a distribution as it was shown to them.

    Args:
        entry: One of its entries, as it was shown.
        hooks: The hooks that the distribution serves, as far as they are known.
        when: The time, in UTC.
        environ: The process environment.

    Raises:
        PluginError: It cannot be written.
    """
    approval = Approval(
        entry.version,
        entry.record_hash,
        checkout_of(entry),
        when,
        tuple(sorted(set(hooks))),
        entry.manifest.guards,
    )
    _change(environ, lambda given: {**given, approval_key(entry): approval})


def forget_approvals(distribution: str, environ: Mapping[str, str]) -> None:
    """Forget what was approved of a distribution that the user removed.

    Raises:
        PluginError: It cannot be written.
    """
    if read_approvals(environ).given.get(distribution):
        _change(environ, lambda given: {k: v for k, v in given.items() if k != distribution})


def approval_fault(entry: Entry, *, is_required: bool) -> str:
    """Say why an entry may not be used as far as approvals go; empty when it may.

    Args:
        entry: An entry of a distribution of others.
        is_required: Whether nothing is used that was not approved.
    """
    if entry.distribution in BUILT_IN_DISTRIBUTIONS:
        return ""
    name, approval = entry.distribution, entry.approval
    command = (
        f"ferrule --dev-plugin {entry.location} plugins" if entry.is_dev else "ferrule plugins"
    )
    look = f"look: {command} show {name}; then: {command} trust {name}"
    if approval is None:
        if not is_required:
            return ""
        return f"plugins.require_trust is set and nobody approved {name}; {look}"
    if approval.fault:
        return approval.fault
    change = _change_since(approval, entry)
    return (
        f"changed since you approved it on {approval.when[:10]}: {change}; {look}" if change else ""
    )


def checkout_of(entry: Entry) -> str:
    """Return the folder that an entry's code runs from; empty for what was installed for good."""
    if entry.is_dev:
        return entry.location
    return entry.roots[0] if entry.is_editable else ""


def _change_since(approval: Approval, entry: Entry) -> str:
    """Say what differs from what was approved; of a checkout only its place is compared."""
    checkout = checkout_of(entry)
    if checkout != approval.checkout:
        now = f"it runs from the checkout {checkout}" if checkout else "it is installed"
        was = f"from the checkout {approval.checkout}" if approval.checkout else "installed"
        return f"{now}, it was {was}"
    if checkout:
        return ""
    if approval.version != entry.version:
        return f"version was {approval.version}, is {entry.version}"
    if approval.record_hash != entry.record_hash:
        return "contents differ in the same version"
    from ferrule.scan import changed_files

    changed = changed_files(entry)
    return f"edited after installation: {', '.join(changed)}" if changed else ""


def _require_ours(status: os.stat_result) -> None:
    """Refuse a file that somebody else could have written."""
    if os.name == "posix" and (
        status.st_uid not in (os.geteuid(), 0) or status.st_mode & stat.S_IWOTH
    ):
        raise ValueError("somebody else may write it")


def _parsed(document: object) -> dict[str, Approval]:
    table = cast("Mapping[str, object]", document)
    if table["format"] != _FORMAT:
        raise ValueError(f"its format is {table['format']!r}, not {_FORMAT}")
    given = cast("Mapping[str, Mapping[str, object]]", table["approved"])
    return {name: _approval(row) for name, row in given.items()}


def _approval(row: Mapping[str, object]) -> Approval:
    texts = [row[key] for key in ("version", "record_hash", "checkout", "when")]
    hooks = row["hooks"]
    if not isinstance(hooks, list):
        raise TypeError("hooks must be a list")
    if not all(isinstance(text, str) for text in [*texts, *cast("list[object]", hooks)]):
        raise TypeError("a value is of the wrong type")
    version, record_hash, checkout, when = cast("list[str]", texts)
    return Approval(
        version,
        record_hash,
        checkout,
        when,
        tuple(cast("list[str]", hooks)),
        row["guards"] is not False,
    )


def _change(
    environ: Mapping[str, str], change: Callable[[Mapping[str, Approval]], Mapping[str, Approval]]
) -> None:
    path = approvals_file(environ)
    try:
        with locked(path):
            before = read_approvals(environ)
            if before.fault:
                raise PluginError(before.fault)
            rows = {name: _row(a) for name, a in sorted(change(before.given).items())}
            replace_text(path, json.dumps({"format": _FORMAT, "approved": rows}, indent=1))
    except OSError as error:
        raise PluginError(f"{path} cannot be written: {error.strerror or error}") from error


def _row(approval: Approval) -> dict[str, object]:
    row = dict(approval._asdict())
    del row["fault"]
    return row
