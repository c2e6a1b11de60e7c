"""The tool `tool_search`: the model looks for tools that it was not told of at first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.tool_finding import ToolFinder
from ferrule_hookspecs.tools import FunctionSchema, ToolCall, ToolContext, ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.tool_finding import DeferredTool
    from ferrule_tool_search.shelf import Shelf

_USUAL_LIMIT: Final = 8
_HIGHEST_LIMIT: Final = 50
_MANY: Final = 20
"""More tools than this cost more in every request than a search now and then."""
_LONGEST_LINE: Final = 160
_MOST_NAMESPACES: Final = 100
_PARAMETERS: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": "A few words about what the tool should do, or its name.",
        },
        "limit": {
            "type": "number",
            "description": f"How many tools to find at most; {_USUAL_LIMIT} where it is left out.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}
_DESCRIPTION: Final = (
    "Finds tools that you have not been told of yet, and lets you call them from then on. Use it "
    "before you decide that something cannot be done with your tools."
)


class ToolSearch(ToolFinder):
    """Ranks the deferred tools of the session by the words of a question."""

    name = "tool_search"
    description = _DESCRIPTION
    parallel = True
    read_only = True

    def __init__(self, context: PluginContext) -> None:
        """Look at no tool yet: they are there when the session is open."""
        super().__init__(context)
        self._schema: FunctionSchema | None = None
        self._shelf: tuple[Sequence[DeferredTool], Shelf] | None = None

    def should_defer(self, count: int, *, is_native: bool) -> bool:
        """As configured; else many of them, for models that have a form of their own for it."""
        table = self.context.table("tools")
        chosen = table.get(self.name)
        if isinstance(chosen, Mapping):
            chosen = self.context.table("tools", self.name).get("enabled")
        return chosen is True or (is_native and count > _MANY)

    def schema(self) -> FunctionSchema:
        """The question, and in the description what can be found; the same all session long."""
        if self._schema is None:
            description = "\n".join([_DESCRIPTION, *_contents(self._tools())])
            self._schema = FunctionSchema(self.name, description, _PARAMETERS)
        return self._schema

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check the question."""
        query, limit = arguments.get("query"), arguments.get("limit")
        if not isinstance(query, str) or not query.strip():
            raise ToolArgumentError("failed to parse function arguments: missing field `query`")
        if limit is None:
            return {"query": query, "limit": _USUAL_LIMIT}
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 1:
            raise ToolArgumentError(
                "failed to parse function arguments: limit: expected a number, one or more"
            )
        return {"query": query, "limit": int(min(limit, _HIGHEST_LIMIT))}

    def item(self, call: ToolCall, cwd: str) -> None:
        """A search changes nothing and is not shown."""

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Search."""
        tools = self._tools()
        limit = call.arguments["limit"]
        assert isinstance(limit, int)  # noqa: S101 -- `normalize` has seen to it
        found = self._searched(tools).find(str(call.arguments["query"]), limit)
        if not found:
            return ToolResult("No tool fits. Try other words for what it should do.")
        described = {tool.schema.name: tool.schema.description for tool in tools}
        lines = [f"- {name}: {_line(described[name])}" for name in found]
        return ToolResult("\n".join(["You can call these tools now:", *lines]), found=found)

    def _tools(self) -> Sequence[DeferredTool]:
        services = self.context.services
        return () if services is None else services.deferred_tools()

    def _searched(self, tools: Sequence[DeferredTool]) -> Shelf:
        from ferrule_tool_search.shelf import Shelf

        if self._shelf is None or self._shelf[0] != tools:
            self._shelf = tools, Shelf(tools)
        return self._shelf[1]


def _contents(tools: Sequence[DeferredTool]) -> list[str]:
    """Say what can be found: every namespace with its size, and how many tools have none."""
    sizes: dict[str, int] = {}
    texts: dict[str, str] = {}
    for tool in tools:
        name = "" if tool.namespace is None else tool.namespace.name
        sizes[name] = sizes.get(name, 0) + 1
        texts.setdefault(name, "" if tool.namespace is None else tool.namespace.description)
    lone = sizes.pop("", 0)
    lines = [
        f"- {name} ({size} {'tool' if size == 1 else 'tools'}): {_line(texts[name])}"
        for name, size in list(sizes.items())[:_MOST_NAMESPACES]
    ]
    left = len(sizes) - len(lines)
    lines += [f"- and {left} more groups"] if left > 0 else []
    lines += [f"- and {lone} on their own"] if lone else []
    return ["What can be found:", *lines] if lines else []


def _line(text: str) -> str:
    """The beginning of a text, on one line."""
    whole = " ".join(text.split())
    return whole if len(whole) <= _LONGEST_LINE else whole[: _LONGEST_LINE - 1] + "…"
