"""The notify program: what it is told, and how it is run so that it never stays behind."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import ConfigError, FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.abc import Process

    from ferrule_hookspecs.hooks import Notification

GRACE_S: Final = 8.0  # below the hook's own deadline of 10 s
_MAX_ARGUMENT_BYTES: Final = 100_000  # Linux allows 128 KiB for one argument


class NotifyProgramError(FerruleError):
    """The notify program could not be started."""


def argv_from(configured: object) -> tuple[str, ...]:
    """Check the configured value.

    Raises:
        ConfigError: It is not a list of strings.
    """
    parts = cast("Sequence[object]", configured) if isinstance(configured, list | tuple) else ()
    argv = tuple(part for part in parts if isinstance(part, str))
    if not argv or len(argv) != len(parts):
        raise ConfigError(
            f"notify in config.toml must be a program and its arguments as a list of strings, "
            f"not {configured!r}"
        )
    return argv


def message(notification: Notification) -> str:
    """The program's last argument; very long texts are cut so that it can be passed at all."""
    text = _message(notification, None)
    if len(text.encode()) > _MAX_ARGUMENT_BYTES:
        texts = len(notification.input_messages) + 1
        text = _message(notification, _MAX_ARGUMENT_BYTES // texts // 8)
    return text


def _message(notification: Notification, limit: int | None) -> str:
    import json

    last = notification.last_message
    return json.dumps(
        {
            "type": "agent-turn-complete",
            "thread-id": notification.thread_id,
            "turn-id": notification.turn_id,
            "cwd": notification.cwd,
            "client": f"ferrule_{notification.source}",
            "input-messages": [_cut(text, limit) for text in notification.input_messages],
            "last-assistant-message": None if last is None else _cut(last, limit),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _cut(text: str, limit: int | None) -> str:
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be passed on
    return text if limit is None or len(text) <= limit else f"{text[:limit]}…"


async def run(
    argv: Sequence[str], *, cwd: str, environ: Mapping[str, str], grace_s: float = GRACE_S
) -> int | None:
    """Run a program away from the terminal until it ends or its time is up.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs.
        environ: Its environment: it is the user's own program, so nothing is held back.
        grace_s: How long it may take, in seconds; then it and its children are killed.

    Returns:
        Its exit code; None when it was killed.

    Raises:
        NotifyProgramError: It could not be started.
    """
    from anyio import move_on_after

    try:
        process = await _started(argv, cwd, environ)
    except OSError as error:
        raise NotifyProgramError(
            f"the notify program {argv[0]!r} could not be started: {error.strerror}; "
            "correct `notify` in config.toml"
        ) from error
    try:
        with move_on_after(grace_s):
            return await process.wait()
    finally:
        await _end(process)
    return None


async def _started(argv: Sequence[str], cwd: str, environ: Mapping[str, str]) -> Process:
    from anyio import CancelScope, open_process

    with CancelScope(shield=True):  # a program that has been started must be found and ended
        return await open_process(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env=environ,
            start_new_session=True,
        )
    raise NotifyProgramError("the notify program could not be started")


async def _end(process: Process) -> None:
    """Kill what still runs. The group is only named while its leader is known to be there."""
    from anyio import CancelScope

    from ferrule_processes.group import kill_group

    if process.returncode is None:
        kill_group(process)
        with CancelScope(shield=True):
            await process.wait()
