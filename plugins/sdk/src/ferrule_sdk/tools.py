"""Tools of the client: Python functions that the model may call.

A tool's parameters are made of the function's type hints, what it is for of its docstring.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ferrule_hookspecs.items import ToolContent


class ClientTool:
    """A function the model may call.

    Attributes:
        name: Its name, as the model sees it.
    """

    def __init__(self, function: Callable[..., object], name: str | None = None) -> None:
        """Read the function's signature.

        Raises:
            FerruleError: The model could not be told what its parameters are.
        """
        from pydantic import PydanticUserError, TypeAdapter
        from pydantic.errors import PydanticSchemaGenerationError

        self.name = name or function.__name__
        self._function = function
        try:
            self._adapter: TypeAdapter[object] = TypeAdapter(cast("Any", _threaded(function)))
            self._schema = self._adapter.json_schema()
        except (PydanticUserError, PydanticSchemaGenerationError, NameError) as error:
            reason = str(error).splitlines()[0]
            raise FerruleError(f"the tool {self.name!r} cannot be described: {reason}") from error

    @property
    def spec(self) -> dict[str, object]:
        """The tool as `thread/start` takes it."""
        return {
            "type": "function",
            "name": self.name,
            "description": inspect.getdoc(self._function) or self.name,
            "inputSchema": self._schema,
        }

    async def call(self, arguments: object) -> dict[str, object]:
        """Run it; what goes wrong is told to the model.

        Returns:
            The answer to `item/tool/call`.
        """
        from pydantic import ValidationError
        from pydantic_core import ArgsKwargs

        given = cast("Mapping[str, object]", arguments) if isinstance(arguments, dict) else {}
        try:
            call = self._adapter.validate_python(ArgsKwargs((), dict(given)))
            result = await cast("Awaitable[object]", call)
        except ValidationError as error:
            return _answer(f"the arguments do not fit: {error}", success=False)
        except Exception as error:  # noqa: BLE001 -- a tool may raise anything; the model is told
            return _answer(f"{type(error).__name__}: {error}", success=False)
        return _answer(_text(result), success=True)


def _threaded(function: Callable[..., object]) -> Callable[..., object]:
    """Make an asynchronous function of any; an ordinary one runs in a worker thread."""
    if inspect.iscoroutinefunction(function):
        return function

    @functools.wraps(function)
    async def run(*args: object, **kwargs: object) -> object:
        call = functools.partial(function, *args, **kwargs)
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)

    return run


def _text(result: object) -> str:
    if isinstance(result, str):
        return result
    from pydantic_core import to_json

    return to_json(result, fallback=str).decode()


def _answer(text: str, *, success: bool) -> dict[str, object]:
    content: list[ToolContent] = [{"type": "inputText", "text": text}]
    return {"contentItems": content, "success": success}
