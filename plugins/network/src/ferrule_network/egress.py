"""The proxy as the kernel uses it: one per session, a door for each command.

Runs in the kernel's background, begun with the first command. Satisfies the contract's `Egress`.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from typing import TYPE_CHECKING

import anyio

from ferrule_hookspecs.egress import EgressAnswer, EgressFact, EgressQuestion, HostAccess
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.review import Amendment
from ferrule_hookspecs.sandbox import Door
from ferrule_network.gate import Gate
from ferrule_network.network_log import NetworkLog, Subject
from ferrule_network.proxy import Proxy
from ferrule_network.settings import settings_of
from ferrule_network.variables import PLACEHOLDER, proxy_variables, trust_variables

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ferrule_hookspecs.egress import EgressRequest
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_network.audit import AuditEvent
    from ferrule_network.credentials import Credential
    from ferrule_network.gate import Asker, Question
    from ferrule_network.interceptor import Interceptor
    from ferrule_network.rule import Target

_STARTING_S = 20.0
_LONGEST_PATH = 200
_DEFAULT_PORTS = {"http": 80, "https": 443}


class ProxyEgress:
    """The managed network of one session."""

    def __init__(self, context: PluginContext) -> None:
        """Check the settings; nothing is started before the first command.

        Raises:
            ConfigError: `[network]` holds something that cannot be used.
        """
        self._context = context
        self._settings = settings_of(context)
        self._interceptor, self._bundle = self._opening()
        self._log = NetworkLog(context.home)
        self._requests: dict[str, EgressRequest] = {}
        self._numbers = itertools.count(1)
        self._proxy: Proxy | None = None
        self._port = 0
        self._begun = False
        self._ready = anyio.Event()
        self._done = anyio.Event()
        self._stopped = anyio.Event()

    async def open(self, request: EgressRequest) -> CommandDoor:
        """Make a way out for one command.

        Raises:
            FerruleError: The proxy does not run, or a rule cannot be read.
        """
        settings = settings_of(self._context, request.presets, request.rules)
        proxy = await self._running()
        name = f"c{next(self._numbers)}"
        credential = proxy.issue(name)
        credential.settings = settings
        credential.ask = None if request.ask is None else _asker(request.ask)
        self._requests[name] = request
        variables = proxy_variables(
            credential, self._port, serves_loopback=settings.reach.serves_loopback
        )
        if self._bundle:
            variables |= trust_variables(self._bundle)
        for secret in settings.interception.secrets:
            variables |= dict.fromkeys(secret.variables, PLACEHOLDER)
        door = CommandDoor(
            proxy, credential, self._port, variables, lambda: self._requests.pop(name, None)
        )
        if self._bundle:
            key = os.path.join(os.path.dirname(self._bundle), "ca.key")
            door.door = door.door._replace(readable=(self._bundle,), unreadable=(key,))
        return door

    async def aclose(self) -> None:
        """End the proxy with everything that is open."""
        self._done.set()
        if self._proxy is not None:
            with anyio.move_on_after(_STARTING_S):
                await self._stopped.wait()

    def _opening(self) -> tuple[Interceptor | None, str]:
        """Make what opening tunnels needs, before any command runs; also the file it trusts."""
        if not self._settings.interception.hosts:
            return None, ""
        from ferrule_network.interceptor import Interceptor

        interceptor = Interceptor(self._context.home, self._context.environ)
        try:
            interceptor.prepare()
        except FerruleError as error:
            self._context.warn(f"no tunnel can be opened, so that those hosts are closed: {error}")
            return interceptor, ""
        return interceptor, os.path.realpath(interceptor.bundle)

    async def _running(self) -> Proxy:
        if self._done.is_set():
            raise FerruleError("the network proxy has ended with its session")
        if not self._begun:
            self._begun = True
            if self._context.runtime is None:
                raise FerruleError("the network proxy needs a running kernel")
            self._context.runtime.start(self._run, "the network proxy")
        with anyio.move_on_after(_STARTING_S):
            await self._ready.wait()
        if self._proxy is None:
            raise FerruleError("the network proxy does not run; start the session anew")
        return self._proxy

    async def _run(self) -> None:
        try:
            gate = Gate(self._settings, self._record, interceptor=self._interceptor)
            async with Proxy(gate) as proxy:
                self._port = await proxy.listen_tcp()
                self._proxy = proxy
                self._ready.set()
                await self._done.wait()
        finally:
            self._proxy = None
            self._ready.set()
            self._stopped.set()

    def _record(self, event: AuditEvent) -> None:
        request = self._requests.get(event.command)
        if request is None:
            subject = Subject(self._context.thread_id, "", "", ())
        else:
            subject = Subject(request.thread_id, request.turn_id, request.call_id, request.words)
        self._log.write(subject, event)
        if request is not None and request.tell is not None:
            request.tell(_fact(event))


class CommandDoor:
    """The way out of one command; satisfies the contract's `OpenDoor`."""

    def __init__(
        self,
        proxy: Proxy,
        credential: Credential,
        port: int,
        environment: Mapping[str, str],
        closed: Callable[[], object],
    ) -> None:
        self.door = Door(port, self._serve)
        self.environment = environment
        self._proxy = proxy
        self._credential = credential
        self._closed = closed
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """End every connection of the command."""
        if not self._loop.is_closed():
            self._proxy.revoke(self._credential)
        self._closed()

    def _serve(self, descriptor: int) -> None:
        """Take over a listening socket, in whatever thread."""
        try:
            link = socket.socket(fileno=descriptor)
        except OSError:
            os.close(descriptor)
            raise
        try:
            self._loop.call_soon_threadsafe(self._proxy.serve, link, self._credential)
        except RuntimeError:  # the loop is closed: the command is about to be killed
            link.close()


def _asker(ask: Callable[[EgressQuestion], Awaitable[EgressAnswer]]) -> Asker:
    async def answer(question: Question) -> EgressAnswer:
        access = _access(question.target)
        is_ruled = bool(question.rule)
        amendments: tuple[Amendment, ...] = ()
        if not is_ruled and _DEFAULT_PORTS.get(access.protocol) == access.port:
            # What asks by a rule would go on to ask: the strictest rule counts.
            amendments = (Amendment("network_host", (access.protocol, access.host)),)
        return await ask(EgressQuestion(access, _reason(question), is_ruled, amendments))

    return answer


def _reason(question: Question) -> str:
    """Why somebody is asked, and what for where the proxy has read it within a tunnel."""
    target = question.target
    if target.protocol != "https" or target.is_tunnel:
        return question.reason
    return f"{question.reason} ({target.method} {target.path[:_LONGEST_PATH]})"


def _access(target: Target) -> HostAccess:
    return HostAccess(target.host.text, target.port, target.protocol)


def _fact(event: AuditEvent) -> EgressFact:
    return EgressFact(
        event.kind,
        None if event.target is None else _access(event.target),
        event.reason,
        event.rule,
        event.address,
        event.sent,
        event.received,
    )
