"""Options, variables and operands whose value is a command line that a program runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_rules.reading import Word

RUN_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "su": ("-c", "--command", "--session-command"),
    "runuser": ("-c", "--command"),
    "script": ("-c", "--command"),
    "nix-shell": ("--run", "--command"),
    "scp": ("-S", "-o"),
    "sftp": ("-S", "-o", "-D"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "man": ("-P", "--pager"),
    "split": ("--filter",),
    "sort": ("--compress-program",),
    "rg": ("--pre", "--hostname-bin"),
    "entr": ("-s",),
    "zip": ("-TT", "--unzip-command"),
    "nc": ("-e", "-c"),
    "ncat": ("-e", "-c", "--exec", "--sh-exec"),
    "netcat": ("-e", "-c"),
    "npm": ("-c", "--call"),
    "npx": ("-c", "--call"),
    "nix": ("-c", "--command"),
    "xterm": ("-e",),
    "konsole": ("-e",),
    "cargo": ("--config",),
    "vagrant": ("-c", "--command"),
    "gcloud": ("--command",),
    "ansible": ("-a", "--args"),
    "make": ("SHELL", "--eval"),
    "gmake": ("SHELL", "--eval"),
    "tar": ("-I", "-F", "--use-compress-program", "--to-command", "--rsh-command",
            "--checkpoint-action", "--info-script", "--new-volume-script"),
    "bsdtar": ("--use-compress-program",),
    "git": ("-x", "--exec", "--extcmd", "-u", "--upload-pack", "--receive-pack", "-O",
            "--open-files-in-pager", "--tree-filter", "--index-filter", "--msg-filter",
            "--env-filter", "--commit-filter", "--tag-name-filter", "--parent-filter"),
    "ssh": ("-o",),
    "aws": ("--parameters",),
    "gnome-terminal": ("-e", "--command"),
    "socat": (),
}  # fmt: skip
"""Programs, and their options of that kind; `NAME=` is one, too."""
_RUN_VARIABLES: Final = re.compile(
    r"(?:GIT_(?:SSH|SSH_COMMAND|PAGER|EDITOR|SEQUENCE_EDITOR|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND)"
    r"|SSH_ASKPASS|SUDO_ASKPASS|(?:MAN|SYSTEMD_|AWS_|GH_|DELTA_|BAT_)?PAGER|EDITOR|VISUAL|BROWSER"
    r"|GH_EDITOR|GH_BROWSER|LESSOPEN|LESSCLOSE|PROMPT_COMMAND|RSYNC_RSH|CVS_RSH|FCEDIT|TAR_OPTIONS"
    r"|RUSTC_WRAPPER|RUSTC|CC|CXX|SHELL)"
)
_SHORT: Final = re.compile(r"-[A-Za-z]")
_BEFORE_COMMAND: Final = re.compile(
    r"(?:exec=|(?:Proxy|Local|KnownHosts|Remote)Command[= ]\s*|(?:EXEC|SYSTEM):|commands="
    r"|alias\.[\w-]+\s*=\s*|pipe:)[\"'\[]*!?",
    re.I,
)
_GIT_REMOTE: Final = re.compile(r"ext::(.+)", re.S)


def option_scripts(name: str, argv: Sequence[Word]) -> Iterator[Word]:
    """Yield command lines that options give to a program; None for one that is not known."""
    for at, word in enumerate(argv[1:], 1):
        if word is None:
            continue
        for option in RUN_OPTIONS[name]:
            value = _value(option, word, argv[at + 1] if at + 1 < len(argv) else "")
            if value != "":
                yield _command(value)
        if name == "git" and (found := _GIT_REMOTE.match(word)):
            yield found[1].replace("% ", " ")
        elif name in ("socat", "aws") and (found := _BEFORE_COMMAND.search(word)):
            yield word[found.end() :].rstrip("\"']")


def _value(option: str, word: str, after: Word) -> Word:
    """The value of an option; empty where the word does not give it."""
    if word == option:
        return after
    if word.startswith(f"{option}=") and not _SHORT.fullmatch(option):
        return word[len(option) + 1 :]
    if not _SHORT.fullmatch(option):
        return ""
    if word.startswith(option):
        return word[2:]
    is_bundle = word.startswith("-") and word[1:].isalpha() and len(word) <= _LONGEST_BUNDLE
    return after if is_bundle and word.endswith(option[1]) else ""


_LONGEST_BUNDLE: Final = 4


def _command(value: Word) -> Word:
    found = _BEFORE_COMMAND.match(value) if value else None
    return value[found.end() :].rstrip("\"']") if value and found else value


def is_run(variable: str) -> bool:
    """Whether programs run what a variable of the environment says."""
    return _RUN_VARIABLES.fullmatch(variable) is not None
