"""The hook: `ferrule doctor` says whether the policy works, before a session finds out."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from ferrule_hookspecs import PluginContext, hookimpl
from ferrule_hookspecs.hooks import Check

_PROGRAM: Final = "ferrule-opa-review"
_LIMIT_S: Final = 15  # less than what the hook has


@hookimpl
def ferrule_checks(context: PluginContext) -> list[Check]:
    """Try every policy that a reviewer `command` is configured with."""
    found = [_check(name, words) for name, words in _programs(context)]
    return found or [Check("opa.policy", "skip", f"no reviewer runs {_PROGRAM}")]


def _programs(context: PluginContext) -> Iterator[tuple[str, Sequence[str]]]:
    """List the reviewers `command` and `command:NAME` that run the program."""
    table = context.table("reviewers", "command")
    named = {f"command:{name}": value for name, value in table.items()}
    for name, settings in {"command": table, **named}.items():
        if isinstance(settings, Mapping):
            words = cast("Sequence[str]", settings.get("command") or ())
            if words and Path(words[0]).name == _PROGRAM:
                yield name, words


def _check(name: str, words: Sequence[str]) -> Check:
    id_ = f"opa.policy.{name}"
    try:
        tried = subprocess.run(
            [*words, "--check"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(id_, "fail", f"{words[0]} does not run: {error}", "install gallery-opa")
    if tried.returncode:
        return Check(id_, "fail", tried.stderr.strip(), f"correct the policy of {name}")
    return Check(id_, "ok", f"the policy of {name} works")
