"""The view of the workspace that a session has in place of the real files, if it has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ferrule.files import LocalFiles
from ferrule.policy import resolve_policy
from ferrule_hookspecs.errors import SandboxUnavailableError, SessionRefusedError

if TYPE_CHECKING:
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


async def open_view(parts: SessionParts, *, is_new: bool) -> None:
    """Ask for a view where the configuration wants one, or a stored thread may have one.

    Raises:
        SessionRefusedError: It is wanted and there is none.
        PluginError: The plugin failed, or two answered.
    """
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
    if view is not None:
        await view.aclose()


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
