"""`ferrule demo`: a recorded conversation repairs a small repository, with the real tools.

Needs no model and no network: what is shown is the loop, the tools and the sandbox of this machine.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ferrule_hookspecs.host import Host

_MODES: Final = ("read-only", "workspace-write", "danger-full-access")
_PROMPT: Final = "The checks of this repository fail. Find out why and repair it."
_NOTHING: Final = """\
Nothing. The answers of the model are recorded, so they speak of a repair all the same.
"""
_HELP: Final = """\
Usage: ferrule demo [--keep] [--sandbox MODE]

Plays a recorded conversation over a small repository in a temporary folder: a check fails, the code
is repaired, the check passes. The answers of the model are recorded; everything else is real.

Options:
  --keep          keep the folder, to look around in it
  --sandbox MODE  read-only, workspace-write (default) or danger-full-access
  -h, --help      show this help
"""


@dataclass(frozen=True, slots=True)
class _Choice:
    keep: bool
    mode: str


class DemoCommand:
    """The sub-command, a `RawCommand`."""

    help = "See it work on a small sample, without a model."
    options: Sequence[str] = ("--keep", "--sandbox", "--help")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after `demo`; returns the exit code."""
        if "-h" in argv or "--help" in argv:
            _say(_HELP)
            return 0
        choice = _parse(argv)
        if isinstance(choice, str):
            sys.stderr.write(f"error: {choice}\n\n{_HELP}")
            return 2
        return _show(choice, host)


def _parse(argv: Sequence[str]) -> _Choice | str:
    """Return what was chosen, or what is wrong with it."""
    keep, mode = False, "workspace-write"
    rest = list(argv)
    while rest:
        option, _, value = rest.pop(0).partition("=")
        if option == "--keep" and not value:
            keep = True
        elif option == "--sandbox":
            mode = value or (rest.pop(0) if rest else "")
        else:
            return f"unexpected argument {option!r}"
    if mode not in _MODES:
        return f"--sandbox takes one of {', '.join(_MODES)}, not {mode!r}"
    return _Choice(keep, mode)


def _show(choice: _Choice, host: Host) -> int:
    import shutil
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp(prefix="ferrule-demo-"))
    try:
        workspace = folder / "receipt"
        _lay_out(workspace, folder / "conversation.json")
        code = host.invoke("exec", _arguments(workspace, folder / "conversation.json", choice.mode))
        _say(_report(workspace))
    finally:
        if not choice.keep:
            shutil.rmtree(folder, ignore_errors=True)
    _say(f"\nThe folder is kept: {workspace}\n" if choice.keep else "\nThe folder is removed.\n")
    return code


def _lay_out(workspace: Path, conversation: Path) -> None:
    """Write the sample, and the conversation with the Python that is sure to be there."""
    import json
    import shlex
    import shutil
    import subprocess
    from importlib.resources import files

    workspace.mkdir()
    for name, text in _sample().items():
        (workspace / name).write_text(text, encoding="utf-8")
    # Escaped twice: the command is JSON text inside of JSON text.
    python = json.dumps(json.dumps(shlex.quote(sys.executable))[1:-1])[1:-1]
    recorded = files("ferrule_replay").joinpath("conversation.json").read_text(encoding="utf-8")
    conversation.write_text(recorded.replace("{{PYTHON}}", python), encoding="utf-8")
    if git := shutil.which("git"):
        subprocess.run([git, "init", "-q", str(workspace)], check=False, capture_output=True)


def _sample() -> dict[str, str]:
    """Read the sample; packaged with another ending, its files are data and not code of ours."""
    from importlib.resources import files

    return {
        file.name.removesuffix(".txt"): file.read_text(encoding="utf-8")
        for file in files("ferrule_replay").joinpath("sample").iterdir()
        if file.name.endswith(".txt")
    }


def _arguments(workspace: Path, conversation: Path, mode: str) -> list[str]:
    import json

    # A JSON text is a TOML text, too.
    provider = (
        f'{{name="demo", wire_api="replay", settings={{file={json.dumps(str(conversation))}}}}}'
    )
    return [
        "--ignore-user-config",
        "--ephemeral",
        "--skip-git-repo-check",
        "-C",
        str(workspace),
        "-s",
        mode,
        "-c",
        'model="recorded"',
        "-c",
        'model_provider="demo"',
        "-c",
        f"model_providers.demo={provider}",
        _PROMPT,
    ]


def _report(workspace: Path) -> str:
    """Say what changed, as a diff against the packaged sample."""
    from difflib import unified_diff

    lines: list[str] = []
    for name, text in sorted(_sample().items()):
        now = workspace / name
        after = now.read_text(encoding="utf-8") if now.is_file() else ""
        lines += unified_diff(
            text.splitlines(True), after.splitlines(True), f"a/{name}", f"b/{name}"
        )
    return "\nWhat changed:\n\n" + ("".join(lines) or _NOTHING)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


command = DemoCommand()
