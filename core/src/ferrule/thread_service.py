"""Opens threads: builds a session from its configuration, and starts its loop.

Satisfies the contract's `Threads`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, cast

from ferrule import __version__
from ferrule.attempt import confined
from ferrule.config.providers import built_in_providers
from ferrule.context_changes import begin_conversation, continue_conversation
from ferrule.event_queue import EventQueue
from ferrule.git_info import git_info
from ferrule.ids import uuid7
from ferrule.model_facts import doubt_about, facts_about, with_model
from ferrule.plugin_set import PluginSet
from ferrule.policy import mode_to_policy
from ferrule.recipes import RecipeBook, configured_recipes
from ferrule.recorder import Recorder
from ferrule.services import LiveServices
from ferrule.session import LiveSession
from ferrule.session_parts import SessionParts, Settings
from ferrule.session_view import close_view, open_view
from ferrule.stored_settings import inherited, read_settings, stored_facts
from ferrule.transcript import (
    copy_for_fork,
    first_turns,
    read_history,
    read_turns,
    spent_so_far,
)
from ferrule.usage import stored_usage
from ferrule.way_out import WayOut
from ferrule_hookspecs.errors import FerruleError, PluginError, SandboxUnavailableError
from ferrule_hookspecs.host import ThreadOptions
from ferrule_hookspecs.plugins import PluginContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule.conversation import Conversation
    from ferrule.kernel import LocalKernel
    from ferrule.manager import PluginManager
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.policies import ApprovalPolicy
    from ferrule_hookspecs.store import RolloutRecord, ThreadStore, ThreadWriter
    from ferrule_hookspecs.threads import Thread, Turn
    from ferrule_hookspecs.tools import Tool

_TOKEN_LIMIT: Final = 10_000
Source = Literal["startup", "resume", "fork"]


@dataclass(slots=True)
class _Opening:
    """What is known of a thread while it is being opened."""

    source: Source
    thread_id: str
    options: ThreadOptions
    records: Sequence[RolloutRecord] = ()
    writer: ThreadWriter | None = None
    forked_from: str | None = None
    history: list[HistoryItem] = field(default_factory=list["HistoryItem"])
    parts: SessionParts | None = None


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
        return await self._open(_Opening("startup", thread_id, options, writer=writer))

    async def resume(self, thread_id: str, options: ThreadOptions) -> Session:
        """Continue a stored thread.

        Raises:
            ThreadNotFoundError: There is none.
            ThreadBusyError: Somebody else writes it.
        """
        store = self._kernel.store(options.config.values)
        opening = _Opening("resume", thread_id, options, writer=store.open(thread_id))
        return await self._open(opening, lambda: _recall(opening, store.read(thread_id)))

    async def fork(self, thread_id: str, options: ThreadOptions) -> Session:
        """Open a new thread that begins with a copy of a stored one."""
        store = self._kernel.store(options.config.values)
        records = first_turns(store.read(thread_id), options.keep_turns)
        opening = _Opening("fork", uuid7(), options, forked_from=thread_id)
        if not options.ephemeral:
            opening.writer = store.create(opening.thread_id, created_at=time.time())
        return await self._open(opening, lambda: _recall(opening, records, copy=True))

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

    def _forget(self, session: LiveSession, recorder: Recorder) -> None:
        self._sessions.remove(session)
        self._kernel.unlisten(recorder.warning)

    async def _open(self, opening: _Opening, recall: Callable[[], None] = lambda: None) -> Session:
        """Build a session; whatever fails gives back the writer's lock."""
        try:
            recall()
            return await self._build(opening)
        except BaseException:
            if opening.parts is not None:
                await close_view(opening.parts)
            if opening.writer is not None:
                opening.writer.close()
            raise

    async def _build(self, opening: _Opening) -> Session:
        options = opening.options
        values = options.config.values
        queue = EventQueue()
        recorder = Recorder(opening.thread_id, opening.writer, queue)
        services = LiveServices()
        context = PluginContext(
            self._kernel.home,
            values,
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
        )
        manager = self._kernel.manager(values)
        plugins = PluginSet(manager, context, recorder.warning, options.config.allowed)
        plugins.check()
        settings = self._settings(opening, plugins, recorder)
        info = await facts_about(manager.hooks, context, plugins.provider_name, settings.model)
        settings = with_model(settings, info, values)
        parts = opening.parts = self._parts(opening, context, manager, plugins, recorder, settings)
        thread = _thread(opening, plugins.provider_name, settings)
        if opening.source == "startup":
            recorder.record("session_meta", _session_meta(opening, thread))
        self._kernel.listen(recorder.warning)
        await open_view(parts, is_new=opening.source != "resume")
        parts.recipes = await configured_recipes(manager.hooks, context)
        parts.tools = _with_own(await manager.session_tools(context), options, context)
        conversation = await self._conversation(opening, parts)
        services.bind(parts, conversation)
        session = LiveSession(
            thread,
            parts,
            conversation,
            spent=spent_so_far(opening.records),
            store=None if options.ephemeral else self._kernel.store(values),
            writer=opening.writer,
            on_closed=lambda session: self._forget(session, recorder),
        )
        if options.can_answer:
            parts.ask_client = session.questions.ask
        queue.put({"method": "thread/started", "params": {"thread": thread}})
        if options.inherits:
            usage = stored_usage(opening.records, opening.thread_id, settings.context_window)
            if usage is not None:
                queue.put(usage)
        for warning in (*options.config.warnings, *await _notices(parts)):
            recorder.warning(warning)
        _name_accepted_gaps(parts)
        await self._announce(parts, opening)
        self._sessions.append(session)
        self._kernel.group.start_soon(session.run, self._kernel.group)
        return session

    def _parts(
        self,
        opening: _Opening,
        context: PluginContext,
        manager: PluginManager,
        plugins: PluginSet,
        recorder: Recorder,
        settings: Settings,
    ) -> SessionParts:
        compactor = plugins.compactor
        return SessionParts(
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
            compactor=None if compactor is None else lambda: compactor,
            owner=self._kernel.owner,
            close_plugins=plugins.aclose,
            recorder=recorder,
            recipes=RecipeBook((), context),
            parent_thread_id=opening.options.parent_thread_id,
            provider_name=plugins.provider_name,
            policy_plugin=str(context.config.get("policy_plugin")),
            wants_diff=opening.options.wants_diff,
            way_out=WayOut(lambda: manager.hooks, context, recorder.warning),
        )

    def _settings(self, opening: _Opening, plugins: PluginSet, recorder: Recorder) -> Settings:
        """What the thread begins with: as configured, or as it was left where that is wanted."""
        settings = _configured(opening.options, plugins.reviewer_name)
        if not opening.options.inherits:
            return settings
        stored = read_settings(opening.records, plugins.provider_name)
        try:
            return inherited(settings, stored, opening.options.config, plugins.resolve_reviewer)
        except FerruleError as error:
            recorder.warning(f"the thread goes on with the configured settings: {error}")
            return settings

    async def _conversation(self, opening: _Opening, parts: SessionParts) -> Conversation:
        """Write what a thread begins with, unless it goes on from what is stored."""
        if opening.source == "startup":
            return await begin_conversation(parts, opening.options)
        return await continue_conversation(parts, opening.records, opening.history)

    async def _announce(self, parts: SessionParts, opening: _Opening) -> None:
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


def _recall(opening: _Opening, records: Sequence[RolloutRecord], *, copy: bool = False) -> None:
    """Take over a stored thread's history, and for a fork copy its records."""
    options = opening.options
    opening.records = records
    opening.history = read_history(records)
    if copy and opening.writer is not None:
        changes = {"cwd": options.cwd, "source": options.source, "name": options.name}
        for type_, payload in copy_for_fork(records, opening.thread_id, changes):
            opening.writer.append(type_, payload)


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


def _configured(options: ThreadOptions, reviewer: str) -> Settings:
    values = options.config.values
    return Settings(
        model=str(values.get("model")),
        cwd=options.cwd,
        approval_policy=cast("ApprovalPolicy", values.get("approval_policy")),
        sandbox_policy=mode_to_policy(values, None),
        reviewer=reviewer,
        service_tier=_text(values.get("service_tier")),
        extra_roots=tuple(options.extra_roots),
        reasoning_effort=_text(values.get("model_reasoning_effort")),
        reasoning_summary=_text(values.get("model_reasoning_summary")),
        verbosity=_text(values.get("model_verbosity")),
        output_token_limit=_number(values.get("tool_output_token_limit")) or _TOKEN_LIMIT,
    )


async def _notices(parts: SessionParts) -> list[str]:
    """What a user should know about the provider and the model."""
    notice = getattr(parts.provider, "notice", None)
    notices = [notice] if isinstance(notice, str) else []
    provider, model = parts.provider_name, parts.settings.model
    if parts.settings.model_info is None and provider in built_in_providers():
        doubt = await doubt_about(parts.hooks, parts.context, provider, model)
        notices += [doubt] if doubt else []
    return notices


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _thread(opening: _Opening, provider: str, settings: Settings) -> Thread:
    now = int(time.time())
    options = opening.options
    known, is_new = stored_facts(opening.records), opening.source != "resume"
    return {
        "id": opening.thread_id,
        "sessionId": opening.thread_id,
        "preview": known.preview,
        "modelProvider": provider,
        "model": settings.model,
        "cwd": options.cwd,
        "cliVersion": __version__,
        "source": options.source,
        "ephemeral": options.ephemeral,
        "createdAt": now if is_new else known.created_at or now,
        "updatedAt": now,
        "status": {"type": "idle"},
        "turns": [],
        "projectId": None,
        "name": options.name or (None if is_new else known.name),
        "path": None if opening.writer is None else opening.writer.path,
        "forkedFromId": opening.forked_from if is_new else known.forked_from,
        "parentThreadId": options.parent_thread_id,
        "gitInfo": git_info(options.cwd),
    }


def _session_meta(opening: _Opening, thread: Thread) -> dict[str, object]:
    return {
        "id": opening.thread_id,
        "session_id": opening.thread_id,
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cwd": thread["cwd"],
        "originator": f"ferrule_{thread['source']}",
        "cli_version": __version__,
        "source": thread["source"],
        "model_provider": thread["modelProvider"],
        "parent_thread_id": opening.options.parent_thread_id,
        "name": opening.options.name,
        "git": thread.get("gitInfo"),
    }
