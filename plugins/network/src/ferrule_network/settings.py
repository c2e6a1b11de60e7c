"""What `[network]` of the configuration and the files of rules come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from ferrule_hookspecs.errors import ConfigError
from ferrule_network.addresses import Reach, reach_from
from ferrule_network.interception import Interception, interception_of
from ferrule_network.policy import Judgement, Policy
from ferrule_network.presets import preset_rules
from ferrule_network.rule import NetworkRule, build_rule, parse_rule
from ferrule_network.rule_files import read_folders, rule_folders

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_network.rule import Decision, Target


class Settings(NamedTuple):
    """What a proxy is given.

    Attributes:
        policy: What is decided about hosts.
        reach: Which addresses may be connected to.
        interception: Which tunnels are opened.
    """

    policy: Policy
    reach: Reach
    interception: Interception = Interception()

    def judge(self, target: Target) -> Judgement:
        """Decide about a target; a host whose tunnels are opened has no others."""
        if target.is_tunnel and self.interception.covers(target.host):
            why = (
                "`intercept` of [network.tls] names it, so that only https by CONNECT, which is"
                " looked into, leads there"
            )
            return Judgement("deny", "", why, "interception")
        return self.policy.judge(target)


def settings_of(
    context: PluginContext, presets: Sequence[str] = (), rules: Sequence[str] = ()
) -> Settings:
    """Read the configuration and the rule files of a session.

    Args:
        context: The session's.
        presets: More presets that count.
        rules: More rules that count, as lines.

    Raises:
        ConfigError: `[network]` holds something that cannot be used.
    """
    table = context.table("network")
    files = read_folders(rule_folders(context))
    named = (*_texts(table, "presets"), *presets)
    found = [
        *(rule for name in dict.fromkeys(named) for rule in preset_rules(name)),
        *(parse_rule(line, "rules of [network]") for line in _texts(table, "rules")),
        *(parse_rule(line, "the command's permissions") for line in rules),
        *files.rules,
    ]
    reach = reach_from(_opened(table))
    interception = interception_of(table)
    unknown: Decision = "ask" if table.get("unknown") == "ask" else "deny"
    policy = Policy(tuple(found), files.flaws, unknown, _bounds(table))
    return Settings(policy, reach, interception)


def _bounds(table: Mapping[str, object]) -> tuple[NetworkRule, ...] | None:
    """The hosts that may be opened at all; None where there are no bounds."""
    if "only_hosts" not in table and "only_presets" not in table:
        return None
    named = (rule for name in _texts(table, "only_presets") for rule in preset_rules(name))
    patterns = (
        build_rule("allow", {"host": host}, "only_hosts of [network]")
        for host in _texts(table, "only_hosts")
    )
    return (*named, *patterns)


def _opened(table: Mapping[str, object]) -> Sequence[str]:
    """The addresses beyond the public internet that are opened, within their bounds.

    Raises:
        ConfigError: One of them lies outside.
    """
    wanted = _texts(table, "local_addresses")
    if "only_local_addresses" not in table:
        return wanted
    bounds = reach_from(_texts(table, "only_local_addresses"))
    for one, network in zip(wanted, reach_from(wanted).extra, strict=True):
        if not bounds.holds(network):
            raise ConfigError(
                f"local_addresses of [network] holds {one!r}, which lies outside of"
                " `only_local_addresses`; take it out"
            )
    return wanted


def _texts(table: Mapping[str, object], key: str) -> Sequence[str]:
    value = table.get(key, ())
    texts = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else None
    if texts is None or not all(isinstance(text, str) for text in texts):
        raise ConfigError(f"{key} of [network] must be a list of texts, not {value!r}")
    return cast("Sequence[str]", texts)
