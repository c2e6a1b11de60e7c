"""The threads of a server: opened when they are called, and put away when they are not.

A thread that was put away goes on from where it is stored, so that few need be open: each has
descriptors of its own, and perhaps programs that go on.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from ferrule_hookspecs.errors import ConfigError, FerruleError, ThreadNotFoundError
from ferrule_hookspecs.host import ThreadOptions
from ferrule_hookspecs.store import ThreadFilter
from ferrule_mcp_server.codex_events import CodexEvents
from ferrule_mcp_server.shield import shielded
from ferrule_mcp_server.turn import RunningTurn

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ferrule_hookspecs.host import Config, ConfigRequest, Kernel, Session
    from ferrule_mcp_server.call_arguments import Start

_KEPT: Final = 8
"""Threads without a turn that stay open."""
_CLOSE_S: Final = 10.0


class OpenThread:
    """One open thread."""

    def __init__(self, session: Session, *, can_ask: bool) -> None:
        self.session = session
        self.id = session.thread["id"]
        self.can_ask = can_ask
        self.events = CodexEvents(self.id)
        self.turn: RunningTurn | None = None

    async def begin(self, prompt: str) -> RunningTurn:
        """Start a turn.

        Raises:
            FerruleError: One runs already, or the thread refuses.
        """
        if self.turn is not None:
            raise FerruleError(
                f"thread {self.id} is at work; wait for its answer, or stop it with"
                " `codex-interrupt`"
            )
        turn = self.turn = RunningTurn(self.session, self.events)
        try:
            await turn.begin(prompt)
        except BaseException:
            self.turn = None
            raise
        return turn


class Listed(NamedTuple):
    """A thread of a listing; `status` is running, idle or stored."""

    thread_id: str
    status: str
    cwd: str
    preview: str
    name: str | None
    updated_at: int


class ThreadShelf:
    """Opens threads and keeps them."""

    def __init__(self, kernel: Kernel, request: ConfigRequest) -> None:
        self._kernel = kernel
        self._request = request
        self._open: dict[str, OpenThread] = {}  # the one that was called last comes last
        self._opening = anyio.Lock()
        self._closing: dict[str, anyio.Event] = {}

    async def start(self, start: Start, *, can_ask: bool) -> OpenThread:
        """Open a new thread.

        Raises:
            FerruleError: It cannot be opened as it is wanted.
        """
        cwd = self._folder(start.cwd or "")
        config = self._config(cwd, start, can_ask=can_ask)
        options = ThreadOptions(
            config=config,
            cwd=cwd,
            source="mcp",
            can_answer=_can_answer(config, can_ask=can_ask),
            base_instructions=start.base_instructions,
            developer_instructions=start.developer_instructions,
            wants_diff=True,
        )
        return await shielded(self._keep(self._kernel.threads.start(options), can_ask=can_ask))

    async def find(self, thread_id: str, *, can_ask: bool) -> OpenThread:
        """Return a thread, opened anew where it was put away.

        Raises:
            ThreadNotFoundError: There is none of this id.
            FerruleError: It cannot be opened.
        """
        async with self._opening:
            thread = self._open.pop(thread_id, None)
            if thread is not None and (thread.turn is not None or can_ask or not thread.can_ask):
                self._open[thread_id] = thread
                return thread
            if thread is not None:  # nobody is there any more to be asked
                await thread.session.close()
            if (closed := self._closing.get(thread_id)) is not None:
                await closed.wait()
            stored = self._kernel.threads.store.find(thread_id)
            if stored is None or stored.thread_id != thread_id:
                raise ThreadNotFoundError(
                    f"Session not found for thread_id: {thread_id}; `codex-list` names those there"
                    " are"
                )
            config = self._config(stored.cwd, None, can_ask=can_ask)
            options = ThreadOptions(
                config=config,
                cwd=stored.cwd,
                source="mcp",
                can_answer=_can_answer(config, can_ask=can_ask),
                wants_diff=True,
                inherits=True,
            )
            opening = self._kernel.threads.resume(thread_id, options)
            return await shielded(self._keep(opening, can_ask=can_ask))

    def running(self, thread_id: str) -> RunningTurn | None:
        """Return the turn that a thread runs; None where it runs none."""
        thread = self._open.get(thread_id)
        return None if thread is None else thread.turn

    def known(self, thread_id: str) -> bool:
        """Whether there is such a thread."""
        return thread_id in self._open or self._kernel.threads.store.find(thread_id) is not None

    async def done(self, thread: OpenThread) -> None:
        """A thread's turn has ended: it is kept open while few are."""
        thread.turn = None
        await self._put_away()

    def list(self, limit: int) -> list[Listed]:
        """List threads, the newest first, the open ones among them."""
        return [
            Listed(
                stored.thread_id,
                self._status(stored.thread_id),
                stored.cwd,
                stored.preview,
                stored.name,
                stored.updated_at,
            )
            for stored in self._kernel.threads.store.list(ThreadFilter(limit=limit))
        ]

    async def aclose(self) -> None:
        """Close all threads; what runs is interrupted."""
        with anyio.move_on_after(_CLOSE_S, shield=True):
            async with anyio.create_task_group() as group:
                for thread in self._open.values():
                    group.start_soon(thread.session.close)
        self._open.clear()

    def _folder(self, named: str) -> str:
        folder = os.path.abspath(os.path.join(self._request.cwd, named))
        if "\0" in named or not os.path.isdir(folder):
            raise FerruleError(f"`cwd`: the folder {folder!r} does not exist")
        return folder

    def _status(self, thread_id: str) -> str:
        thread = self._open.get(thread_id)
        if thread is None:
            return "stored"
        return "idle" if thread.turn is None else "running"

    async def _keep(self, opening: Awaitable[Session], *, can_ask: bool) -> OpenThread:
        session = await opening
        thread = self._open[session.thread["id"]] = OpenThread(session, can_ask=can_ask)
        return thread

    async def _put_away(self) -> None:
        while len(idle := [each for each in self._open.values() if each.turn is None]) > _KEPT:
            thread = idle[0]
            del self._open[thread.id]
            closed = self._closing[thread.id] = anyio.Event()
            try:
                with anyio.move_on_after(_CLOSE_S, shield=True):
                    await thread.session.close()
            finally:
                del self._closing[thread.id]
                closed.set()

    def _config(self, cwd: str, start: Start | None, *, can_ask: bool) -> Config:
        flags = dict(self._request.flags) | dict(start.flags if start else {})
        request = self._request._replace(cwd=cwd, flags=flags, trust_project=False)
        config = self._kernel.config(request)
        if can_ask or config.get("approvals_reviewer", "user") != "user":
            return config
        # Nobody could be asked: what needs approval is refused, and the model is told why.
        with suppress(ConfigError):  # the administrator may not allow it; then every question is no
            flags["approval_policy"] = "never"
            return self._kernel.config(request._replace(flags=flags))
        return config


def _can_answer(config: Config, *, can_ask: bool) -> bool:
    """Whether questions come here.

    They do where nobody is there to be asked but a reviewer may want to: each is refused then, and
    nobody is asked at a terminal, which is the client's.
    """
    return can_ask or config.get("approval_policy") != "never"
