"""`ferrule try`: the main job on a fresh machine, with no key and no account.

Uses the model that is configured, and where none is, fetches the embedded one. The task runs as
`ferrule exec` would run it.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ferrule_hookspecs.host import Config, Host

_TASK: Final = (
    "The function average in stats.py returns a wrong result: average([2, 4]) should be 3. Find "
    "the bug and fix it."
)
_HELP: Final = """\
Usage: ferrule try [TASK] [-C DIR] [--trust] [-y] [--oss] [-m MODEL] [-c KEY=VALUE] [-p PROFILE]

Runs a task with the model that is configured. Where none is, it fetches a small one that runs on
this machine and needs no key (1.1 GB, once), and works in a sample folder unless -C names another.

Options:
  -C, --cd DIR  work in this folder instead of a sample
  --trust       trust the folder's project configuration, now and later
  -y, --yes     fetch the model without asking
  --oss, -m, -c, -p
                choose another model, as for `ferrule exec`
  -h, --help    show this help
"""
_SAMPLE: Final = {
    "stats.py": (
        "def average(numbers):\n    total = 0\n    for number in numbers:\n"
        "        total += number\n    return total / (len(numbers) - 1)\n"
    ),
    "README.md": "# Sample\n\nA small folder to try things in.\n",
}
_PASSED_FLAGS: Final = ("--oss",)
_PASSED_OPTIONS: Final = ("-m", "--model", "-c", "--config", "-p", "--profile")
_IDENTITY: Final = ("-c", "user.name=Ferrule", "-c", "user.email=ferrule@localhost")


class _Choice(NamedTuple):
    task: str | None
    folder: str | None
    trust: bool
    yes: bool
    passed: Sequence[str] = ()


class TryCommand:
    """The sub-command, a `RawCommand`."""

    help = "Run a first task, with no key: fetches a small model where none is configured."
    options: Sequence[str] = (
        *("-C", "--cd", "--trust", "-y", "--yes", "-h", "--help"),
        *_PASSED_FLAGS,
        *_PASSED_OPTIONS,
    )

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after `try`; returns the exit code."""
        if "-h" in argv or "--help" in argv:
            _say(_HELP)
            return 0
        choice = _parse(argv)
        if isinstance(choice, str):
            sys.stderr.write(f"error: {choice}\n\n{_HELP}")
            return 2
        if choice.folder is not None and not os.path.isdir(choice.folder):
            sys.stderr.write(f"error: -C: there is no folder {choice.folder!r}\n")
            return 2
        if choice.folder is not None and choice.task is None:
            sys.stderr.write("error: -C needs a task: ferrule try -C DIR 'what to do'\n")
            return 2
        return _run(choice, host)


def _parse(argv: Sequence[str]) -> _Choice | str:
    """Return what was chosen, or what is wrong with it."""
    folder, trust, yes = None, False, False
    words: list[str] = []
    passed: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, _, value = word.partition("=")
        if word == "--":
            words += rest
            break
        if name in ("-C", "--cd"):
            folder = value or (rest.pop(0) if rest else "")
        elif word == "--trust":
            trust = True
        elif word in ("-y", "--yes"):
            yes = True
        elif word in _PASSED_FLAGS:
            passed.append(word)
        elif name in _PASSED_OPTIONS:
            passed += [name, value or (rest.pop(0) if rest else "")]
        elif word.startswith("-"):
            return f"unexpected argument {word!r}"
        else:
            words.append(word)
    return _Choice(" ".join(words) or None, folder, trust, yes, passed)


def _run(choice: _Choice, host: Host) -> int:
    from ferrule_hookspecs.host import ConfigRequest

    cwd = os.path.abspath(choice.folder or os.getcwd())
    config = host.config(
        ConfigRequest(
            cwd=cwd,
            profile=next(reversed(_values(choice.passed, "-p", "--profile")), None),
            overrides=_values(choice.passed, "-c", "--config"),
        )
    )
    model = _configured(config, choice, host.environ)
    if model is None:
        if not _fetched(choice, host):
            return 1
        model = ["-c", 'model_provider="local"']
    folder = cwd if choice.folder is not None else str(_lay_out_sample())
    task = choice.task or _TASK
    before = _commit(folder) if choice.folder is None else None
    _say(f"\nFolder: {folder}\nTask:   {task}\n\n")
    options = ["--skip-git-repo-check", "-s", "workspace-write", "-C", folder]
    options += ["--trust"] if choice.trust else []
    code = host.invoke("exec", [*options, *choice.passed, *model, "--", task])
    _report(folder, has_commit=before is not None, code=code)
    return code


def _values(passed: Sequence[str], *names: str) -> list[str]:
    """Return the values that an option was given."""
    return [value for name, value in pairwise(passed) if name in names]


def _configured(config: Config, choice: _Choice, environ: Mapping[str, str]) -> list[str] | None:
    """Say what model is configured, in options of exec; None where nothing usable is."""
    if "--oss" in choice.passed:
        _say("Using the model server on this machine, because of --oss.\n")
        return []
    provider = str(config.get("model_provider"))
    chosen_by = config.origin("model_provider").layer
    if chosen_by not in ("defaults", "surroundings"):
        _say(f"Using the model provider you have configured: {provider}.\n")
        return []
    if environ.get("OPENAI_API_KEY", "").strip():
        _say("Using OpenAI, because OPENAI_API_KEY is set.\n")
        return []
    return None


def _fetched(choice: _Choice, host: Host) -> bool:
    """Have the weights there; false where the user would rather not."""
    from ferrule_local.download import Downloader, Order
    from ferrule_local.progress import ShownProgress, megabytes
    from ferrule_local.weights import SMALL

    _say(
        f"No key and no other model is configured, so this uses {SMALL.name}, a small model that "
        "runs on this machine.\nIt can do toy tasks, at some seconds a step; it is no match for a "
        "large model.\n"
    )
    if SMALL.is_fetched(host.home):
        return True
    _say(
        f"It is fetched once: {megabytes(SMALL.size)}, a minute on a fast line, kept in "
        f"{SMALL.place(host.home).parent} (`ferrule local remove` takes it away).\n"
    )
    if not choice.yes and sys.stdin.isatty() and not _agrees():
        _say("Nothing was fetched. Set OPENAI_API_KEY, or configure a model_provider.\n")
        return False
    Downloader(host.home, host.environ, ShownProgress()).pull(Order(SMALL))
    return True


def _agrees() -> bool:
    _say("Fetch it now? [Y/n] ")
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def _lay_out_sample() -> Path:
    """Make a fresh sample; it stays, since somebody may want to go on in it."""
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp(prefix="ferrule-try-"))
    for name, text in _SAMPLE.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _commit(folder: str) -> str | None:
    """Make a repository of the sample, so that what changes can be shown; None without git."""
    for arguments in (("init", "-q"), ("add", "-A"), (*_IDENTITY, "commit", "-q", "-m", "Sample")):
        if _git(folder, *arguments) is None:
            return None
    return _git(folder, "rev-parse", "HEAD")


def _report(folder: str, *, has_commit: bool, code: int) -> None:
    """Say what changed and what to do next."""
    if has_commit:
        _git(folder, "add", "-A", "--intent-to-add")
    changed = _git(folder, "-c", "color.ui=never", "diff", "--stat") if has_commit else None
    if changed is None:
        changed = _git(folder, "status", "--short") or ""
    _say(f"\nWhat changed in {folder}:\n{changed.rstrip() or ' nothing'}\n")
    if code == 0:
        _say(
            "\nNext:\n"
            f"  cd {folder} && git diff\n"
            "  ferrule try -C . 'your task'    try one of your own\n"
            "  export OPENAI_API_KEY=...       use a large model (--oss: a model server here)\n"
            "  ferrule exec 'your task'        the same for scripts, without explanations\n"
        )


def _git(folder: str, *arguments: str) -> str | None:
    """Run git; None where it is missing or fails."""
    import subprocess

    try:
        done = subprocess.run(
            ["git", "-C", folder, *arguments], check=False, capture_output=True, text=True
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


command = TryCommand()
