"""The command line of `ferrule exec`: from strings to one frozen value."""

from __future__ import annotations

import argparse
import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from ferrule_exec.options import OPTION_STRINGS, OPTIONS
from ferrule_hookspecs.command_line import OptionParser, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Action = Literal["start", "resume", "fork", "review"]

USAGE = """\
ferrule exec [OPTIONS] [PROMPT]
       ferrule exec resume [OPTIONS] (ID | NAME | --last) [PROMPT]
       ferrule exec fork [OPTIONS] (ID | NAME) [PROMPT]
       ferrule exec review [OPTIONS] (--uncommitted | --base BRANCH | --commit SHA | PROMPT)"""

_ABOUT = """\
Runs one turn without a terminal interface. Progress goes to stderr, the last message to stdout;
with --json every event goes to stdout instead. Without PROMPT, or with -, the prompt is read from
stdin; where there is a prompt and stdin is not a terminal, what arrives there is appended to it
(if nothing arrives within a second, the turn starts without)."""

_EPILOG = """\
exit status: 0 the turn was completed, 1 it failed or was interrupted, 2 wrong usage"""

APPROVE_FOR_ME: Final = MappingProxyType(
    {
        "sandbox_mode": "workspace-write",
        "approval_policy": "on-request",
        "approvals_reviewer": "auto_review",
    }
)
"""What `--approve-for-me` comes to."""

_BYPASS: Final = "--dangerously-bypass-approvals-and-sandbox"


class Arguments(NamedTuple):
    """What a command line asks for.

    Attributes:
        action: Start a thread, resume one, fork one, or start one with a review of changes.
        target: Id or name of the thread to resume or fork; None with `last`.
        prompt: As given; None or `-` means stdin.
        last: Resume the last thread …
        everywhere: … of any folder.
        images: Absolute paths.
        cwd: Absolute working directory.
        extra_roots: Absolute paths of more writable folders.
        overrides: Texts of `-c`.
        flags: Configuration values of dedicated options, by dotted key.
        approval_given: Whether the command line says when to ask.
        approve_for_me: Whether a model is to review what needs approval.
        max_wait_s: How long to retry; None leaves it to the configuration.
        uncommitted: Review what is not committed …
        base: … or what was done since this branch was left …
        commit: … or this commit …
        title: … which is called this.
    """

    action: Action
    target: str | None
    prompt: str | None
    cwd: str
    last: bool = False
    everywhere: bool = False
    images: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    flags: Mapping[str, object] = MappingProxyType({})
    approval_given: bool = False
    approve_for_me: bool = False
    profile: str | None = None
    strict: bool = False
    ignore_user: bool = False
    trust: bool = False
    ephemeral: bool = False
    skip_git_check: bool = False
    json: bool = False
    output_file: str | None = None
    schema_file: str | None = None
    color: str = "auto"
    max_wait_s: float | None = None
    uncommitted: bool = False
    base: str | None = None
    commit: str | None = None
    title: str | None = None


def _parser() -> OptionParser:
    parser = OptionParser(
        "ferrule exec",
        usage=USAGE,
        description=_ABOUT,
        epilog=_EPILOG,
    )
    for title, options in OPTIONS.items():
        group = parser.add_argument_group(title)
        for names, settings in options:
            group.add_argument(*names, **settings)
    return parser


def help_text() -> str:
    """Return the text of `--help`."""
    return _parser().format_help()


def parse(argv: Sequence[str]) -> Arguments | None:
    """Parse a command line; None asks for help.

    Options may stand anywhere; what follows `--` is never an option nor a sub-command.

    Raises:
        UsageError: The message says what is wrong.
    """
    split = argv.index("--") if "--" in argv else len(argv)
    literal = list(argv[split + 1 :])
    # The parser knows no positional, so that those may stand between options in any order.
    found, loose = _parser().parse_known_args(list(argv[:split]))
    if found.help:
        return None
    for text in loose:
        if text.startswith("-") and text != "-" and " " not in text:
            raise UsageError(f"unexpected option {text!r}{_guess(text)}")
    action, target, prompt = _positionals(loose, literal, last=found.last)
    if (found.last or found.all) and action != "resume":
        raise UsageError("--last and --all belong to 'resume'")
    arguments = _arguments(found, action, target, prompt)
    from ferrule_exec.review_target import misuse

    if wrong := misuse(arguments):
        raise UsageError(wrong)
    return arguments


def _guess(text: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(text.partition("=")[0], OPTION_STRINGS, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _positionals(
    loose: list[str], literal: list[str], *, last: bool
) -> tuple[Action, str | None, str | None]:
    action: Action = "start"
    if loose and loose[0] in ("resume", "fork", "review"):
        action, loose = cast("Action", loose[0]), loose[1:]
    rest = [*loose, *literal]
    target = None
    if action in ("resume", "fork") and not last:
        if not rest:
            or_last = " or --last" if action == "resume" else ""
            raise UsageError(f"'{action}' needs a thread: its id, its name{or_last}")
        target = rest.pop(0)
    if len(rest) > 1:
        raise UsageError(f"unexpected argument {rest[1]!r}; quote a prompt that has spaces")
    return action, target, rest[0] if rest else None


def _arguments(
    found: argparse.Namespace, action: Action, target: str | None, prompt: str | None
) -> Arguments:
    here = os.getcwd()
    bypass = found.dangerously_bypass_approvals_and_sandbox
    if bypass and (found.sandbox or found.ask_for_approval):
        raise UsageError(f"{_BYPASS} excludes --sandbox and --ask-for-approval")
    if found.approve_for_me:
        _check_alone(found)
    return Arguments(
        action=action,
        target=target,
        prompt=prompt,
        cwd=os.path.abspath(found.cd) if found.cd else here,
        last=found.last,
        everywhere=found.all,
        images=tuple(os.path.join(here, path) for path in _image_paths(found.image)),
        extra_roots=tuple(os.path.abspath(path) for path in found.add_dir),
        overrides=tuple(found.config),
        flags=_flags(found),
        approval_given=bool(bypass or found.ask_for_approval or found.approve_for_me),
        approve_for_me=found.approve_for_me,
        profile=found.profile,
        strict=found.strict_config,
        ignore_user=found.ignore_user_config,
        trust=found.trust,
        ephemeral=found.ephemeral,
        skip_git_check=found.skip_git_repo_check or bypass,
        json=found.json,
        output_file=found.output_last_message,
        schema_file=found.output_schema,
        color=found.color,
        max_wait_s=found.max_wait,
        uncommitted=found.uncommitted,
        base=found.base,
        commit=found.commit,
        title=found.title,
    )


def _check_alone(found: argparse.Namespace) -> None:
    """Refuse whatever says otherwise than `--approve-for-me`, rather than let one of them win."""
    others = {
        "--sandbox": found.sandbox,
        "--ask-for-approval": found.ask_for_approval,
        _BYPASS: found.dangerously_bypass_approvals_and_sandbox,
    }
    for text in found.config:
        key = text.partition("=")[0].strip()
        if key.partition(".")[0] in APPROVE_FOR_ME:
            others[f"-c {key}"] = True
    if given := [name for name, value in others.items() if value]:
        meaning = ", ".join(f"{key} = {value}" for key, value in APPROVE_FOR_ME.items())
        raise UsageError(
            f"--approve-for-me excludes {' and '.join(given)}: it stands for {meaning}"
        )


def _flags(found: argparse.Namespace) -> dict[str, object]:
    flags: dict[str, object] = {f"features.{name}": True for name in found.enable}
    flags |= {f"features.{name}": False for name in found.disable}
    if found.model:
        flags["model"] = found.model
    for key, bound in _bounds(found).items():
        flags[f"budgets.turn.{key}"] = bound
    if found.oss or found.local_provider:
        flags["model_provider"] = found.local_provider or "oss"
    if found.overlay:
        flags["overlay"] = True
    if found.dangerously_bypass_hook_trust:
        flags["hooks.dangerously_bypass_trust"] = True
    if found.dangerously_bypass_approvals_and_sandbox:
        return flags | {"sandbox_mode": "danger-full-access", "approval_policy": "never"}
    if found.approve_for_me:
        return flags | APPROVE_FOR_ME
    if found.sandbox:
        flags["sandbox_mode"] = found.sandbox
    if found.ask_for_approval:
        flags["approval_policy"] = found.ask_for_approval
    return flags


def _bounds(found: argparse.Namespace) -> dict[str, float]:
    """What the run may spend."""
    bounds = {
        "tokens": found.max_tokens,
        "cost_usd": found.max_cost,
        "seconds": found.max_time,
    }
    return {key: bound for key, bound in bounds.items() if bound is not None}


def _image_paths(given: Sequence[str]) -> list[str]:
    """Split `a.png,b.png`, unless a file has that very name."""
    paths: list[str] = []
    for text in given:
        paths.extend([text] if "," not in text or os.path.exists(text) else text.split(","))
    return [path for path in paths if path]
