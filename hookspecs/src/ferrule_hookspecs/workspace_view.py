"""Views of the workspace: a session's commands and tools see one instead of the real files.

A plugin answers the hook `ferrule_workspace_view` with a view; the kernel prepares every command
and reaches every file of the session through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.sandbox import Command, Launch


class WorkspaceView(Protocol):
    """What one session sees in place of the real files, under the same absolute paths.

    Attributes:
        root: A folder of this process in which `/` of the view lies; an absolute path of the view
            behind it is reached without any symbolic link being followed.
    """

    root: str

    def command(self, command: Command) -> Command:
        """Change a command before a sandbox prepares it, where the sandbox could not find it.

        A sandbox backend looks for programs and folders among the real files.
        """
        ...

    def launch(self, launch: Launch) -> Launch:
        """Have what a sandbox prepared see the view; raises `SandboxUnavailableError`."""
        ...

    async def aclose(self) -> None:
        """Take the view down; what was changed in it is the plugin's to keep."""
        ...


@runtime_checkable
class RewindableView(WorkspaceView, Protocol):
    """A view that can have its files again as they were when a turn began.

    Both are called in a thread beside the event loop, one at a time.
    """

    def begin_turn(self, turn_id: str) -> str:
        """Keep what is needed to come back; returns what to warn of, empty for nothing."""
        ...

    def rewind(self, turn_ids: Sequence[str]) -> str:
        """Have the files as they were when the first of these turns began, the last ones.

        What is already so stays so: the kernel may ask again after a crash.

        Returns:
            What to warn of, empty for nothing.

        Raises:
            FerruleError: It cannot be done, and nothing has been changed.
        """
        ...
