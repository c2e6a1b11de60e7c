"""`ferrule network`: explains what the proxy would decide, lists rules, presets and the log.

Loaded only when the command runs. Exit codes of `check`: 0 allowed, 10 asks, 11 refused, 1 error.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host
    from ferrule_network.rule import Target
    from ferrule_network.settings import Settings

EXIT_CODES: Final = {"allow": 0, "ask": 10, "deny": 11}
_PORTS: Final = {"http": 80, "https": 443, "socks5": 1080}


class NetworkCommand:
    """The command line around the policy of the network."""

    help = "Explain what commands may reach through the network proxy."
    options: Sequence[str] = ("check", "list", "log", "presets")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run a sub-command."""
        arguments = _parser().parse_args(list(argv))
        actions = {"check": _check, "list": _list, "log": _log, "presets": _presets}
        chosen = actions.get(arguments.action)
        if chosen is None:
            _parser().print_help()
            return 1
        return chosen(arguments, host)


command = NetworkCommand()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ferrule network", description=NetworkCommand.help)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    check = actions.add_parser("check", help="tell what is decided about an address")
    check.add_argument("url", metavar="URL", help="such as https://host or socks5://host:22")
    check.add_argument("--method", default="GET", help="the method of a request by http")
    check.add_argument("--resolve", action="store_true", help="look the name up, too")
    actions.add_parser("list", help="list the rules that count here")
    log = actions.add_parser("log", help="show what commands did through the proxy")
    log.add_argument("--json", action="store_true", help="one JSON object per line")
    log.add_argument("--thread", default="", metavar="ID", help="of one thread only")
    log.add_argument("--refused", action="store_true", help="what was refused only")
    log.add_argument(
        "--last", type=int, default=100, metavar="N", help="how many records; 0 for all"
    )
    actions.add_parser("presets", help="list the presets and their hosts")
    return parser


def _settings(host: Host) -> Settings:
    from ferrule_hookspecs.host import ConfigRequest
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_network.settings import settings_of

    cwd = os.getcwd()
    config = host.config(ConfigRequest(cwd))
    return settings_of(
        PluginContext(
            host.home,
            config.values,
            cwd,
            environ=host.environ,
            project_root=config.project_root,
            is_trusted=config.is_trusted,
        )
    )


def _check(arguments: argparse.Namespace, host: Host) -> int:
    settings = _settings(host)
    target = _target(arguments.url, arguments.method, settings)
    judgement = settings.judge(target)
    decision, why = judgement.decision, judgement.why
    obstacle = _obstacle(target, settings, resolve=arguments.resolve) if decision != "deny" else ""
    if obstacle:
        decision, why = "deny", obstacle
    word = {"allow": "is allowed", "ask": "needs approval", "deny": "is refused"}[decision]
    sys.stdout.write(f"{target} {word}: {why}\n")
    return EXIT_CODES[decision]


def _target(url: str, method: str, settings: Settings) -> Target:
    from ferrule_network.host import TargetError, split_authority
    from ferrule_network.rule import Target

    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in _PORTS:
        raise TargetError(f"{url!r} is no address; it begins with http://, https:// or socks5://")
    authority, slash, path = rest.partition("/")
    found, port = split_authority(authority, _PORTS[scheme])
    if scheme == "socks5":
        return Target(found, port, "socks5_tcp")
    target = Target(found, port, "http" if scheme == "http" else "https")
    if scheme == "https" and not settings.interception.covers(found):
        return target
    path = (slash + path).partition("?")[0].partition("#")[0]
    return target._replace(method=method.upper(), path=path or "/")


def _obstacle(target: Target, settings: Settings, *, resolve: bool) -> str:
    """Say which address of the target the proxy would not connect to."""
    import anyio

    from ferrule_hookspecs.errors import FerruleError
    from ferrule_network.gate import look_up

    addresses = [target.host.address] if target.host.address is not None else []
    if resolve and not addresses:
        try:
            addresses = list(anyio.run(look_up, target.host.text, target.port))
        except OSError:
            raise FerruleError(f"{target.host} cannot be found; check its name") from None
    for address in addresses:
        obstacle = settings.reach.obstacle(address)
        if obstacle:
            return f"{address} is {obstacle}, which only `local_addresses` of [network] opens"
    return ""


def _list(arguments: argparse.Namespace, host: Host) -> int:
    settings = _settings(host)
    policy = settings.policy
    for rule in policy.rules:
        sys.stdout.write(f"{rule}  ({rule.place})\n")
    for opened in settings.interception.hosts:
        sys.stdout.write(f"intercept {opened.host}  ({opened.place})\n")
    for secret in settings.interception.secrets:
        sys.stdout.write(
            f"inject {secret.header} host:{secret.where.host}  ({secret.where.place})\n"
        )
    for flaw in policy.flaws:
        sys.stderr.write(f"warning: {flaw}\n")
    return 1 if policy.flaws else 0


def _log(arguments: argparse.Namespace, host: Host) -> int:
    from ferrule_network.log_listing import list_log

    return list_log(arguments, host)


def _presets(arguments: argparse.Namespace, host: Host) -> int:
    from ferrule_network.presets import PRESETS

    for name, hosts in PRESETS.items():
        sys.stdout.write(f"{name}: {', '.join(hosts)}\n")
    return 0
