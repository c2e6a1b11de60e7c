"""The kernel as a stranger's RPC method has it: it changes the table of its plugin only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ferrule.held_runtime import Hold, held_runtime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.host import Config, ConfigEdit, ConfigRequest, Kernel
    from ferrule_hookspecs.plugins import Runtime
    from ferrule_hookspecs.serving import RpcCall, RpcMethod


class HeldKernel:
    """Passes on what is asked for; together with that it satisfies the contract's `Kernel`."""

    def __init__(self, kernel: Kernel, hold: Hold) -> None:
        self._kernel = kernel
        self._hold = hold

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- whatever a kernel has
        return getattr(self._kernel, name)

    @property
    def runtime(self) -> Runtime:
        """Keeps programs and background work; the one that the plugin's hooks are given."""
        return held_runtime(self._kernel.runtime, self._hold)

    def write_config(
        self,
        request: ConfigRequest,
        edits: Sequence[ConfigEdit],
        *,
        expected_version: str | None = None,
    ) -> Config:
        """Change the plugin's own table in the user's configuration file.

        Raises:
            ConfigError: One of the edits is about something else; none is made.
        """
        self._hold.check(edits)
        return self._kernel.write_config(request, edits, expected_version=expected_version)


def held_method(method: RpcMethod, hold: Hold) -> RpcMethod:
    """Return a method that is called with the kernel as its plugin may have it."""

    async def handler(call: RpcCall) -> Mapping[str, object]:
        kernel = cast("Kernel", HeldKernel(call.kernel, hold))
        return await method.handler(call._replace(kernel=kernel))

    return method._replace(handler=handler)
