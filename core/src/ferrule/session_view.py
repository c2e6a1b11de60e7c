"""The view of the workspace that a session has in place of the real files, if it has one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule.containment import contained
from ferrule.files import LocalFiles
from ferrule.policy import resolve_policy
from ferrule_hookspecs.errors import FerruleError, SandboxUnavailableError, SessionRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.sandbox import (
        Capabilities,
        Command,
        CommandResult,
        Denial,
        FileSystem,
        Launch,
        ResolvedPolicy,
        SandboxBackend,
    )
    from ferrule_hookspecs.workspace_view import WorkspaceView

_KEEPING_S: Final = 60.0
_REWINDING_S: Final = 300.0


async def open_view(parts: SessionParts, *, is_new: bool) -> None:
    """Ask for a view where the configuration wants one, or a stored thread may have one.

    Raises:
        SessionRefusedError: It is wanted and there is none.
        PluginError: The plugin failed, or two answered.
    """
    if parts.parent is not None:  # one that works for another sees what that one sees
        parts.view = parts.parent.view
        return
    wanted = parts.context.config.get("overlay") is True
    if is_new and not wanted:
        return
    policy = resolve_policy(
        {"type": "workspaceWrite", "excludeTmpdirEnvVar": True, "excludeSlashTmp": True},
        parts.settings.cwd,
        environ=parts.context.environ,
        home=parts.home,
        extra_roots=parts.settings.extra_roots,
    )
    view = await parts.hooks.rewrite("ferrule_workspace_view", context=parts.context, policy=policy)
    if view is None and wanted:
        raise SessionRefusedError(
            "overlay = true, and no plugin offers one; install ferrule-overlay, or take it out of"
            " the configuration"
        )
    parts.view = cast("WorkspaceView | None", view)


async def close_view(parts: SessionParts) -> None:
    """Take the view down."""
    view, parts.view = parts.view, None
    if view is not None and parts.parent is None:
        await view.aclose()


async def keep_files(parts: SessionParts, turn_id: str) -> None:
    """Have the view keep its files as they are before a turn; a failure is a warning."""
    if parts.view is None or parts.parent is not None:  # they are kept by the turns of the root
        return
    from ferrule_hookspecs.workspace_view import RewindableView  # most sessions have no view

    if not isinstance(parts.view, RewindableView):
        return
    try:
        warning = await _in_thread(partial(parts.view.begin_turn, turn_id), _KEEPING_S)
    except FerruleError as error:
        warning = f"the files of this turn cannot be taken back later: {error}"
    if warning:
        parts.recorder.warning(warning)


async def take_files_back(parts: SessionParts, turn_ids: Sequence[str]) -> None:
    """Have the files of the view as they were before some turns, the last ones.

    Raises:
        FerruleError: They cannot be had.
    """
    if parts.parent is not None:
        raise FerruleError("the thread that this one works for takes files back; leave `files` out")
    if parts.view is None:
        raise FerruleError(
            "files are only taken back in a session with an overlay; begin the thread with"
            " --overlay or overlay = true, or leave `files` out"
        )
    from ferrule_hookspecs.workspace_view import RewindableView  # most sessions have no view

    if not isinstance(parts.view, RewindableView):
        raise FerruleError(
            "the plugin that offers this thread's view cannot take files back; leave `files` out"
        )
    if turn_ids:
        warning = await _in_thread(partial(parts.view.rewind, turn_ids), _REWINDING_S)
        if warning:
            parts.recorder.warning(warning)


async def _in_thread(call: Callable[[], str], limit_s: float) -> str:
    """Call the view beside the event loop.

    Raises:
        FerruleError: It failed, or was not done in time.
    """
    from anyio import to_thread  # heavy, and only needed here

    try:
        with anyio.fail_after(limit_s), contained("the overlay"):
            return await to_thread.run_sync(call, abandon_on_cancel=True)
    except TimeoutError:
        raise FerruleError(f"the overlay has not answered within {limit_s:.0f} s") from None


class ViewedBackend:
    """A sandbox whose commands and files are those of a view; satisfies `SandboxBackend`."""

    def __init__(self, backend: SandboxBackend, view: WorkspaceView) -> None:
        self.name = backend.name
        self._backend = backend
        self._view = view

    def probe(self) -> Capabilities:
        """Tell what the sandbox can do."""
        return self._backend.probe()

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Prepare a command and have it see the view."""
        launch = self._backend.prepare(policy, self._view.command(command))
        try:
            return self._view.launch(launch)
        except BaseException:
            if launch.cleanup is not None:
                launch.cleanup()
            raise

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """Tell whether the sandbox made a command fail."""
        return self._backend.classify(policy, result)

    def files(self, policy: ResolvedPolicy) -> FileSystem:
        """The files of the view.

        Raises:
            SandboxUnavailableError: Those of the sandbox are not of this machine.
        """
        if self._backend.files(policy) is not None:
            raise SandboxUnavailableError(
                "the overlay covers files of this machine, and those of the sandbox are elsewhere;"
                " use another sandbox_backend, or run without --overlay"
            )
        return LocalFiles(policy, self._view.root)

    async def aclose(self) -> None:
        """Nothing: the sandbox and the view are closed by those who opened them."""


def in_view(parts: SessionParts, backend: SandboxBackend) -> SandboxBackend:
    """The sandbox as the session uses it."""
    return backend if parts.view is None else ViewedBackend(backend, parts.view)
