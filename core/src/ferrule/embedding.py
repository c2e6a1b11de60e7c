"""A kernel inside of another program's event loop; called by the Python library.

The `ferrule` command owns its process: it takes the signals and every stray child. Here the process
belongs to somebody else, so the kernel takes no signals and ends only what its own commands left.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from ferrule_hookspecs.host import Kernel

__all__ = ["open_kernel"]


@asynccontextmanager
async def open_kernel(
    home: Path | None = None, environ: Mapping[str, str] | None = None
) -> AsyncGenerator[Kernel]:
    """Run a kernel until the block is left; nothing stays behind.

    Args:
        home: `$FERRULE_HOME`; by default what the environment says.
        environ: The environment; by default that of this process.

    Raises:
        FerruleError: What is installed cannot be read.
    """
    from ferrule.cli import home_folder
    from ferrule.guest_owner import GuestOwner
    from ferrule.host import LocalHost
    from ferrule.kernel import LocalKernel

    given = _environment(home, environ)
    host = LocalHost(home_folder(given), given)
    # The first look at what is installed takes seconds, which the event loop is not kept waiting.
    await anyio.to_thread.run_sync(lambda: host.index)
    failure: BaseException | None = None
    async with anyio.create_task_group() as group:
        kernel = LocalKernel(host, group, GuestOwner())
        try:
            yield kernel
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 -- raised below
            failure = error
        finally:
            with anyio.CancelScope(shield=True):
                await kernel.aclose()
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure


def _environment(home: Path | None, environ: Mapping[str, str] | None) -> dict[str, str]:
    given = dict(os.environ if environ is None else environ)
    if home is not None:
        given["FERRULE_HOME"] = os.path.abspath(home)
    return given
