"""What the methods keep for each client, until it is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_hookspecs.serving import RpcClient


class Closable(Protocol):
    """Something that ends with its client."""

    async def aclose(self) -> None:
        """End it."""
        ...


T = TypeVar("T", bound=Closable)


class PerClient(Generic[T]):
    """One value for each client that needs it."""

    def __init__(self, make: Callable[[], T]) -> None:
        """Make values with `make`, when they are first asked for."""
        self._make = make
        self._values: dict[RpcClient, T] = {}

    def of(self, client: RpcClient) -> T:
        """Return the client's value."""
        value = self._values.get(client)
        if value is None:
            value = self._values[client] = self._make()

            async def end() -> None:
                ended = self._values.pop(client, None)
                if ended is not None:
                    await ended.aclose()

            client.on_close(end)
        return value
