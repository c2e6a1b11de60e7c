"""Decides which plugins may be loaded at all, from configuration and metadata, before any import.

The manager calls `judge` with every entry of the index. Nothing here imports a plugin; what is not
plainly allowed is refused with a reason that says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from ferrule.approval_record import approval_fault
from ferrule.catalog import BUILT_IN_DISTRIBUTIONS, distribution_of
from ferrule.compatibility import compatibility_fault
from ferrule.index import is_named
from ferrule.versions import normal_name, satisfies, split_requirement
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.slots import COMMAND_GROUP, PLUGIN_COMMAND_GROUP, SANDBOX_COMMAND_GROUP

if TYPE_CHECKING:
    from ferrule.entry import Approval, Entry

_COMMANDS: Final = (COMMAND_GROUP, PLUGIN_COMMAND_GROUP, SANDBOX_COMMAND_GROUP)
State = Literal["active", "disabled", "blocked", "untrusted", "incompatible", "clash", "broken"]


class Standing(NamedTuple):
    """How a plugin stands: whether it may be used, and if not, why."""

    entry: Entry
    state: State = "active"
    reason: str = ""


class Pin(NamedTuple):
    """A distribution as a policy names it; version and hash are optional."""

    name: str
    version: str = ""
    hash: str = ""
    reason: str = ""


class Governance(NamedTuple):
    """What the configuration says about plugins.

    Attributes:
        disabled: Plugins or distributions not to use.
        required: Plugins or distributions that must be present and working.
        overrides: `group:name` to the distribution that may take the name.
        allow: Third-party distributions that may be used; None allows all.
        block: Distributions that may not be used.
        require_trust: Whether nothing of others is used that was not approved.
    """

    disabled: Sequence[str] = ()
    required: Sequence[str] = ()
    overrides: Mapping[str, str] = MappingProxyType({})
    allow: Sequence[Pin] | None = None
    block: Sequence[Pin] = ()
    require_trust: bool = False


def governance_of(values: Mapping[str, object]) -> Governance:
    """Read the table `plugins` of a configuration.

    Raises:
        ConfigError: A value is not of the form that can be obeyed.
    """
    table = values.get("plugins", {})
    if not isinstance(table, Mapping):
        raise ConfigError("plugins must be a table")
    plugins = cast("Mapping[str, object]", table)
    overrides = plugins.get("overrides", {})
    if not isinstance(overrides, Mapping):
        raise ConfigError('plugins.overrides must be a table such as {"group:name" = "dist"}')
    allow = plugins.get("allow")
    return Governance(
        disabled=_texts(plugins, "disabled"),
        required=_texts(plugins, "required"),
        overrides={
            str(key): normal_name(str(value))
            for key, value in cast("Mapping[object, object]", overrides).items()
        },
        allow=None if allow is None else _pins(allow, "plugins.allow"),
        block=_pins(plugins.get("block", ()), "plugins.block"),
        require_trust=_flag(plugins, "require_trust"),
    )


def judge(
    entries: Sequence[Entry], governance: Governance, *, contract_version: str
) -> list[Standing]:
    """Tell for every entry whether it may be imported, clashes settled."""
    faults: dict[tuple[str, str, Approval | None], str] = {}

    def trust_fault(entry: Entry) -> str:  # looks at the files of a distribution only once
        key = entry.distribution, entry.location, entry.approval
        if key not in faults:
            faults[key] = _trust_fault(entry, governance)
        return faults[key]

    standings = [_judge_alone(e, governance, contract_version, trust_fault) for e in entries]
    rivals: dict[tuple[str, str], list[Entry]] = {}
    for standing in standings:
        if standing.state == "active":
            entry = standing.entry
            rivals.setdefault((entry.group, entry.name), []).append(entry)
    winners = {key: _winner(found, governance) for key, found in rivals.items()}
    return [
        _judge_clash(standing, winners[standing.entry.group, standing.entry.name], governance)
        if standing.state == "active"
        else standing
        for standing in standings
    ]


def with_faults(standings: Sequence[Standing]) -> list[Standing]:
    """Take out of use what failed in the probe."""
    return [_with_fault(standing) for standing in standings]


def _with_fault(standing: Standing) -> Standing:
    entry = standing.entry
    if standing.state != "active" or entry.ok is not False:
        return standing
    from ferrule.overview import missing_library

    is_ours = entry.group in _COMMANDS and entry.distribution in BUILT_IN_DISTRIBUTIONS
    if is_ours and (library := missing_library(entry.fault)):
        return Standing(entry, "disabled", f"it needs {library}, which is not installed")
    return Standing(entry, "broken", entry.fault)


def required_faults(standings: Sequence[Standing], governance: Governance) -> list[str]:
    """Say which required plugins cannot be relied on, one sentence each."""
    faults = (_required_fault(item, standings) for item in governance.required)
    return [fault for fault in faults if fault]


def is_required(entry: Entry, governance: Governance) -> bool:
    """Tell whether the configuration requires a plugin."""
    names = [split_requirement(item)[0] for item in governance.required]
    return is_named(entry, names)


def _judge_alone(
    entry: Entry,
    governance: Governance,
    contract_version: str,
    trust_fault: Callable[[Entry], str],
) -> Standing:
    if entry.off:
        return Standing(entry, "disabled", f"switched off by {entry.off}")
    if is_named(entry, governance.disabled):
        return Standing(entry, "disabled", "listed in plugins.disabled")
    blocked = next((pin for pin in governance.block if _matches_pin(entry, pin)), None)
    if blocked is not None:
        return Standing(entry, "blocked", blocked.reason or "listed in plugins.block")
    if fault := trust_fault(entry):
        return Standing(entry, "untrusted", fault)
    if entry.manifest_fault:
        return Standing(entry, "broken", entry.manifest_fault)
    if fault := compatibility_fault(entry, contract_version):
        return Standing(entry, "incompatible", fault)
    return Standing(entry)


def _trust_fault(entry: Entry, governance: Governance) -> str:
    """Say why nothing of an entry's distribution is trusted; empty when it is."""
    if fault := _allow_fault(entry, governance.allow):
        return fault
    fault = approval_fault(entry, is_required=governance.require_trust)
    return fault if fault and not is_pinned(entry, governance.allow) else ""


def _matches_pin(entry: Entry, pin: Pin) -> bool:
    """Tell whether a block names an entry; one that cannot be read counts as naming it."""
    if pin.name != entry.distribution and pin.name != normal_name(entry.name):
        return False
    if pin.hash and pin.hash != entry.record_hash:
        return False
    try:
        return satisfies(entry.version, _specifier(pin.version))
    except ValueError:
        return True


def _allow_fault(entry: Entry, allow: Sequence[Pin] | None) -> str:
    if allow is None:
        return ""
    pins = [pin for pin in allow if pin.name == entry.distribution]
    if not pins:
        is_ours = entry.distribution in BUILT_IN_DISTRIBUTIONS
        return "" if is_ours else f"{entry.distribution} is not listed in plugins.allow"
    faults = [_pin_fault(entry, pin) for pin in pins]
    return "" if "" in faults else faults[0]


def is_pinned(entry: Entry, allow: Sequence[Pin] | None) -> bool:
    """Tell whether `plugins.allow` names exactly what is installed, which approves it."""
    return any(
        pin.hash and pin.name == entry.distribution and not _pin_fault(entry, pin)
        for pin in allow or ()
    )


def _pin_fault(entry: Entry, pin: Pin) -> str:
    try:
        fits = satisfies(entry.version, _specifier(pin.version))
    except ValueError as error:
        return f"plugins.allow cannot be obeyed: {error}"
    if not fits:
        return f"plugins.allow wants {pin.name} {pin.version}, installed is {entry.version}"
    if not pin.hash:
        return ""
    if entry.is_editable or entry.is_dev:
        return f"plugins.allow pins {pin.name} by hash, but it runs from a checkout"
    from ferrule.scan import changed_files

    if pin.hash != entry.record_hash:
        return f"the hash of {pin.name} is {entry.record_hash}, not the one in plugins.allow"
    changed = changed_files(entry)
    return f"files of {pin.name} were changed: {', '.join(changed)}" if changed else ""


def _specifier(version: str) -> str:
    return f"=={version}" if version[:1].isdigit() else version


def _winner(rivals: Sequence[Entry], governance: Governance) -> Entry | None:
    """Choose who holds a name: the override, else the reserved owner, else the first seen."""
    group, name = rivals[0].group, rivals[0].name
    by_distribution = {entry.distribution: entry for entry in rivals}
    chosen = governance.overrides.get(f"{group}:{name}")
    if chosen in by_distribution:
        return by_distribution[chosen]
    owner = distribution_of(group, name)
    if owner is not None:
        return by_distribution.get(owner)
    return min(rivals, key=lambda entry: (entry.first_seen or "~", entry.distribution))


def _judge_clash(standing: Standing, winner: Entry | None, governance: Governance) -> Standing:
    entry = standing.entry
    if winner == entry:
        return standing
    holder = winner.distribution if winner else distribution_of(entry.group, entry.name)
    key = f"{entry.group}:{entry.name}"
    if governance.overrides.get(key) == holder:
        return Standing(entry, "clash", f"plugins.overrides gives {key} to {holder}")
    return Standing(
        entry,
        "clash",
        f"the name {key} belongs to {holder}; to use {entry.distribution} instead, set "
        f'plugins.overrides = {{"{key}" = "{entry.distribution}"}}',
    )


def _required_fault(item: str, standings: Sequence[Standing]) -> str:
    name, specifier = split_requirement(item)
    found = [standing for standing in standings if is_named(standing.entry, [name])]
    if not found:
        return (
            f"the required plugin {item!r} is not installed; install it or change plugins.required"
        )
    for entry, state, reason in found:
        try:
            is_fit = satisfies(entry.version, specifier)
        except ValueError as error:
            return f"plugins.required names {item!r}, which cannot be read: {error}"
        if not is_fit:
            return (
                f"the required plugin {item!r} is installed in version {entry.version} only; "
                f"upgrade {entry.distribution}"
            )
        is_beaten_namesake = state == "clash" and normal_name(name) != entry.distribution
        if state != "active" and not (is_beaten_namesake and _has_holder(entry, found)):
            return f"the required {entry.label} cannot be used: it is {state}: {reason}"
    return ""


def _has_holder(entry: Entry, standings: Sequence[Standing]) -> bool:
    """Tell whether somebody else has the name of an entry, and is used."""
    key = entry.group, entry.name
    return any((s.entry.group, s.entry.name) == key and s.state == "active" for s in standings)


def _texts(table: Mapping[str, object], key: str) -> Sequence[str]:
    value = table.get(key, ())
    if not isinstance(value, (list, tuple)):
        raise ConfigError(f"plugins.{key} must be a list of names")
    return [str(item) for item in cast("Sequence[object]", value)]


def _flag(table: Mapping[str, object], key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise ConfigError(f"plugins.{key} must be true or false")
    return value


def _pins(value: object, key: str) -> list[Pin]:
    if not isinstance(value, (list, tuple)):
        raise ConfigError(f"{key} must be a list of names or tables with name, version and hash")
    return [_pin(item, key) for item in cast("Sequence[object]", value)]


def _pin(item: object, key: str) -> Pin:
    if isinstance(item, str):
        try:
            name, version = split_requirement(item)
        except ValueError as error:
            raise ConfigError(f"{key}: {error}") from None
        return Pin(normal_name(name), version)
    if not isinstance(item, Mapping) or "name" not in item:
        raise ConfigError(f"{key}: every table needs a name")
    table = cast("Mapping[str, object]", item)
    return Pin(
        normal_name(str(table["name"])),
        str(table.get("version", "")),
        str(table.get("hash", "")),
        str(table.get("reason", "")),
    )
