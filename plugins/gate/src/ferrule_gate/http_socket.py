"""One socket of the web server, which looks once more before it hangs up on a silent one."""

from __future__ import annotations

from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

SECOND_LOOK_S: Final = 1
"""What whoever is waited for in vain gets on top.

A process that stood still hears that the time is up before it has read what came meanwhile; and
the other end may have stood still with it.
"""


class HttpSocket(H11Protocol):
    """The library's, whose time limit for what is idle a stopped process does not use up."""

    def timeout_keep_alive_handler(self) -> None:
        """Close it unless something comes now."""
        hang_up = super().timeout_keep_alive_handler
        self.timeout_keep_alive_task = self.loop.call_later(SECOND_LOOK_S, hang_up)
