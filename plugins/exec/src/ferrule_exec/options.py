"""The options of `ferrule exec` as data: parsed by `arguments.py`, offered to shell completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ferrule_hookspecs.policies import APPROVAL_MODES, SANDBOX_MODES

if TYPE_CHECKING:
    from collections.abc import Callable

Option = tuple[tuple[str, ...], dict[str, Any]]

_FLAG: Final[dict[str, Any]] = {"action": "store_true"}


def _repeated(metavar: str, help_: str) -> dict[str, Any]:
    return {"action": "append", "default": [], "metavar": metavar, "help": help_}


def _flag(help_: str) -> dict[str, Any]:
    return {**_FLAG, "help": help_}


def _at_least(kind: Callable[[str], float]) -> Callable[[str], float]:
    """Take a number that is not below zero."""

    def read(text: str) -> float:
        number = kind(text)
        if not number >= 0:
            raise ValueError
        return number

    read.__name__ = "number" if kind is float else "whole number"
    return read


OPTIONS: Final[dict[str, tuple[Option, ...]]] = {
    "What runs": (
        (("-m", "--model"), {"metavar": "MODEL", "help": "model to use"}),
        (("--oss",), _flag("use the model server on this machine that `oss_provider` names")),
        (
            ("--local-provider",),
            {"metavar": "NAME", "help": "the same, naming it: ollama, lmstudio, llamacpp, vllm"},
        ),
        (
            ("-i", "--image"),
            {
                "action": "extend",
                "nargs": "+",
                "default": [],
                "metavar": "FILE",
                "help": "image files to send along; put -- before a prompt that follows",
            },
        ),
        (("-C", "--cd"), {"metavar": "DIR", "help": "working directory of the session"}),
        (("--ephemeral",), _flag("store nothing: the thread cannot be resumed")),
        (
            ("--max-wait",),
            {
                "type": float,
                "metavar": "SECONDS",
                "help": "give up when no answer came this long after the first reported retry",
            },
        ),
        (
            ("--max-tokens",),
            {
                "type": _at_least(int),
                "metavar": "N",
                "help": "end the turn when it and its subagents have used that many tokens",
            },
        ),
        (
            ("--max-cost",),
            {
                "type": _at_least(float),
                "metavar": "USD",
                "help": "the same in US dollars, by the prices of the model catalogue",
            },
        ),
        (
            ("--max-time",),
            {"type": _at_least(float), "metavar": "SECONDS", "help": "the same in time"},
        ),
    ),
    "What it may do": (
        (
            ("-s", "--sandbox"),
            {"choices": SANDBOX_MODES, "metavar": "MODE", "help": ", ".join(SANDBOX_MODES)},
        ),
        (
            ("-a", "--ask-for-approval"),
            {
                "choices": APPROVAL_MODES,
                "metavar": "WHEN",
                "help": f"{', '.join(APPROVAL_MODES)}; default: never, unless a reviewer other "
                "than the user is configured",
            },
        ),
        (
            ("--approve-for-me",),
            _flag("have a model review what needs approval, in the sandbox mode workspace-write"),
        ),
        (("--add-dir",), _repeated("DIR", "another folder that may be written; repeatable")),
        (
            ("--overlay",),
            _flag("change a view of the workspace only; see `ferrule changes` afterwards"),
        ),
        (
            ("--dangerously-bypass-approvals-and-sandbox", "--yolo"),
            _flag("no sandbox, no questions; for machines that are confined from outside"),
        ),
        (
            ("--dangerously-bypass-hook-trust",),
            _flag("run hooks that nobody has trusted, in this run"),
        ),
        (("--skip-git-repo-check",), _flag("allow a folder that is no Git repository")),
        (("--trust",), _flag("trust this project's configuration, now and later")),
    ),
    "Configuration": (
        (
            ("-c", "--config"),
            _repeated("KEY=VALUE", "set a configuration value, in TOML; repeatable"),
        ),
        (("-p", "--profile"), {"metavar": "NAME", "help": "use NAME.config.toml of the home"}),
        (("--enable",), _repeated("FEATURE", "switch a feature on; repeatable")),
        (("--disable",), _repeated("FEATURE", "switch a feature off; repeatable")),
        (("--strict-config",), _flag("unknown configuration keys are errors")),
        (("--ignore-user-config",), _flag("leave the user's configuration file out")),
    ),
    "What comes out": (
        (("--json", "--experimental-json"), _flag("one JSON event per line on stdout")),
        (
            ("-o", "--output-last-message"),
            {"metavar": "FILE", "help": "write the last message to FILE"},
        ),
        (
            ("--output-schema",),
            {"metavar": "FILE", "help": "JSON Schema that the last message must follow"},
        ),
        (
            ("--color",),
            {
                "choices": ("auto", "always", "never"),
                "default": "auto",
                "metavar": "WHEN",
                "help": "colours on stderr: auto, always, never",
            },
        ),
        (("-h", "--help"), _flag("show this help")),
    ),
    "What to review": (
        (("--uncommitted",), _flag("what is staged, changed or untracked")),
        (("--base",), {"metavar": "BRANCH", "help": "all since this branch was left"}),
        (("--commit",), {"metavar": "SHA", "help": "what this commit changes"}),
        (("--title",), {"metavar": "TEXT", "help": "how to call the commit"}),
    ),
    "Choosing a thread to resume": (
        (("--last",), _flag("the last thread of this folder")),
        (("--all",), _flag("with --last: of any folder")),
    ),
}

OPTION_STRINGS: Final[tuple[str, ...]] = tuple(
    name for group in OPTIONS.values() for names, _ in group for name in names
)
