"""`ferrule hooks`: shows in words what hooks will run, and trusts them or trusts them no more."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ferrule_hooks.handler import Handler
    from ferrule_hooks.trust import TrustRules
    from ferrule_hookspecs.host import Host
    from ferrule_hookspecs.plugins import PluginContext

_USAGE: Final = """\
usage: ferrule hooks list [--json]
       ferrule hooks trust (NUMBER... | --all)
       ferrule hooks untrust (NUMBER... | --all)

Hooks are programs that run at the events of a session, outside of the sandbox. `list` shows all
that are configured for this folder, each with a number. A hook runs only once you trust it, and
trust ends when its definition changes, or a file of the project that its command names.
"""
_WRONG_USAGE: Final = 2
_WORDS: Final = {
    "trusted": "trusted",
    "untrusted": "NOT TRUSTED, does not run",
    "changed": "CHANGED since it was trusted, does not run",
    "off": "switched off",
}


class HooksCommandError(FerruleError):
    """The command cannot do what it was asked."""


class HooksCommand:
    """The sub-command, a `RawCommand`."""

    help = "Show, trust and untrust the hooks of hooks.json."
    options: Sequence[str] = ("list", "trust", "untrust", "--all", "--json", "--help")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after `hooks`; returns the exit code."""
        action, *rest = argv or ["list"]
        if action in ("-h", "--help") or {"-h", "--help"} & set(rest):
            sys.stdout.write(_USAGE)
            return 0
        allowed = {"list": ("--json",), "trust": ("--all",), "untrust": ("--all",)}.get(action)
        if allowed is None or any(not w.isdigit() and w not in allowed for w in rest):
            sys.stderr.write(f"error: {' '.join(['hooks', *argv])!r} is not understood\n\n{_USAGE}")
            return _WRONG_USAGE
        listing = _Listing(host)
        if action == "list":
            sys.stdout.write(listing.as_json() if rest else listing.as_text())
            return 0
        chosen = listing.chosen(rest)
        if action == "trust":
            listing.trust(chosen)
        else:
            listing.untrust(chosen)
        return 0


command = HooksCommand()


class _Listing:
    """All hooks of a folder with their numbers."""

    def __init__(self, host: Host) -> None:
        from ferrule_hooks.sources import read_handlers
        from ferrule_hooks.trust import TrustRules

        context = _context(host)
        self.handlers: list[Handler] = read_handlers(context)
        self.rules: TrustRules = TrustRules(context)

    def as_text(self) -> str:
        """Describe every hook."""
        if not self.handlers:
            return "No hooks are configured here.\n"
        return "\n".join(self._described(n, h) for n, h in enumerate(self.handlers, 1))

    def as_json(self) -> str:
        """List every hook for programs."""
        rows = [
            {
                "number": number,
                "event": handler.event,
                "matcher": handler.matcher,
                "type": handler.kind,
                "runs": _runs(handler),
                "file": handler.source.file,
                "from": handler.source.standing,
                "key": handler.key,
                "hash": handler.trust_hash(),
                "state": self.rules.state(handler),
                "on_error": handler.on_error,
                "timeout": handler.timeout_s,
            }
            for number, handler in enumerate(self.handlers, 1)
        ]
        return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"

    def chosen(self, words: Sequence[str]) -> list[Handler]:
        """Return the hooks that the arguments name."""
        if words == ["--all"]:
            found = self.handlers
        elif words and "--all" not in words:
            numbers = [int(word) for word in words]
            unknown = [n for n in numbers if not 1 <= n <= len(self.handlers)]
            if unknown:
                raise HooksCommandError(
                    f"there is no hook {unknown[0]}; `ferrule hooks list` shows the numbers"
                )
            found = [self.handlers[number - 1] for number in numbers]
        else:
            raise HooksCommandError("say which hooks: their numbers, or --all")
        return [handler for handler in found if handler.source.standing != "administrator"]

    def trust(self, handlers: Sequence[Handler]) -> None:
        """Trust hooks and say what that means."""
        self.rules.store.add(handlers)
        self._say("These hooks are trusted now and will run:", handlers)

    def untrust(self, handlers: Sequence[Handler]) -> None:
        """Trust hooks no more."""
        self.rules.store.remove(handlers)
        self._say("These hooks are not trusted any more:", handlers)
        still = [handler for handler in handlers if self.rules.state(handler) == "trusted"]
        if still:
            sys.stderr.write(
                "warning: hooks.state of config.toml still trusts: "
                + ", ".join(handler.key for handler in still)
                + "\n"
            )

    def _say(self, what: str, handlers: Iterable[Handler]) -> None:
        texts = [self._described(self.handlers.index(each) + 1, each) for each in handlers]
        sys.stdout.write("\n".join([f"{what}\n", *texts]) if texts else "No hook was named.\n")

    def _described(self, number: int, handler: Handler) -> str:
        facts = handler.facts
        only = f" ({handler.matcher})" if facts.subject and handler.matcher else ""
        files = "".join(f"\n     with {file}" for file in handler.named_files())
        how = " without being waited for" if handler.is_async else ""
        return (
            f"{number:>3}. {_capital(facts.when)}{only}: {_WORDS[self.rules.state(handler)]}\n"
            f"     runs {_runs(handler)}{how}{files}\n"
            f"     {_rights(handler)}; it {facts.power}"
            f"{_failing(handler)}\n"
            f"     from {handler.place}\n"
        )


def _runs(handler: Handler) -> str:
    if handler.kind == "http":
        return f"a request to {handler.target}"
    if handler.kind == "python":
        return f"the function {handler.target} of an installed package"
    if handler.kind in ("prompt", "agent"):
        model = f"the model {handler.model}" if handler.model else "the session's model"
        return f"a question to {model}: {handler.target}"
    if handler.kind == "mcp_tool":
        return f"the tool {handler.target} with {json.dumps(handler.arguments)}"
    return " ".join([handler.target, *(handler.args or ())])


def _rights(handler: Handler) -> str:
    if handler.kind == "prompt":
        return "what happens is sent to that model, which can do nothing but answer"
    if handler.kind == "agent":
        return "what happens is sent to that model, which can read files of the project"
    if handler.kind == "mcp_tool":
        return "as a call of this session: rules, approvals and reviewers hold for it"
    return "outside of the sandbox, with your rights"


def _failing(handler: Handler) -> str:
    return "; its failure refuses" if handler.on_error == "block" else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _context(host: Host) -> PluginContext:
    from ferrule_hookspecs.host import ConfigRequest
    from ferrule_hookspecs.plugins import PluginContext

    cwd = os.getcwd()
    config = host.config(ConfigRequest(cwd=cwd))
    return PluginContext(
        host.home,
        config.values,
        cwd,
        environ=host.environ,
        project_root=config.project_root,
        is_trusted=config.is_trusted,
        warn=_warn,
    )


def _warn(message: str) -> None:
    sys.stderr.write(f"warning: {message}\n")
