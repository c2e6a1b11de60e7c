"""What a session's model is told of its tools; asked for every request, and for every call.

The list only grows at its end, so that what a provider has cached of it stays: a tool that was told
stays told, and one that is found, or comes late, stands behind the others. Tools that may be
deferred are kept back while the session's tool finder wants that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule.call_parsing import parse_call, requested_name, short_name
from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.tool_finding import DeferredTool, ToolFinder
from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema, HostedSchema, SearchSchema

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.history import AnyCall, CallAnswer
    from ferrule_hookspecs.store import RolloutRecord
    from ferrule_hookspecs.tools import (
        SpecialSchema,
        Tool,
        ToolCall,
        ToolNamespace,
        ToolResult,
        ToolSchema,
    )

_OWN_FORM: Final = "tool_search"
_FOUND: Final = "tools_found"


class Told(NamedTuple):
    """What goes out with a request."""

    tools: tuple[ToolSchema, ...]
    special: tuple[SpecialSchema, ...]


class ToolOffer:
    """The offer of one session.

    Attributes:
        found: Deferred tools that the model knows from a search by an ordinary call.
    """

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._told: dict[str, None] = {}
        self._is_deferring: set[bool] = set()
        self.found: dict[str, None] = {}

    def recall(self, records: Iterable[RolloutRecord]) -> None:
        """Take over what a stored thread has found."""
        for record in records:
            payload = record["payload"]
            if payload.get("type") == _FOUND:
                self.found.update(dict.fromkeys(cast("list[str]", payload["names"])))

    def told(self) -> Told:
        """What the model is told with a request."""
        tools = self._parts.offered_tools()
        finder = _finder_of(tools)
        deferring = finder is not None and self._defers(finder, tools)
        for name, tool in tools.items():
            is_kept_back = name in self.found or (tool.deferred and deferring)
            is_idle = isinstance(tool, ToolFinder) and not (tool is finder and deferring)
            if not (is_kept_back or is_idle):
                self._told.setdefault(name)
        for name in self.found:
            if name in tools:
                self._told.setdefault(name)
        forms = [self._form(tools[name]) for name in self._told if name in tools]
        known = self._special_forms
        return Told(
            tuple(form for form in forms if isinstance(form, FunctionSchema | FreeformSchema)),
            tuple(
                form
                for form in forms
                if isinstance(form, SearchSchema)
                or (isinstance(form, HostedSchema) and form.name in known)
            ),
        )

    def parse(self, item: AnyCall) -> ToolCall:
        """Read a call of the model.

        Raises:
            ToolArgumentError: There is no such tool here, or its arguments do not fit.
        """
        tools, name = self._parts.offered_tools(), requested_name(item)
        withheld = self._parts.tools.get(name)
        if withheld is not None and withheld.needs_client and name not in tools:
            raise ToolArgumentError(
                f"{name} cannot be used here: nobody can answer; decide yourself, and say how you"
                " did"
            )
        return parse_call(item, tools)

    def deferred(self) -> list[DeferredTool]:
        """The tools that can be found."""
        tools = [tool for tool in self._parts.offered_tools().values() if tool.deferred]
        made = [(tool.schema(), tool.namespace) for tool in tools]
        return [
            DeferredTool(schema, space)
            for schema, space in made
            if isinstance(schema, FunctionSchema)
        ]

    def answer(self, item: AnyCall, result: ToolResult) -> CallAnswer:
        """What the history gets as the answer to a call: for a search, with what was found."""
        tools = self._parts.offered_tools()
        names = [name for name in result.found if name in tools and tools[name].deferred]
        if item["type"] == "tool_search_call":
            return {
                "type": "tool_search_output",
                "call_id": item["call_id"],
                "status": "completed",
                "execution": "client",
                "tools": definitions([tools[name] for name in names], tools),
            }
        new = [name for name in names if name not in self.found and name not in self._told]
        if new:
            self.found.update(dict.fromkeys(new))
            self._parts.recorder.record("event_msg", {"type": _FOUND, "names": new})
        return result.output

    @property
    def _special_forms(self) -> Collection[str]:
        return getattr(self._parts.provider, "special_tools", ())

    @property
    def _is_native(self) -> bool:
        info = self._parts.settings.model_info
        return info is not None and info.tool_search and _OWN_FORM in self._special_forms

    def _defers(self, finder: ToolFinder, tools: Mapping[str, Tool]) -> bool:
        """Whether tools are kept back; once that was so, it stays so.

        Only what was not told yet counts: a few that come late are told, a whole server's are not.
        """
        is_native = self._is_native
        if is_native not in self._is_deferring:
            new = [tool for name, tool in tools.items() if name not in self._told]
            count = sum(tool.deferred for tool in new)
            if count and finder.should_defer(count, is_native=is_native):
                self._is_deferring.add(is_native)
        return is_native in self._is_deferring

    def _form(self, tool: Tool) -> ToolSchema | SpecialSchema:
        schema = tool.schema()
        is_finder = isinstance(tool, ToolFinder) and self._is_native
        if is_finder and isinstance(schema, FunctionSchema):
            return SearchSchema(schema.name, schema.description, schema.parameters)
        return schema


def _finder_of(tools: Mapping[str, Tool]) -> ToolFinder | None:
    return next((tool for tool in tools.values() if isinstance(tool, ToolFinder)), None)


def definitions(found: Sequence[Tool], tools: Mapping[str, Tool]) -> list[dict[str, object]]:
    """Define found tools in the API's own form, those of a namespace together.

    Args:
        found: Best first.
        tools: All that can be called.
    """
    made: list[dict[str, object]] = []
    groups: dict[str, list[dict[str, object]]] = {}
    for tool in found:
        schema, space = tool.schema(), _clear_namespace(tool, tools)
        if not isinstance(schema, FunctionSchema):
            continue
        function: dict[str, object] = {
            "type": "function",
            "name": tool.name if space is None else short_name(tool),
            "description": schema.description,
            "strict": False,
            "defer_loading": True,
            "parameters": dict(schema.parameters),
        }
        if space is None:
            made.append(function)
        elif space.name in groups:
            groups[space.name].append(function)
        else:
            groups[space.name] = [function]
            made.append(
                {
                    "type": "namespace",
                    "name": space.name,
                    "description": space.description,
                    "tools": groups[space.name],
                }
            )
    return made


def _clear_namespace(tool: Tool, tools: Mapping[str, Tool]) -> ToolNamespace | None:
    """The namespace in which a tool can be called; None where another one has its name there."""
    space = tool.namespace
    if space is None or short_name(tool) != tool.name:
        return space
    return None if f"{space.name}__{tool.name}" in tools else space
