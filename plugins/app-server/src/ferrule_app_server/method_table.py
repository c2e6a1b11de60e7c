"""Finds what answers a method: built-in ones by name, then those of plugins, then fallbacks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule_app_server.catalogue import (
    EXPERIMENTAL,
    EXPERIMENTAL_FIELDS,
    METHODS,
    PARAMETERLESS,
)
from ferrule_app_server.routes import FALLBACK_ROUTES, OTHER_ROUTES, THREAD_ROUTES
from ferrule_hookspecs.serving import RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ferrule_app_server.envelope import Request

_PUBLISHED: Final = frozenset(METHODS)
_GATED: Final = EXPERIMENTAL


class MethodTable:
    """The methods of one server."""

    def __init__(self, gather: Callable[[], Awaitable[Sequence[RpcMethod]]]) -> None:
        self._gather = gather
        self._gathering: anyio.Event | None = None
        self._known: dict[str, RpcMethod] = {}
        self._added: dict[str, RpcMethod] = {}

    async def load(self) -> None:
        """Gather what plugins add, once; others who call this wait for the first."""
        if self._gathering is not None:
            await self._gathering.wait()
            return
        self._gathering = anyio.Event()
        try:
            self._added = {method.name: method for method in await self._gather()}
        finally:
            self._gathering.set()

    async def find(self, name: str) -> RpcMethod:
        """Return the method of a name.

        Raises:
            RpcError: There is none, or nothing here answers it.
        """
        known = self._known.get(name) or self._built_in(name, THREAD_ROUTES, OTHER_ROUTES)
        if known is not None:
            return known
        await self.load()
        found = self._added.get(name) or self._built_in(name, FALLBACK_ROUTES)
        if found is not None:
            self._known[name] = found
            return found
        if name in _PUBLISHED:
            raise RpcError(f"{name} is not supported by this server")
        names = dict.fromkeys((*METHODS, *self._added))
        listed = ", ".join(f"`{each}`" for each in names)
        raise RpcError(f"Invalid request: unknown variant `{name}`, expected one of {listed}")

    def _built_in(self, name: str, *tables: Mapping[str, str]) -> RpcMethod | None:
        for table in tables:
            if name in table:
                module = import_module(table[name])
                for method in cast("Sequence[RpcMethod]", module.METHODS):
                    self._known[method.name] = method
                return self._known.get(name)
        return None


def is_published(name: str) -> bool:
    """Whether the published protocol has a method of this name."""
    return name in _PUBLISHED


def check_gate(request: Request) -> None:
    """Refuse what the published protocol keeps for clients that ask for what is experimental.

    Raises:
        RpcError: The method or one of its parameters is experimental.
    """
    name = request.method
    if name in _GATED:
        raise RpcError(f"{name} requires experimentalApi capability")
    if isinstance(request.params, dict):
        params = cast("Mapping[str, object]", request.params)
        for field in EXPERIMENTAL_FIELDS.get(name, ()):
            if params.get(field) is not None:
                raise RpcError(f"{name}.{field} requires experimentalApi capability")


def parameters(request: Request, method: RpcMethod) -> Mapping[str, object]:
    """Return the checked parameters of a request.

    Raises:
        RpcError: They do not fit.
    """
    params = request.params
    if params is None and request.method in PARAMETERLESS:
        params = cast("object", {})
    if method.params is not None:
        from ferrule_app_server.params import validated

        return validated(method.params, params)
    if params is None and request.method in _PUBLISHED:
        raise RpcError("Invalid request: missing field `params`")
    if params is not None and not isinstance(params, dict):
        raise RpcError("Invalid request: `params` is not an object")
    return cast("Mapping[str, object]", params or {})
