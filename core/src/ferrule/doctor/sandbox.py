"""The sandbox: which backend commands run in and why, what it enforces, and whether it holds.

The last is tried out: a command is run in it, and another one tries to write where it must not.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast, get_args

import anyio

from ferrule.abandonable import AbandonableCall
from ferrule.backend_choice import accepted_gaps, explain_choice, needed_features
from ferrule.environment import command_environment
from ferrule.policy import mode_to_policy, resolve_policy
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.hooks import Check
from ferrule_hookspecs.sandbox import Command, Feature

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from ferrule.backend_choice import Explanation
    from ferrule.config.provenance import LoadedConfig
    from ferrule.doctor.examination import Examination
    from ferrule.manager import PluginManager
    from ferrule_hookspecs.sandbox import Capabilities, ResolvedPolicy, SandboxBackend
    from ferrule_hookspecs.tools import SandboxSession

_RUN_S: Final = 20.0
_WRITE: Final = ': > "$0"'
_REST: Final = ("sandbox.features", "sandbox.run", "sandbox.confinement")


async def checks(examination: Examination) -> AsyncIterator[Check]:
    """Look at the sandbox that commands would run in."""
    config, manager = examination.config, examination.manager
    if config is None or manager is None:
        for check_id in ("sandbox.choice", *_REST):
            yield Check(check_id, "skip", "the configuration cannot be used")
        return
    policy = resolve_policy(
        mode_to_policy(config.values, None),
        examination.cwd,
        environ=examination.environ,
        home=examination.kernel.home,
        config=config.values,
    )
    name = str(config.values.get("sandbox_backend") or "auto")

    def explain() -> list[Explanation]:
        return explain_choice(manager, name, examination.context, policy)

    explanations = await AbandonableCall(explain).run()
    yield _choice(explanations, policy)
    chosen = next((each.backend for each in explanations if each.verdict == "chosen"), None)
    if chosen is None or policy.unconfined:
        for check_id in _REST:
            yield Check(check_id, "skip", "commands run in no sandbox")
        return
    found = await AbandonableCall(lambda: _probe(manager, chosen, examination)).run()
    yield _features(chosen, found, policy, config)
    async for check in _tried(examination, config):
        yield check


def _choice(explanations: Sequence[Explanation], policy: ResolvedPolicy) -> Check:
    if policy.unconfined:
        return Check(
            "sandbox.choice",
            "warn",
            f"sandbox_mode is {policy.mode}: commands run with all your rights",
            "set sandbox_mode to workspace-write, unless something outside confines Ferrule",
        )
    reasons = "; ".join(f"{each.backend} is {each.verdict}: {each.reason}" for each in explanations)
    first = explanations[0].verdict if explanations else "not installed"
    if not any(each.verdict == "chosen" for each in explanations):
        return Check(
            "sandbox.choice",
            "fail",
            f"no sandbox serves {policy.mode}, so no command would run: {reasons}",
            "mend what is named first; the checks of the sandbox below tell how",
        )
    if first != "chosen":
        mend = "to get the better one, mend what is named first"
        return Check("sandbox.choice", "warn", f"for {policy.mode}: {reasons}", mend)
    return Check("sandbox.choice", "ok", f"for {policy.mode}: {reasons}")


def _probe(manager: PluginManager, name: str, examination: Examination) -> Capabilities:
    driver = manager.driver("ferrule.sandboxes", name, examination.context)
    return cast("SandboxBackend", driver).probe()


def _features(
    name: str, found: Capabilities, policy: ResolvedPolicy, config: LoadedConfig
) -> Check:
    """Say of every feature whether it is enforced; what was accepted not to be is still a gap."""
    every: tuple[Feature, ...] = get_args(Feature)
    enforced = ", ".join(each for each in every if each in found.enforced) or "nothing"
    open_ = [each for each in every if each not in found.enforced]
    text = f"{name} enforces {enforced}"
    if not open_:
        return Check("sandbox.features", "ok", text)
    text += f"; not {', '.join(open_)}"
    gaps = needed_features(policy) & accepted_gaps(config.values) & frozenset(open_)
    if gaps:
        mend = "take them out of sandbox_accept_gaps once a better sandbox works"
        text += f" (you accepted: {', '.join(sorted(gaps))})"
        return Check("sandbox.features", "warn", text, mend)
    if open_ == ["resources"]:  # has a check of its own, where something can be done about it
        return Check("sandbox.features", "ok", text)
    mend = "if that is too little, mend what keeps the better sandbox from working"
    return Check("sandbox.features", "warn", text, mend)


async def _tried(examination: Examination, config: LoadedConfig) -> AsyncIterator[Check]:
    try:
        sandbox = examination.kernel.sandbox(config, examination.cwd)
        code, output = await _run(sandbox, ("true",), examination)
    except (FerruleError, OSError, TimeoutError) as error:
        text = str(error) or f"a command did not end within {_RUN_S:g} s"
        yield Check("sandbox.run", "fail", text, "mend what is named there")
        yield Check("sandbox.confinement", "skip", "no command runs")
        return
    if code:
        text = f"the command `true` ended with exit code {code}: {output or 'it said nothing'}"
        yield Check("sandbox.run", "fail", text, "run it by hand: ferrule sandbox -- true")
    else:
        yield Check("sandbox.run", "ok", "a command ran in it")
    yield await _confinement(sandbox, examination)


async def _confinement(sandbox: SandboxSession, examination: Examination) -> Check:
    """Try to write where the policy forbids it and only the sandbox can prevent it."""
    target = _forbidden_place(sandbox, examination)
    if target is None:
        text = "you may write nowhere outside of the sandbox either"
        return Check("sandbox.confinement", "skip", text)
    try:
        code, _ = await _run(sandbox, ("/bin/sh", "-c", _WRITE, target), examination)
    except (FerruleError, OSError, TimeoutError) as error:
        text = str(error) or f"a command did not end within {_RUN_S:g} s"
        return Check("sandbox.confinement", "fail", text, "mend what is named there")
    if _take_away(target):
        return Check(
            "sandbox.confinement",
            "fail",
            f"a command wrote {target} although the policy forbids it: the sandbox does not hold",
            "use another sandbox_backend, and report this",
        )
    if code == 0:
        text = f"a command wrote {target} and succeeded, but only in a view of its own"
        return Check("sandbox.confinement", "ok", text)
    return Check("sandbox.confinement", "ok", f"writing to {os.path.dirname(target)} was refused")


def _take_away(path: str) -> bool:
    """Remove a file; returns whether it was there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _forbidden_place(sandbox: SandboxSession, examination: Examination) -> str | None:
    """Name a file that is not there, may be written by the user and not by a command."""
    name = f".ferrule-doctor-{os.getpid()}"
    user_home = examination.environ.get("HOME") or os.path.expanduser("~")
    for folder in (str(examination.kernel.home), user_home, examination.cwd, "/var/tmp"):  # noqa: S108 -- a place to be refused
        target = os.path.join(os.path.realpath(folder), name)
        is_mine = os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)
        if is_mine and not os.path.lexists(target) and sandbox.files.check("write", target):
            return target
    return None


async def _run(
    sandbox: SandboxSession, argv: tuple[str, ...], examination: Examination
) -> tuple[int, str]:
    """Run a command to its end; returns its exit code and what it said, in one line."""
    environment = command_environment(examination.context.config, examination.environ)
    output = b""
    with anyio.fail_after(_RUN_S):
        process = await sandbox.spawn(Command(argv, examination.cwd, environment))
        try:
            while chunk := await process.read():
                output += chunk
            code = await process.wait()
        finally:
            process.kill()
    return code, " ".join(output.decode("utf-8", "replace").split())
