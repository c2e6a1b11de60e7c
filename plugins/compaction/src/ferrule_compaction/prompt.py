"""The words of a summary: what the model is asked for, and how the summary is told later."""

from __future__ import annotations

import os
from errno import EACCES, EINVAL
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from ferrule_hookspecs.history import HistoryItem, MessageItem
    from ferrule_hookspecs.plugins import PluginContext

CHECKPOINT: Final = """\
This conversation is about to be cut: it no longer fits, and your next request will begin without \
it. Write the note that whoever goes on (you, without any memory of this) will work from. Do not \
call tools; nothing is carried out now. Answer with the note alone.

What the user wrote is kept word for word, and so is a ledger of commands with their exit codes, \
of files read and edited, and of the open steps of the plan. Do not repeat these; write what they \
do not show:

1. The goal as you understand it now, and what counts as done.
2. Decisions that were made and why, and what was tried and given up.
3. Facts that were found out and will be needed: names, paths, line numbers, signatures, error \
messages, values. Copy them exactly.
4. Where the work stands: what is finished and checked, what is half done and in which state it is.
5. The very next step, and what must not be done again.

Be complete and brief; leave out courtesies.
"""
_CAREFULLY: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_INTRODUCTION: Final = """\
<summary>
The conversation before this point was cut because it no longer fitted. This is the note that was \
written for you at that moment. What it calls done is done: do not carry it out again. Go on from \
where it says the work stands.

"""
_END: Final = "\n</summary>"


def checkpoint_prompt(context: PluginContext) -> str:
    """Return what asks for the summary: the configured text, the configured file's, or our own.

    Raises:
        ConfigError: The file cannot be read.
    """
    text = context.config.get("compact_prompt")
    if isinstance(text, str) and text.strip():
        return text
    path = context.config.get("experimental_compact_prompt_file")
    if not isinstance(path, str) or not path:
        return CHECKPOINT
    try:
        given = _text_of(Path(context.cwd, Path(path).expanduser()), context.project_root)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigError(
            f"experimental_compact_prompt_file: cannot read {path!r}: {reason}"
        ) from None
    return given if given.strip() else CHECKPOINT


def _text_of(path: Path, project: str) -> str:
    """Read a file; a command may have put a pipe or a link in its place since the session began.

    Raises:
        OSError: It is no file, or lies in the project and leads out of it.
        UnicodeDecodeError: It is not UTF-8.
    """
    real = Path(os.path.realpath(path))
    is_own = bool(project) and Path(os.path.normpath(path)).is_relative_to(project)
    if is_own and not real.is_relative_to(os.path.realpath(project)):
        raise OSError(EACCES, "it is a link that leads out of the project")
    with open(os.open(real, _CAREFULLY), "rb") as file:
        if not S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(EINVAL, "it is no regular file")
        return file.read().decode("utf-8")


def user_message(text: str) -> MessageItem:
    """Build a message of the user."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def is_summary(item: HistoryItem) -> bool:
    """Whether an item tells of a summary."""
    if item["type"] != "message" or item["role"] != "user" or not item["content"]:
        return False
    return item["content"][0].get("text", "").startswith(_INTRODUCTION)


def summary_message(summary: str) -> MessageItem:
    """Tell the model of the summary."""
    return user_message(_INTRODUCTION + summary.strip() + _END)
