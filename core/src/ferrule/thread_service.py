"""Opens threads: builds a session from its configuration, and starts its loop.

Satisfies the contract's `Threads`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ferrule.attempt import confined
from ferrule.budgets import Budgets
from ferrule.checkouts import checkout_notices, mark_checkouts
from ferrule.config.providers import built_in_providers
from ferrule.context_changes import begin_conversation, continue_conversation
from ferrule.deprecations import deprecation_notices
from ferrule.event_queue import EventQueue
from ferrule.family import Family
from ferrule.hook_times import MEASURED
from ferrule.ids import uuid7
from ferrule.kept_values import KeptValues
from ferrule.model_facts import doubt_about, facts_about, with_model
from ferrule.opening import Opening, configured, give_up, recall, session_meta, wire_thread
from ferrule.plugin_set import PluginSet
from ferrule.recipes import RecipeBook, configured_recipes
from ferrule.recorder import Recorder
from ferrule.reloading import Reloading, Scope
from ferrule.services import LiveServices
from ferrule.session import LiveSession
from ferrule.session_parts import SessionParts, Settings
from ferrule.session_view import open_view
from ferrule.stored_settings import inherited, read_settings
from ferrule.transcript import (
    first_turns,
    read_history,
    read_turns,
)
from ferrule.usage import stored_usage
from ferrule.way_out import WayOut
from ferrule_hookspecs.errors import FerruleError, PluginError, SandboxUnavailableError
from ferrule_hookspecs.host import ThreadOptions
from ferrule_hookspecs.plugins import PluginContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule.conversation import Conversation
    from ferrule.family import Kin
    from ferrule.kernel import LocalKernel
    from ferrule.manager import PluginManager
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.store import ThreadStore
    from ferrule_hookspecs.threads import Turn
    from ferrule_hookspecs.tools import Tool


class ThreadService:
    """Opens and keeps the threads of one kernel."""

    def __init__(self, kernel: LocalKernel) -> None:
        self._kernel = kernel
        self._sessions: list[LiveSession] = []

    @property
    def store(self) -> ThreadStore:
        """The configured store, or the kernel's own where no thread was opened yet."""
        return self._kernel.store({})

    async def start(self, options: ThreadOptions) -> Session:
        """Open a new thread."""
        thread_id = uuid7()
        writer = None
        if not options.ephemeral:
            store = self._kernel.store(options.config.values)
            writer = store.create(thread_id, created_at=time.time())
        return await self._open(Opening("startup", thread_id, options, writer=writer))

    async def resume(self, thread_id: str, options: ThreadOptions) -> Session:
        """Continue a stored thread.

        Raises:
            ThreadNotFoundError: There is none.
            ThreadBusyError: Somebody else writes it.
        """
        store = self._kernel.store(options.config.values)
        opening = Opening("resume", thread_id, options, writer=store.open(thread_id))
        return await self._open(opening, lambda: recall(opening, store.read(thread_id)))

    async def fork(self, thread_id: str, options: ThreadOptions) -> Session:
        """Open a new thread that begins with a copy of a stored one."""
        store = self._kernel.store(options.config.values)
        records = first_turns(store.read(thread_id), options.keep_turns)
        opening = Opening("fork", uuid7(), options, forked_from=thread_id)
        if not options.ephemeral:
            opening.writer = store.create(opening.thread_id, created_at=time.time())
        return await self._open(opening, lambda: recall(opening, records, copy=True))

    def history(self, thread_id: str) -> Sequence[HistoryItem]:
        """Read the model's side of a stored thread."""
        return read_history(self.store.read(thread_id))

    def turns(self, thread_id: str) -> Sequence[Turn]:
        """Read the turns of a stored thread with their items, oldest first."""
        return read_turns(self.store.read(thread_id))

    async def aclose(self) -> None:
        """Close every session that is still open."""
        import anyio

        async with anyio.create_task_group() as group:
            for session in list(self._sessions):
                group.start_soon(session.close)

    async def open_child(self, thread_id: str, options: ThreadOptions, kin: Kin) -> LiveSession:
        """Open a thread that works for another: a new one, or a stored one by its id."""
        store = self._kernel.store(options.config.values)
        if thread_id:
            opening = Opening("resume", thread_id, options, writer=store.open(thread_id), kin=kin)
            return await self._open(opening, lambda: recall(opening, store.read(thread_id)))
        opening = Opening("startup", uuid7(), options, kin=kin)
        if not options.ephemeral:
            opening.writer = store.create(opening.thread_id, created_at=time.time())
        return await self._open(opening)

    def _forget(self, session: LiveSession, recorder: Recorder) -> None:
        if session.parts.family is not None:
            session.parts.family.leave()
        self._sessions.remove(session)
        if not self._sessions:  # where there was none, as in a look at rules, nothing is written
            MEASURED.save(self._kernel.home)
        self._kernel.unlisten(recorder.warning)

    async def _open(
        self, opening: Opening, recall: Callable[[], None] = lambda: None
    ) -> LiveSession:
        """Build a session; whatever fails gives back what it holds, the writer's lock at last."""
        try:
            recall()
            return await self._build(opening)
        except BaseException:
            await self._give_up(opening)
            raise

    async def _give_up(self, opening: Opening) -> None:
        parts = opening.parts
        if parts is not None and parts.family is not None:
            self._begin(parts.family.session)
            await parts.family.session.close()
            return
        try:
            await give_up(opening)
        finally:
            if parts is not None:
                self._kernel.unlisten(parts.recorder.warning)
            if opening.writer is not None:
                opening.writer.close()

    def _begin(self, session: LiveSession) -> None:
        self._sessions.append(session)
        self._kernel.group.start_soon(session.run, self._kernel.group)

    async def _build(self, opening: Opening) -> LiveSession:
        options = opening.options
        values = options.config.values
        kin = opening.kin
        queue = EventQueue() if kin is None or kin.queue is None else kin.queue
        recorder = Recorder(opening.thread_id, opening.writer, queue)
        if kin is not None:
            recorder.told_above = kin.parent.parts.recorder.heard
        services = LiveServices()
        context = self._context(opening, recorder, services)
        await self._kernel.generations.refresh()
        manager = self._kernel.manager(values)
        manager.settings.check(options.config)
        plugins = PluginSet(manager, context, recorder.warning, options.config.allowed)
        plugins.check()
        settings = self._settings(opening, plugins, recorder)
        info = await facts_about(manager.hooks, context, plugins.provider_name, settings.model)
        settings = with_model(settings, info, values)
        parts = opening.parts = self._parts(opening, context, manager, plugins, recorder, settings)
        thread = wire_thread(opening, plugins.provider_name, settings)
        mark_checkouts(thread, manager.usable())
        if opening.source == "startup":
            recorder.record("session_meta", session_meta(opening, thread))
        self._kernel.listen(recorder.warning)
        parts.offer.recall(opening.records)
        await open_view(parts, is_new=opening.source != "resume")
        parts.recipes = await configured_recipes(manager.hooks, context)
        parts.tools = _with_own(await manager.session_tools(context), options, context)
        parts.tools = parts.tools if kin is None else await kin.tools(parts.tools)
        conversation = await self._conversation(opening, parts)
        services.bind(parts, conversation)
        session = LiveSession(
            thread,
            parts,
            conversation,
            store=None if options.ephemeral else self._kernel.store(values),
            writer=opening.writer,
            on_closed=lambda session: self._forget(session, recorder),
        )
        family = parts.family = Family(self, options, session, conversation, kin)
        services.join(family)
        if options.can_answer or (kin is not None and kin.parent.parts.ask_client is not None):
            parts.ask_client = family.ask
        queue.put({"method": "thread/started", "params": {"thread": thread}})
        if options.inherits:
            usage = stored_usage(opening.records, opening.thread_id, settings.context_window)
            if usage is not None:
                queue.put(usage)
        notices = [*checkout_notices(thread), *deprecation_notices(manager.usable())]
        notices += await _notices(parts)
        for warning in (*options.config.warnings, *notices):
            recorder.warning(warning)
        _name_accepted_gaps(parts)
        await self._announce(parts, opening)
        self._begin(session)
        family.begin()
        return session

    def _context(
        self, opening: Opening, recorder: Recorder, services: LiveServices
    ) -> PluginContext:
        """What plugins may know of the session."""
        options = opening.options
        return PluginContext(
            self._kernel.home,
            options.config.values,
            options.cwd,
            opening.thread_id,
            self._kernel.environ,
            project_root=options.config.project_root,
            is_trusted=options.config.is_trusted,
            warn=recorder.warning,
            thread_file="" if opening.writer is None else str(opening.writer.path or ""),
            emit=recorder.emit,
            runtime=self._kernel.runtime,
            services=services,
            role="" if opening.kin is None else opening.kin.options.role,
        )

    def _parts(
        self,
        opening: Opening,
        context: PluginContext,
        manager: PluginManager,
        plugins: PluginSet,
        recorder: Recorder,
        settings: Settings,
    ) -> SessionParts:
        above = None if opening.kin is None else opening.kin.parent.parts
        parts = SessionParts(
            context=context,
            settings=settings,
            hooks=manager.hooks,
            provider=plugins.provider,
            tools={},
            reviewer=plugins.reviewer,
            resolve_reviewer=plugins.resolve_reviewer,
            review_provider=plugins.review_provider,
            backend=plugins.backend,
            allowed=opening.options.config.allowed,
            unconfined=lambda: plugins.unconfined,
            compactor=plugins.compactor,
            owner=self._kernel.owner,
            close_plugins=plugins.aclose,
            recorder=recorder,
            budgets=Budgets(recorder, context.config, opening.records, above and above.budgets),
            kept=KeptValues(recorder, opening.records),
            recipes=RecipeBook((), context),
            parent_thread_id=opening.options.parent_thread_id,
            parent=above,
            provider_name=plugins.provider_name,
            policy_plugin=str(context.config.get("policy_plugin")),
            wants_diff=opening.options.wants_diff,
        )
        parts.way_out = WayOut(lambda: parts.hooks, context, recorder.warning)
        scope = Scope(opening.options.config, opening.kin and opening.kin.shares)
        parts.reloading = Reloading(self._kernel.generations, parts, plugins, manager, scope)
        return parts

    def _settings(self, opening: Opening, plugins: PluginSet, recorder: Recorder) -> Settings:
        """What the thread begins with: as configured, or as it was left where that is wanted."""
        if opening.kin is not None:
            return opening.kin.settings(opening.options)
        settings = configured(opening.options, plugins.reviewer_name)
        if not opening.options.inherits:
            return settings
        stored = read_settings(opening.records, plugins.provider_name)
        try:
            return inherited(settings, stored, opening.options.config, plugins.resolve_reviewer)
        except FerruleError as error:
            recorder.warning(f"the thread goes on with the configured settings: {error}")
            return settings

    async def _conversation(self, opening: Opening, parts: SessionParts) -> Conversation:
        """Write what a thread begins with, unless it goes on from what is stored."""
        if opening.source == "startup":
            copied = () if opening.kin is None else opening.kin.history
            conversation = await begin_conversation(parts, opening.options, copied)
            if opening.kin is not None and copied:
                opening.kin.take_up(conversation)
            return conversation
        return await continue_conversation(parts, opening.records, opening.history)

    async def _announce(self, parts: SessionParts, opening: Opening) -> None:
        await parts.hooks.observe(
            "ferrule_session_start", context=parts.context, source=opening.source
        )
        if parts.parent_thread_id is not None:
            await parts.hooks.observe(
                "ferrule_subagent_start",
                context=parts.context,
                parent_thread_id=parts.parent_thread_id,
            )


def _name_accepted_gaps(parts: SessionParts) -> None:
    """Have a session that may do without something say so before it does anything."""
    if parts.context.config.get("sandbox_accept_gaps"):
        try:
            confined(parts)
        except SandboxUnavailableError as error:
            parts.recorder.warning(str(error))


def _with_own(
    tools: Sequence[Tool], options: ThreadOptions, context: PluginContext
) -> Mapping[str, Tool]:
    """Put the tools that the front end brings behind those of the session.

    Raises:
        PluginError: A name is taken.
    """
    named = {tool.name: tool for tool in tools}
    for tool in () if options.tools is None else options.tools(context):
        if tool.name in named:
            raise PluginError(f"the tool {tool.name!r} is there already; give it another name")
        named[tool.name] = tool
    return named


async def _notices(parts: SessionParts) -> list[str]:
    """What a user should know about the provider and the model."""
    notice = getattr(parts.provider, "notice", None)
    notices = [notice] if isinstance(notice, str) else []
    provider, model = parts.provider_name, parts.settings.model
    if parts.settings.model_info is None and provider in built_in_providers():
        doubt = await doubt_about(parts.hooks, parts.context, provider, model)
        notices += [doubt] if doubt else []
    return notices
