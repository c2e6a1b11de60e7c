"""Finding tools: how a model gets to know of tools that it was not told of at first."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from ferrule_hookspecs.tools import Tool

if TYPE_CHECKING:
    from ferrule_hookspecs.tools import FunctionSchema, ToolNamespace


class DeferredTool(NamedTuple):
    """A tool that can be found; `SessionServices.deferred_tools` lists them."""

    schema: FunctionSchema
    namespace: ToolNamespace | None


class ToolFinder(Tool):
    """A tool that finds others. The first one of a session counts.

    Its `schema` is that of a function, and its results name what fits in `ToolResult.found`. Where
    the model and its API have a form of their own for such a search, the kernel uses that, and
    answers with the definitions of what was found; else the found tools are added to the end of
    the tool list.
    """

    @abstractmethod
    def should_defer(self, count: int, *, is_native: bool) -> bool:
        """Whether tools that may be deferred are.

        Args:
            count: How many there are that the model was not told of yet.
            is_native: Whether the model and its API have a form of their own for the search.
        """
