"""Commands that destroy something or open a door, each with a reason a person understands.

These heuristics ask where somebody can be asked; they are no fence: the sandbox is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule_rules.command_line import parts_of
from ferrule_rules.danger_code import code_danger
from ferrule_rules.danger_git import git_danger
from ferrule_rules.danger_places import write_danger
from ferrule_rules.reading import SHELLS, FoundCommand, Word
from ferrule_rules.wrappers import program

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule_rules.command_line import Parts

Severity = Literal["high", "low"]


class Danger(NamedTuple):
    """Why a command is dangerous.

    Attributes:
        reason: One sentence for whoever is asked.
        severity: low is often harmless, and worth a look all the same.
        refused_unasked: Whether it is refused where nobody may be asked.
    """

    reason: str
    severity: Severity = "high"
    refused_unasked: bool = False


_TEMPORARY: Final = re.compile(r"(/tmp|/var/tmp|\$TMPDIR|\$\{TMPDIR(:-/tmp)?\})/[^/].*", re.S)
_DEVICE: Final = re.compile(
    r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|dm-|md\d|loop\d|mem\b|kmem\b|port\b)"
)
_WHOLE: Final = re.compile(r"/|/\*|~|~/|\$HOME/?|\.|\./|\.\.|\.\./|\*|/\.\.?|\.\*")
_BOMB: Final = re.compile(
    r"(?<![\w:.])([\w:.]{1,40})\s{0,4}\(\)\s{0,4}\{[^}]{0,200}?\1\s{0,4}\|\s{0,4}\1\s{0,4}&"
)
_FETCHERS: Final = frozenset({"curl", "wget", "fetch", "aria2c", "http", "https", "nc", "ncat"})
_ADMINS: Final = frozenset({"sudo", "doas", "su", "pkexec", "run0"})


def danger_of(command: FoundCommand) -> Danger | None:
    """Tell why a command is dangerous; None for one that is not known to be."""
    if found := _fed_danger(command):
        return found
    if reason := write_danger(command.redirects):
        return Danger(reason)
    for redirect in command.redirects:
        if redirect.target is not None and _DEVICE.match(redirect.target):
            return Danger(f"it writes straight to the device {redirect.target}", "high", True)
    if not command.argv or command.argv[0] is None:
        return None
    name = program(command.argv[0])
    words = command.argv[1:]
    if words and words[-1] in ("--help", "--version"):
        return None
    check = _CHECKS.get(name) or _CHECKS.get(name.partition(".")[0])
    if check is not None:
        return check(name, words, command)
    return code_of(name, words)


def script_danger(script: str) -> Danger | None:
    """Tell what only the script as a whole shows."""
    if "()" in script and "|" in script and _BOMB.search(script):
        return Danger("it starts copies of itself without end (a fork bomb)", "high", True)
    return None


def _fed_danger(command: FoundCommand) -> Danger | None:
    name = program(command.argv[0]) if command.argv else ""
    if name in SHELLS and any(source in _FETCHERS for source in command.fed_by):
        return Danger(f"it runs what comes from the network in {name}, unseen")
    return None


def code_of(name: str, words: Sequence[Word]) -> Danger | None:
    """Look at a program that is given to an interpreter on its command line."""
    reason = code_danger(name, words)
    return Danger(reason) if reason else None


# --- files ------------------------------------------------------------------------------------


def _rm(name: str, words: Sequence[Word], command: FoundCommand) -> Danger | None:
    parts = parts_of(name, words)
    wholes = [word for word in parts.operands if word is not None and _WHOLE.fullmatch(word)]
    is_recursive = parts.has("-r", "-R")
    if "f" in parts.letters:
        if _is_temporary(parts, command):
            return Danger("it deletes files in a temporary folder without asking", "low", True)
        severity: Severity = "high" if is_recursive else "low"
        what = "folders with all they hold" if is_recursive else "files"
        return Danger(f"`rm -f` deletes {what} for good, without asking", severity, True)
    if is_recursive and wholes:
        return Danger(f"it deletes everything in {wholes[0]}", "high", True)
    return None


def _is_temporary(parts: Parts, command: FoundCommand) -> bool:
    known = [word for word in parts.operands if word is not None]
    texts = known if len(known) == len(parts.operands) else command.text.split()[1:]
    paths = [text.strip("\"'") for text in texts if not text.startswith("-")]
    return bool(paths) and all(
        _TEMPORARY.fullmatch(path) and ".." not in path.split("/") for path in paths
    )


def _find(_name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    if "-delete" not in words:
        return None
    start = words[0] if words and words[0] and not words[0].startswith("-") else "."
    narrow = any(w in ("-name", "-iname", "-path", "-regex", "-empty", "-inum") for w in words)
    severity: Severity = "low" if narrow and start not in ("/", "~") else "high"
    return Danger("`find -delete` deletes everything it finds, for good", severity)


def _dd(_name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    for word in words:
        if word and word.startswith("of="):
            if _DEVICE.match(word[3:]):
                return Danger(f"it overwrites the device {word[3:]}", "high", True)
            return None
    return None


def _device_writer(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    if any(word and _DEVICE.match(word) for word in words):
        return Danger(f"`{name}` rewrites a disk", "high", True)
    return Danger(f"`{name}` rewrites a disk or an image of one") if words else None


def _shred(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    return Danger(f"`{name}` overwrites files so that nothing brings them back") if words else None


def _truncate(_name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    text = " ".join(word or "" for word in words)
    if re.search(r"(-s|--size)[ =]?0\b", text):
        return Danger("it empties files", "low")
    return None


def _modes(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    parts = parts_of(name, words)
    if not parts.has("-R"):
        return None
    wide = [w for w in parts.operands[1:] if w and (_WHOLE.fullmatch(w) or _is_system(w))]
    opened = name == "chmod" and any(w in ("777", "0777", "a+rwx", "000") for w in parts.operands)
    if wide or opened:
        what = "rights" if name == "chmod" else "owners"
        return Danger(f"it changes the {what} of a whole tree of files, which is hard to undo")
    return None


def _is_system(path: str) -> bool:
    return (
        re.match(r"/(etc|usr|bin|sbin|lib|boot|var|sys|proc|root|home)?(/[^/]*)?/?$", path)
        is not None
    )


def _move(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    operands = parts_of(name, words).operands
    if operands and operands[-1] == "/dev/null" and name == "mv":
        return Danger("moving to /dev/null loses the files")
    if operands and operands[-1] and _DEVICE.match(operands[-1]):
        return Danger(f"it overwrites the device {operands[-1]}", "high", True)
    if operands and (reason := write_danger_of_word(operands[-1])):
        return Danger(reason)
    return None


def write_danger_of_word(word: Word) -> str:
    """Tell what writing a file named on a command line does."""
    from ferrule_rules.reading import Redirect

    return write_danger((Redirect(">", word),)) if word is not None else ""


def _tee(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    for word in parts_of(name, words).operands:
        if word and _DEVICE.match(word):
            return Danger(f"it writes straight to the device {word}", "high", True)
        if reason := write_danger_of_word(word):
            return Danger(reason)
    return None


# --- the machine ------------------------------------------------------------------------------


def _admin(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    if not words or words[0] in ("-v", "-l", "-k", "-V", "--version", "--list"):
        return None
    return Danger(f"`{name}` runs a command with the rights of another user", "low")


def _power(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    if name == "init" and (not words or words[0] not in ("0", "1", "6")):
        return None
    return Danger(f"`{name}` stops the machine", "high", True)


def _systemctl(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    verbs = parts_of(name, words).operands
    if verbs and verbs[0] in ("poweroff", "reboot", "halt", "rescue", "emergency", "kexec"):
        return Danger(f"`{name} {verbs[0]}` stops the machine", "high", True)
    if verbs and verbs[0] in ("stop", "disable", "mask", "kill", "isolate", "restart"):
        return Danger(f"`{name} {verbs[0]}` ends services of this machine")
    return None


def _kill(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    if name == "kill" and "-1" in words[1:]:
        return Danger("it ends every process that may be ended", "high", True)
    if name == "killall" and "-u" in words:
        return Danger("it ends every process of a user")
    return None


def _crontab(_name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    if "-r" in words:
        return Danger("`crontab -r` deletes all planned jobs")
    if words and words[0] not in ("-l",):
        return Danger("it plans commands that run later, outside of any approval")
    return None


def _schedule(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    if any(word in ("-l", "-V", "list") for word in words):
        return None
    return Danger(f"`{name}` plans commands that run later, outside of any approval", "low")


def _firewall(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    if any(w in ("-F", "--flush", "flush", "disable", "reset") for w in words):
        return Danger(f"`{name}` takes the firewall's rules away")
    return None


def _users(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    return Danger(f"`{name}` changes who may use this machine") if words else None


# --- services and clouds ----------------------------------------------------------------------


def _docker(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    verbs = [word for word in parts_of(name, words).operands if word]
    if "prune" in verbs[:2]:
        return Danger(f"`{name} … prune` deletes what is not in use at the moment, for good")
    deletes = verbs[:1] == ["rm"] or verbs[1:2] == ["rm"]
    if deletes and (parts_of(name, words).has("-f") or verbs[0] == "volume"):
        return Danger(f"`{name}` deletes containers or volumes with their data")
    if "--privileged" in words or "/:/host" in " ".join(w or "" for w in words):
        return Danger(f"`{name}` opens the whole machine to a container")
    return None


def _kubectl(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    verbs = [word for word in words if word and not word.startswith("-")]
    if any(verb in ("delete", "drain") for verb in verbs[:3]):
        return Danger(f"`{name} delete` removes what runs in a cluster")
    return None


def _cloud(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    text = " ".join(word or "" for word in words)
    if name in ("terraform", "tofu", "pulumi", "terragrunt", "cdk"):
        if re.search(r"(^|\s)(destroy|down)\b|-destroy\b|state rm\b", text):
            return Danger(f"`{name} destroy` takes down what was built in the cloud")
    elif re.search(
        r"\b(delete\w*(-\w+)*|terminate-instances|purge|destroy)\b|\bs3 (rm|rb)\b|\brm -r\b", text
    ) and not re.search(r"\b(help|describe|list)\b", text):
        return Danger(f"`{name}` deletes something in the cloud")
    return None


def _helm(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    if any(word in ("uninstall", "delete") for word in words[:3]):
        return Danger(f"`{name} uninstall` removes what runs in a cluster")
    return None


def _package(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    text = " ".join(word or "" for word in words)
    if re.search(r"(^|\s)(publish|unpublish|yank)\b", text) and "--dry-run" not in text:
        return Danger(f"`{name}` publishes a package, or takes one back, for everybody")
    return None


_SQL: Final = re.compile(
    r"\b(drop\s+(database|table|schema|user|role|index|view)|truncate\s+(table\s+)?\w"
    r"|delete\s+from\s+\S+\s*(;|$)|dropdatabase\s*\(|\.drop\s*\(|flushall|flushdb)",
    re.I,
)


def _database(name: str, words: Sequence[Word], command: FoundCommand) -> Danger | None:
    if name in ("dropdb", "dropuser"):
        return Danger(f"`{name}` deletes a database or its user", "high")
    if _SQL.search(" ".join(word or "" for word in words)) or _SQL.search(command.text):
        return Danger("it deletes data of a database")
    return None


def _gh(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    if len(words) > 1 and words[1] in ("delete", "archive"):
        return Danger(f"`{name} {words[0]} {words[1]}` cannot be taken back")
    return None


def _sed(name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    parts = parts_of(name, words)
    for word in parts.operands[1:] if any(o.startswith("-i") for o in parts.long) else ():
        if reason := write_danger_of_word(word):
            return Danger(reason)
    return None


def _git(_name: str, words: Sequence[Word], _command: FoundCommand) -> Danger | None:
    reason = git_danger(words)
    return Danger(reason) if reason else None


def _named(
    names: str, check: Callable[..., Danger | None]
) -> dict[str, Callable[..., Danger | None]]:
    return dict.fromkeys(names.split(), check)


_CHECKS: Final[dict[str, Callable[..., Danger | None]]] = {
    **_named("rm grm", _rm),
    **_named("find gfind", _find),
    **_named("dd", _dd),
    **_named("mkfs mke2fs wipefs fdisk parted sgdisk sfdisk mkswap blkdiscard", _device_writer),
    **_named("shred wipe", _shred),
    **_named("truncate", _truncate),
    **_named("chmod chown chgrp", _modes),
    **_named("mv cp install ln", _move),
    **_named("tee", _tee),
    **_named("sed gsed", _sed),
    **_named("git", _git),
    **dict.fromkeys(_ADMINS, _admin),
    **_named("shutdown reboot poweroff halt init telinit", _power),
    **_named("systemctl service", _systemctl),
    **_named("kill killall pkill", _kill),
    **_named("crontab", _crontab),
    **_named("at batch schtasks", _schedule),
    **_named("iptables ip6tables nft ufw", _firewall),
    **_named("useradd userdel usermod passwd chpasswd visudo", _users),
    **_named("docker podman nerdctl docker-compose", _docker),
    **_named("kubectl oc k", _kubectl),
    **_named("terraform tofu pulumi terragrunt cdk aws gcloud az doctl gsutil", _cloud),
    **_named("helm", _helm),
    **_named("npm pnpm yarn cargo gem twine poetry uv", _package),
    **_named(
        "psql mysql mariadb sqlite3 sqlite mongo mongosh redis-cli dropdb dropuser", _database
    ),
    **_named("gh glab", _gh),
}
