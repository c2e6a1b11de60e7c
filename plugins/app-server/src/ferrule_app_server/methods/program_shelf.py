"""The programs a client runs, by the names it gave them; they end with the client."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, cast

from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_app_server.methods.client_program import ClientProgram


class ProgramShelf:
    """Programs of one client by name."""

    def __init__(self, known_as: str) -> None:
        """Call the programs `known_as` in messages, such as `command/exec for process id`."""
        self._known_as = known_as
        self._named: dict[str, ClientProgram] = {}
        self._unnamed: set[ClientProgram] = set()

    def add(self, name: str | None, program: ClientProgram) -> None:
        """Keep a program.

        Raises:
            RpcError: One of this name runs.
        """
        if name is None:
            self._unnamed.add(program)
            return
        if name in self._named:
            kind, _, key = self._known_as.partition(" for ")
            raise RpcError(f'duplicate active {kind} {key}: "{name}"')
        self._named[name] = program

    def remove(self, name: str | None, program: ClientProgram) -> None:
        """Forget a program that has ended, or that never began."""
        program.give_up()
        if name is None:
            self._unnamed.discard(program)
        else:
            self._named.pop(name, None)

    def get(self, name: object) -> ClientProgram:
        """Return the program of a name.

        Raises:
            RpcError: None of this name runs.
        """
        program = self._named.get(str(name))
        if program is None:
            raise RpcError(f'no active {self._known_as} "{name}"')
        return program

    async def write(self, name: object, params: Mapping[str, object]) -> None:
        """Write input that came in base64, and close it where asked for.

        Raises:
            RpcError: There is no such program, its input is closed, or it is no base64.
        """
        program = self.get(name)
        encoded = cast("str | None", params.get("deltaBase64"))
        if encoded is None and not params.get("closeStdin"):
            raise RpcError("write requires deltaBase64 or closeStdin")
        try:
            data = b64decode(encoded or "", validate=True)
        except ValueError as error:
            raise RpcError(f"invalid deltaBase64: {error}") from None
        try:
            await program.write(data)
        except BrokenPipeError:
            raise RpcError("stdin is already closed") from None
        if params.get("closeStdin"):
            await program.close_input()

    async def aclose(self) -> None:
        """End every program; whoever waits for one learns of its end."""
        for program in [*self._named.values(), *self._unnamed]:
            program.end()
