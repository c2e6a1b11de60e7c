"""The same library without `async`: the same names, each call waits for its end.

The event loop runs in a thread of its own. Callbacks run there if they are asynchronous, else in
worker threads, and may call anything here. A Ctrl-C during a call cancels the call.
"""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

import anyio

from ferrule_sdk.client import Ferrule as AsyncFerrule
from ferrule_sdk.errors import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from anyio.from_thread import BlockingPortal
    from typing_extensions import Unpack

    from ferrule_hookspecs.change_review import ReviewFindings
    from ferrule_hookspecs.events import Event
    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.threads import Thread as ThreadFacts
    from ferrule_sdk.facts import ModelFacts
    from ferrule_sdk.options import FerruleOptions, ThreadOptions, TurnOptions, Where
    from ferrule_sdk.rpc import Json
    from ferrule_sdk.thread import Thread as AsyncThread
    from ferrule_sdk.turn import Turn as AsyncTurn
    from ferrule_sdk.turn import TurnResult

    F = TypeVar("F", bound=Callable[..., object])
    Prompt = str | Sequence[UserInput]

__all__ = ["Ferrule", "Thread", "Turn"]

R = TypeVar("R")
T = TypeVar("T")
_CANCEL_S: Final = 10.0


class _Call(Generic[R]):
    """One call into the event loop, which can be left at any moment."""

    def __init__(self, function: Callable[[], Awaitable[R]]) -> None:
        self._function = function
        self._scope: anyio.CancelScope | None = None
        self._has_ended = threading.Event()

    async def run(self) -> R:
        """Make the call; in the event loop."""
        try:
            with anyio.CancelScope() as self._scope:
                return await self._function()
            raise CancelledError
        finally:
            self._has_ended.set()

    def abandon(self, portal: BlockingPortal) -> None:
        """Cancel it and wait for its end: it may have a turn to interrupt."""
        if not self._has_ended.is_set():
            portal.call(self._cancel)
            if self._scope is not None:
                self._has_ended.wait(_CANCEL_S)

    def _cancel(self) -> None:
        if self._scope is not None:
            self._scope.cancel()


class _Loop:
    """Calls into the event loop."""

    def __init__(self) -> None:
        self.portal: BlockingPortal | None = None

    def call(self, function: Callable[[], Awaitable[R]]) -> R:
        """Wait for the end of an asynchronous call."""
        if self.portal is None:
            raise ConnectionLostError("this Ferrule is not open: use `with Ferrule() as f:`")
        call = _Call(function)
        try:
            return self.portal.start_task_soon(call.run).result()
        except BaseException:  # also a Ctrl-C, at any of these steps
            call.abandon(self.portal)
            raise

    def iterate(self, source: AsyncIterator[R]) -> Iterator[R]:
        """Walk through what an asynchronous iterator gives."""
        end = object()

        async def following() -> R | object:
            return await anext(source, end)

        async def close() -> None:
            if closing := getattr(source, "aclose", None):
                await closing()

        try:
            while (found := self.call(following)) is not end:
                yield found  # pyright: ignore[reportReturnType] -- it is not the end mark
        finally:
            if self.portal is not None:
                self.call(close)


class Ferrule:
    """A connection to a Ferrule server, which by default runs inside of this process.

    Example:
        with Ferrule() as f:
            print(f.thread().run("What does this project do?").text)
    """

    def __init__(self, **options: Unpack[FerruleOptions]) -> None:
        """Take the options; nothing is opened yet."""
        self._async = AsyncFerrule(**options)
        self._loop = _Loop()
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        """Open the channel and shake hands."""
        from anyio.from_thread import start_blocking_portal

        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self._async))
            self._loop.portal = portal
            self._exit = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the channel; a server that was started here ends, with all that runs in it."""
        self._loop.portal = None
        # Not the error: a KeyboardInterrupt that is raised in an event loop ends the loop itself.
        self._exit.__exit__(None, None, None)

    def thread(self, **options: Unpack[ThreadOptions]) -> Thread:
        """Open a new thread."""
        return self._opened(lambda: self._async.thread(**options))

    def resume(self, thread_id: str, **options: Unpack[ThreadOptions]) -> Thread:
        """Go on with a thread that is stored, or open on the server already."""
        return self._opened(lambda: self._async.resume(thread_id, **options))

    def fork(self, thread_id: str, **options: Unpack[ThreadOptions]) -> Thread:
        """Open a new thread that begins with a copy of another."""
        return self._opened(lambda: self._async.fork(thread_id, **options))

    def threads(
        self,
        *,
        archived: bool = False,
        cwd: Where | None = None,
        search: str | None = None,
        limit: int | None = None,
    ) -> list[ThreadFacts]:
        """List stored threads, newest first, without their turns."""
        listing = self._async.threads
        return self._loop.call(
            lambda: listing(archived=archived, cwd=cwd, search=search, limit=limit)
        )

    def models(self) -> list[ModelFacts]:
        """List the models that can be chosen."""
        return self._loop.call(self._async.models)

    def call(self, method: str, params: Mapping[str, object] | None = None) -> Json:
        """Call any method of the protocol."""
        return self._loop.call(lambda: self._async.call(method, params))

    def notifications(self) -> Iterator[Event]:
        """Read all that the server says by itself from now on, of every thread."""
        return self._loop.iterate(self._async.notifications())

    @overload
    def tool(self, function: F) -> F: ...
    @overload
    def tool(self, *, name: str) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, *, name: Any = None) -> Any:
        """Let the model call a function in threads that are opened from now on; a decorator."""
        return self._async.tool(name=name) if function is None else self._async.tool(function)

    def _opened(self, function: Callable[[], Awaitable[AsyncThread]]) -> Thread:
        return Thread(self._loop, self._loop.call(function))


class Thread:
    """A conversation.

    Attributes:
        id: The thread.
        facts: The thread in wire form, as it was when it was opened.
        model: The model it was opened with.
        cwd: Where it works.
    """

    def __init__(self, loop: _Loop, thread: AsyncThread) -> None:
        self._loop = loop
        self._async = thread
        self.id = thread.id
        self.facts = thread.facts
        self.model = thread.model
        self.cwd = thread.cwd

    @property
    def running(self) -> Turn[None] | None:
        """The turn that runs, whoever started it; None where none does."""
        turn = self._async.running
        return None if turn is None else Turn(self._loop, turn)

    @overload
    def run(
        self, prompt: Prompt, *, schema: None = None, **options: Unpack[TurnOptions]
    ) -> TurnResult[None]: ...
    @overload
    def run(
        self, prompt: Prompt, *, schema: type[T], **options: Unpack[TurnOptions]
    ) -> TurnResult[T]: ...
    @overload
    def run(
        self, prompt: Prompt, *, schema: Mapping[str, object], **options: Unpack[TurnOptions]
    ) -> TurnResult[Any]: ...
    def run(
        self, prompt: Prompt, *, schema: Any = None, **options: Unpack[TurnOptions]
    ) -> TurnResult[Any]:
        """Run a turn to its end; Ctrl-C interrupts it."""
        return self._loop.call(lambda: self._async.run(prompt, schema=schema, **options))

    def stream(self, prompt: Prompt, **options: Unpack[TurnOptions]) -> Iterator[Event]:
        """Run a turn and read what happens; leaving the loop early interrupts the turn."""
        return self._loop.iterate(self._async.stream(prompt, **options))

    @overload
    def start(
        self, prompt: Prompt, *, schema: None = None, **options: Unpack[TurnOptions]
    ) -> Turn[None]: ...
    @overload
    def start(
        self, prompt: Prompt, *, schema: type[T], **options: Unpack[TurnOptions]
    ) -> Turn[T]: ...
    @overload
    def start(
        self, prompt: Prompt, *, schema: Mapping[str, object], **options: Unpack[TurnOptions]
    ) -> Turn[Any]: ...
    def start(
        self, prompt: Prompt, *, schema: Any = None, **options: Unpack[TurnOptions]
    ) -> Turn[Any]:
        """Start a turn and go on at once; where one runs already it is told the prompt."""
        turn = self._loop.call(lambda: self._async.start(prompt, schema=schema, **options))
        return Turn(self._loop, turn)

    def rename(self, name: str) -> None:
        """Give the thread a name."""
        self._loop.call(lambda: self._async.rename(name))

    def review(
        self,
        instructions: str | None = None,
        *,
        base: str | None = None,
        commit: str | None = None,
        title: str | None = None,
    ) -> TurnResult[ReviewFindings]:
        """Have changes reviewed: what is staged, changed or untracked, unless more is said."""
        review = self._async.review
        return self._loop.call(lambda: review(instructions, base=base, commit=commit, title=title))

    def compact(self) -> None:
        """Have the history made shorter; it begins at once and is a turn of its own."""
        self._loop.call(self._async.compact)

    def archive(self) -> None:
        """Put the thread away; it is kept, but neither listed nor gone on with."""
        self._loop.call(self._async.archive)

    def read(self) -> ThreadFacts:
        """Read the thread with all of its turns."""
        return self._loop.call(self._async.read)

    def unsubscribe(self) -> None:
        """Hear nothing more of it; what runs in it goes on."""
        self._loop.call(self._async.unsubscribe)


class Turn(Generic[T]):
    """A turn that was started. Iterate over it for its events, or call `result()`, or both.

    Attributes:
        id: The turn.
        thread_id: Its thread.
    """

    def __init__(self, loop: _Loop, turn: AsyncTurn[T]) -> None:
        self._loop = loop
        self._async = turn
        self.id = turn.id
        self.thread_id = turn.thread_id

    @property
    def is_running(self) -> bool:
        """Whether more may come."""
        return self._async.is_running

    def result(self) -> TurnResult[T]:
        """Wait for the end."""
        return self._loop.call(self._async.result)

    def events(self) -> Iterator[Event]:
        """Read what happens, in wire form, `turn/completed` last; once, by one reader."""
        return self._loop.iterate(self._async.events())

    def __iter__(self) -> Iterator[Event]:
        return self.events()

    def text_deltas(self) -> Iterator[str]:
        """Read the model's messages as they are written; once, instead of the events."""
        return self._loop.iterate(self._async.text_deltas())

    def steer(self, prompt: str, images: Sequence[Where] = ()) -> None:
        """Tell the model something while it works; it hears it with its next request."""
        self._loop.call(lambda: self._async.steer(prompt, images))

    def interrupt(self) -> None:
        """End the turn, with every command it runs; nothing happens where it has ended."""
        self._loop.call(self._async.interrupt)
