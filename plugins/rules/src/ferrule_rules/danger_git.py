"""What `git` can lose: work that was never committed, and history that others have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_rules.command_line import Parts, parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_rules.reading import Word

_WITH_VALUE: Final = frozenset(
    [
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--exec-path",
        "--config-env",
        "--super-prefix",
    ]
)


def git_danger(words: Sequence[Word]) -> str:
    """Tell what a git command may lose; empty where nothing is known."""
    at = 0
    while at < len(words):
        word = words[at]
        if word is None or not word.startswith("-"):
            break
        at += 2 if word in _WITH_VALUE else 1
    if at >= len(words) or (verb := words[at]) is None:
        return ""
    parts = parts_of("git", words[at + 1 :])
    check = _CHECKS.get(verb)
    return check(parts) if check else ""


def _reset(parts: Parts) -> str:
    if parts.has("--hard", "--merge"):
        return "`git reset --hard` throws away changes that were not committed"
    return ""


def _clean(parts: Parts) -> str:
    if "f" in parts.letters and not parts.has("-n", "--dry-run"):
        return "`git clean -f` deletes files that git does not know"
    return ""


def _push(parts: Parts) -> str:
    if parts.has("-f", "--force", "--mirror"):
        return "`git push --force` replaces history that others may have"
    if parts.has("-d", "--delete", "--prune"):
        return "it deletes branches or tags on the server"
    if any(word and word.startswith(("+", ":")) and len(word) > 1 for word in parts.operands):
        return "a refspec with + or : replaces or deletes a branch on the server"
    return ""


def _branch(parts: Parts) -> str:
    if parts.has("-D") or (parts.has("-d") and "f" in parts.letters):
        return "`git branch -D` deletes a branch whether it is merged or not"
    return ""


def _checkout(parts: Parts) -> str:
    if parts.has("-f", "--force") or "." in parts.operands:
        return "it overwrites changes that were not committed"
    return ""


def _restore(parts: Parts) -> str:
    if parts.has("--staged", "-S") and not parts.has("--worktree", "-W"):
        return ""
    return "`git restore` overwrites changes that were not committed"


def _stash(parts: Parts) -> str:
    if parts.operands[:1] in (("clear",), ("drop",)):
        return f"`git stash {parts.operands[0]}` deletes changes that were put aside"
    return ""


def _rewriting(_parts: Parts) -> str:
    return "it rewrites the history of the repository"


def _reflog(parts: Parts) -> str:
    if parts.operands[:1] in (("expire",), ("delete",)):
        return "it deletes what git would bring lost commits back from"
    return ""


def _gc(parts: Parts) -> str:
    return "it deletes lost commits for good" if "--prune" in parts.long else ""


def _forced(parts: Parts) -> str:
    if parts.operands[:1] in (("remove",), ("deinit",), ("delete",)) and "f" in parts.letters:
        return "it deletes a checkout with changes that were not committed"
    return ""


def _rm(parts: Parts) -> str:
    if "f" in parts.letters and "--cached" not in parts.long:
        return "`git rm -f` deletes files with changes that were not committed"
    return ""


def _reference(parts: Parts) -> str:
    return "it deletes a reference" if parts.has("-d", "--delete") else ""


_CHECKS: Final = {
    "reset": _reset,
    "clean": _clean,
    "push": _push,
    "branch": _branch,
    "checkout": _checkout,
    "switch": lambda parts: _checkout(parts) if not parts.has("-C") else "",
    "restore": _restore,
    "stash": _stash,
    "filter-branch": _rewriting,
    "filter-repo": _rewriting,
    "reflog": _reflog,
    "gc": _gc,
    "worktree": _forced,
    "submodule": _forced,
    "rm": _rm,
    "tag": lambda parts: _reference(parts) if "f" in parts.letters else "",
    "update-ref": _reference,
}
