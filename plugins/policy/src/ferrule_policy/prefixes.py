"""From scripts to prefixes that a rule might allow."""

from __future__ import annotations

import re
import shlex
from typing import Final

from ferrule_hookspecs.programs import INTERPRETERS, LAUNCHERS, RUNNING_COMMANDS, SHELLS

Words = tuple[str, ...]

_UNTOLD: Final = frozenset(
    (
        *(*INTERPRETERS, *SHELLS, *LAUNCHERS),
        *[
            "awk",
            "gawk",
            "sed",
            "ed",
            "vi",
            "vim",
            "emacs",
            "source",
            ".",
            "builtin",
            "parallel",
            "watch",
            "ionice",
            "setsid",
            "strace",
        ],
        *[
            "chroot",
            "unshare",
            "pipx",
            "rm",
            "dd",
            "mkfs",
            "chmod",
            "chown",
            "kill",
            "pkill",
            "killall",
        ],
        *["curl", "wget", "nc", "socat", "tar", "rsync", "scp"],
    )
)
"""Programs of which no prefix is proposed: their first words say nothing about what would run."""
_WITH_COMMANDS: Final = frozenset(
    [
        "git",
        "gh",
        "hg",
        "svn",
        "npm",
        "pnpm",
        "yarn",
        "cargo",
        "rustup",
        "go",
        "uv",
        "pip",
        "pip3",
        "poetry",
        "conda",
        "docker",
        "podman",
        "kubectl",
        "helm",
        "terraform",
        "aws",
        "gcloud",
        "az",
        "systemctl",
        "service",
        "brew",
        "apt",
        "apt-get",
        "dnf",
        "yum",
        "pacman",
        "make",
        "just",
        "task",
        "gradle",
        "mvn",
        "dotnet",
        "composer",
        "bundle",
        "rake",
        "mix",
        "swift",
        "bazel",
        "nx",
        "turbo",
    ]
)
"""Programs whose second word says what they do; it must be part of the prefix."""
_JOINTS: Final = frozenset({"&&", "||", ";", "|"})
_HIDDEN: Final = re.compile(r"[$`<>(){}*?\[\]~!#&\\\n]")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./=@%+,-]+")
_LONGEST: Final = 6


def segments(script: str) -> list[Words] | None:
    """Split a script into plain commands; None where it holds more than words and joints."""
    try:
        reader = shlex.shlex(script, posix=True, punctuation_chars="&|;")
        reader.whitespace_split = True
        words = list(reader)
    except ValueError:
        return None
    if _HIDDEN.search(script.replace("&&", "")):
        return None
    found: list[Words] = []
    current: list[str] = []
    for word in (*words, ";"):
        if word not in _JOINTS:
            if set(word) <= set("&|;"):
                return None
            current.append(word)
        elif current:
            found.append(tuple(current))
            current = []
    return found or None


def prefixes(command: Words) -> list[Words]:
    """The prefixes of a command that may be proposed, the broadest first."""
    program = command[0].rpartition("/")[2]
    if "=" in command[0] or program in _UNTOLD or re.fullmatch(r"(python|pypy)[\d.]+", program):
        return []
    shortest = 2 if program in _WITH_COMMANDS else 1
    if (program, *command[1:2]) in RUNNING_COMMANDS:
        shortest = 3
    plain = 0
    while plain < min(len(command), _LONGEST) and _PLAIN.fullmatch(command[plain]):
        plain += 1
    return [
        command[:length]
        for length in range(shortest, plain + 1)
        if length < 2 or not command[shortest - 1].startswith("-")
    ]
