"""Where a session stands among the threads that work for each other, and the opening of more.

A thread that works for another is a session like any other one, with a parent: it may do no more
than that one at any moment (`ceiling.py`), its questions reach the root's clients, and it ends with
its parent. Every session has a family; most of them stay alone in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import anyio

from ferrule.event_queue import TwinQueue
from ferrule.remote_tool import RemoteTool
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ThreadOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from ferrule.child_config import Narrowed
    from ferrule.conversation import Conversation
    from ferrule.session import LiveSession
    from ferrule.session_parts import SessionParts, Settings
    from ferrule.thread_service import ThreadService
    from ferrule_hookspecs.events import Outgoing, ServerRequest
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.host import Session, SessionFacts
    from ferrule_hookspecs.ops import InjectItems, Op, TurnStart
    from ferrule_hookspecs.services import ChildOptions
    from ferrule_hookspecs.threads import Thread
    from ferrule_hookspecs.tools import Tool


@dataclass(frozen=True, slots=True)
class Kin:
    """What a thread is opened with that works for another.

    Attributes:
        parent: Where its parent stands.
        options: How it differs.
        narrowed: Its configuration.
        queue: Its events; those for the client beside them, where the client wants any.
        history: What its conversation begins with, in place of a prefix of its own.
    """

    parent: Family
    options: ChildOptions
    narrowed: Narrowed
    queue: TwinQueue | None
    history: Sequence[HistoryItem]

    def settings(self, options: ThreadOptions) -> Settings:
        """What its turns begin with."""
        return self.narrowed.settings(options, self.parent.parts.settings)

    async def tools(self, found: Mapping[str, Tool]) -> dict[str, Tool]:
        """The tools it has: those of its parent, less what is hidden from it."""
        for name, tool in found.items():
            if isinstance(tool, RemoteTool) and not self.shares(name):
                await tool.aclose()  # so that no process waits for calls that never come
        return {name: tool for name, tool in found.items() if self.shares(name)}

    def take_up(self, conversation: Conversation) -> None:
        """Have a copy of the parent's conversation go on with what this thread is told beside."""
        from ferrule.context import message

        parents = self.parent.conversation
        conversation.told, conversation.first_told = parents.told, parents.first_told
        if self.options.developer_instructions:
            conversation.append(message("developer", self.options.developer_instructions))

    def shares(self, name: str) -> bool:
        """Whether the parent has a tool and lets it have it."""
        return name in self.parent.parts.tools and name not in self.options.hidden_tools


class Family:
    """One session among those it works for and those that work for it."""

    def __init__(
        self,
        service: ThreadService,
        options: ThreadOptions,
        session: LiveSession,
        conversation: Conversation,
        kin: Kin | None,
    ) -> None:
        self.session = session
        self.parts: SessionParts = session.parts
        self._service = service
        self._options = options
        self.conversation = conversation
        self._kin = kin
        self._children: list[Family] = []
        self._is_closing = False

    @property
    def facts(self) -> SessionFacts:
        """What holds from now on in the session."""
        return self.session.facts

    @property
    def lineage(self) -> tuple[str, ...]:
        """The threads above the session's, the root first."""
        if self._kin is None:
            return ()
        return (*self._kin.parent.lineage, self._kin.parent.thread_id)

    @property
    def thread_id(self) -> str:
        """The session's thread."""
        return self.session.thread["id"]

    @property
    def user_texts(self) -> tuple[str, ...]:
        """What the user wrote: to the root, as nobody but a model writes to the others."""
        if self._kin is not None:
            return self._kin.parent.user_texts
        return tuple(self.conversation.user_texts)

    def may_have(self, tool: str) -> bool:
        """Whether the session may have a tool; one that works for another has none of its own."""
        return self._kin is None or self._kin.shares(tool)

    def begin(self) -> None:
        """The session runs: from now on its parent ends it."""
        if self._kin is not None:
            self._kin.parent.adopt(self)

    def adopt(self, child: Family) -> None:
        """Take in a thread that works for this one."""
        self._children.append(child)

    def leave(self) -> None:
        """The session is closed."""
        if self._kin is not None and self in self._kin.parent._children:
            self._kin.parent._children.remove(self)

    async def open(self, options: ChildOptions) -> Session:
        """Open a thread that works for this one.

        Raises:
            FerruleError: It cannot be opened.
        """
        if self._is_closing:
            raise FerruleError(f"thread {self.thread_id} is closing; it can start no other one")
        if options.thread_id:
            options = self._as_it_was(options)
        from ferrule.child_config import narrowed_config  # most sessions start no other one

        narrowed = narrowed_config(
            self._options.config,
            self.parts.settings,
            options.settings,
            self.parts.context.project_root,
            self.parts.context.config,
        )
        shown = options.is_shown and self._options.on_child is not None
        queue = TwinQueue() if shown else None
        history = _answered(self.conversation.items) if options.copies_history else []
        kin = Kin(self, options, narrowed, queue, history)
        session = await self._service.open_child(
            options.thread_id, self._thread_options(options, narrowed), kin
        )
        try:
            self._hand_out(session, queue)
        except BaseException:
            await session.close()
            raise
        return session

    def _hand_out(self, session: LiveSession, queue: TwinQueue | None) -> None:
        if self._is_closing:
            raise FerruleError(f"thread {self.thread_id} has closed meanwhile")
        if queue is not None and self._options.on_child is not None:
            self._options.on_child(ClientView(session, queue))

    def _thread_options(self, options: ChildOptions, narrowed: Narrowed) -> ThreadOptions:
        own, settings = self._options, self.parts.settings
        asked = narrowed.kept.get("developer_instructions")
        developer = options.developer_instructions or (asked if isinstance(asked, str) else None)
        return ThreadOptions(
            narrowed.config,
            settings.cwd,
            source=options.source,
            ephemeral=options.ephemeral or own.ephemeral,
            extra_roots=settings.extra_roots,
            base_instructions=options.base_instructions or own.base_instructions,
            parent_thread_id=self.thread_id,
            developer_instructions=developer or own.developer_instructions,
            wants_diff=own.wants_diff,
            on_child=own.on_child if options.is_shown else None,
        )

    def _as_it_was(self, options: ChildOptions) -> ChildOptions:
        """Take up what a stored thread was started with; only one that this session started."""
        thread_id, store = options.thread_id, self._service.store
        if any(child.thread_id == thread_id for child in self._children):
            raise FerruleError(f"thread {thread_id} is open already")
        stored = store.find(thread_id)
        if stored is None or stored.thread_id != thread_id or stored.parent != self.thread_id:
            raise FerruleError(f"this thread has started no thread {thread_id}")
        meta = store.read(thread_id)[0]["payload"]
        settings = meta.get("agent_settings")
        return options._replace(
            name=options.name or str(meta.get("agent_nickname") or ""),
            role=options.role or str(meta.get("agent_role") or ""),
            settings=options.settings
            or (cast("Mapping[str, object]", settings) if isinstance(settings, dict) else {}),
        )

    async def inject(self, items: Sequence[Mapping[str, object]]) -> None:
        """Put items at the end of the session's history; no turn is started."""
        op: InjectItems = {
            "id": "",
            "method": "thread/inject_items",
            "params": {"threadId": self.thread_id, "items": [dict(item) for item in items]},
        }
        await self.session.perform(op)

    async def begin_turn(self) -> None:
        """Have the model go on without input of a user, unless it does so already."""
        op: TurnStart = {
            "id": "",
            "method": "turn/start",
            "params": {"threadId": self.thread_id, "input": []},
        }
        await self.session.submit(op)

    def interrupt(self) -> None:
        """End the running turns of all threads that work for this one."""
        for child in self._children:
            child.session.interrupt()

    async def ask(self, request: ServerRequest) -> Mapping[str, object]:
        """Put a question of this thread to the root's clients, and say who asks."""
        if self._kin is None:
            return await self.session.questions.ask(request)
        who = {
            "threadId": self.thread_id,
            "nickname": self._kin.options.name or None,
            "role": self._kin.options.role or None,
            "lineage": list(self.lineage),
        }
        params = {**request["params"], "agent": who}
        return await self.pass_on(cast("ServerRequest", {**request, "params": params}))

    async def pass_on(self, request: ServerRequest) -> Mapping[str, object]:
        """Put a question where a client hears it: here, or further up."""
        if self._kin is None or self._kin.queue is not None:
            return await self.session.questions.ask(request)
        return await self._kin.parent.pass_on(request)

    async def aclose(self) -> None:
        """Close every thread that works for this one, all at once."""
        self._is_closing = True
        async with anyio.create_task_group() as group:
            for child in list(self._children):
                group.start_soon(child.session.close)


class ClientView:
    """A thread as the root's client has it, with a stream of its own; satisfies `Session`."""

    def __init__(self, session: Session, queue: TwinQueue) -> None:
        self.thread: Thread = session.thread
        self._session = session
        self._queue = queue

    @property
    def facts(self) -> SessionFacts:
        """What holds from now on."""
        return self._session.facts

    async def submit(self, op: Op) -> None:
        """Queue an operation."""
        await self._session.submit(op)

    async def perform(self, op: Op) -> Mapping[str, str]:
        """Queue an operation and wait until it is taken."""
        return await self._session.perform(op)

    def events(self) -> AsyncIterator[Outgoing]:
        """Read events and questions in order."""
        return self._queue.twin.read()

    async def close(self) -> None:
        """Close the thread."""
        await self._session.close()


def _answered(items: Sequence[HistoryItem]) -> list[HistoryItem]:
    """A conversation up to the first call that has no answer yet: the one that copies it."""
    known = cast("Sequence[Mapping[str, object]]", items)
    answers = {each.get("call_id") for each in known if str(each["type"]).endswith("_output")}
    end = next(
        (
            place
            for place, each in enumerate(known)
            if str(each["type"]).endswith("_call") and each.get("call_id") not in answers
            if each.get("call_id") is not None
        ),
        len(items),
    )
    while end and known[end - 1]["type"] == "reasoning":
        end -= 1
    return list(items[:end])
